"""What every reader receives: where to report, and how to reach other files.

Readers never import one another; a file of another format is read through this bundle.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from . import resources
from .body import Body
from .diagnostics import Diagnostics, Source, Span
from .geometry import SceneNode

SceneReader = Callable[[Path, "Reading"], SceneNode]
BodyReader = Callable[[Source, "Reading"], Body | None]

_BOMS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))


def read_source(path: Path, name: str | None = None) -> Source:
    """Read a text file: UTF-8 if it is that, else Shift-JIS (cp932), else latin-1.

    Raises:
        OSError: The file cannot be read.
    """
    data = path.read_bytes()
    for bom, encoding in _BOMS:
        if data.startswith(bom):
            return Source(name or str(path), data.decode(encoding, errors="replace"), path)
    for encoding in ("utf-8", "cp932"):
        with suppress(UnicodeDecodeError):
            return Source(name or str(path), data.decode(encoding), path)
    return Source(name or str(path), data.decode("latin-1"), path)


@dataclass
class Reading:
    """One run of reading a model, over all the files it draws in.

    Attributes:
        diagnostics: Where problems go.
        scene_readers: Reader of shapes by lower-case file suffix (".stl").
        body_readers: Reader of whole models by lower-case file suffix (".wrl").
        open_files: Files being read now, outermost first, to notice cycles.
    """

    diagnostics: Diagnostics
    scene_readers: dict[str, SceneReader] = field(default_factory=dict)
    body_readers: dict[str, BodyReader] = field(default_factory=dict)
    open_files: list[Path] = field(default_factory=list)
    _scenes: dict[Path, SceneNode | None] = field(default_factory=dict)

    def resolve(self, uri: str, at: Span, *, needed: bool = False) -> Path | None:
        """Return the file that a reference at ``at`` names; report and return None without one.

        Args:
            uri: As ``resources.resolve`` understands it.
            at: The reference.
            needed: Whether there is no model without the file: an error, not a warning.
        """
        folder = at.source.path.parent if at.source.path else Path()
        try:
            return resources.resolve(uri, folder)
        except resources.ResourceError as error:
            if needed:
                self.diagnostics.error("missing-resource", f"cannot use '{uri}': {error}", at)
            else:
                self.diagnostics.warn("missing-resource", f"'{uri}' is left out: {error}", at)
            return None

    @contextmanager
    def entering(self, path: Path, at: Span | None) -> Iterator[bool]:
        """Keep a file among ``open_files`` for the time of a ``with`` block.

        Yields:
            True; False after reporting at ``at`` that the file is open already, because
            files include each other.
        """
        if path in self.open_files:
            chain = " -> ".join(p.name for p in [*self.open_files, path])
            self.diagnostics.error("resource-cycle", f"files include each other: {chain}", at)
            yield False
            return
        self.open_files.append(path)
        try:
            yield True
        finally:
            self.open_files.pop()

    def read_scene(self, path: Path, at: Span) -> SceneNode | None:
        """Return the shapes in a mesh or scene file, read once however often it is used.

        A file that cannot be used is reported at ``at`` and gives None.
        """
        if path in self._scenes:
            return self._scenes[path]
        reader = self.scene_readers.get(path.suffix.lower())
        scene: SceneNode | None = None
        if reader is None:
            known = ", ".join(sorted(self.scene_readers))
            message = f"'{path.name}' is left out: shapes are read from {known}"
            self.diagnostics.warn("unknown-suffix", message, at)
        else:
            with self.entering(path, at) as entered:
                if not entered:
                    return None  # and not for good: whoever reads it now is not done yet
                try:
                    scene = reader(path, self)
                except (OSError, ValueError) as error:
                    message = f"'{path.name}' is left out: {error}"
                    self.diagnostics.warn("unreadable-resource", message, at)
        self._scenes[path] = scene
        return scene

    def read_body(self, path: Path, at: Span | None = None, name: str | None = None) -> Body | None:
        """Return the model in a file, or None after reporting why there is none."""
        reader = self.body_readers.get(path.suffix.lower())
        if reader is None:
            known = ", ".join(sorted(self.body_readers))
            message = f"'{name or path}': models are read from {known} files"
            self.diagnostics.error("unknown-suffix", message, at)
            return None
        with self.entering(path, at) as entered:
            if not entered:
                return None
            try:
                source = read_source(path, name)
            except OSError as error:
                message = f"cannot read '{name or path}': {error.strerror or error}"
                self.diagnostics.error("unreadable-file", message, at)
                return None
            return reader(source, self)
