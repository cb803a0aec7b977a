"""What every reader receives: where to report, and how to reach other files.

Readers never import one another; a file of another format is read through this bundle.
"""

from __future__ import annotations

import errno
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from .body import Body
from .diagnostics import Diagnostics, MissingLibraryError, Source, Span
from .files import resources
from .files.package_search import PackageSearch
from .geometry import SceneNode

SceneReader = Callable[[Path, "Reading"], SceneNode]
BodyReader = Callable[[Source, "Reading"], Body | None]

# What all files of a model together may come to: far beyond any model, and soon reached by
# short files that include each other twice, and twice, and twice.
_MOST = {
    "links": 10_000,
    "nodes": 100_000,
    "shapes": 300_000,
    "points of extrusions": 2_000_000,
}
# What people hand in by mistake, by suffix and by how the text begins.
_OTHER_KINDS = {
    ".cnoid": "a project of Choreonoid: name one of the models that it lists",
    ".sdf": "an SDF file, which Gazebo reads",
    ".xacro": "a xacro file, of which ROS makes URDF",
}
# Files that are markup themselves; in others it shows that a file is not what it is called.
MARKUP_SUFFIXES = frozenset((".urdf",))
_MARKUP = re.compile(r"\s*<[?!a-zA-Z]")
_BOMS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))


def read_source(path: Path, name: str | None = None, *, limit: int | None = None) -> Source:
    """Read a text file: UTF-8 if it is that, else Shift-JIS (cp932), else latin-1.

    Args:
        path: The file.
        name: Name of the source in messages; by default the path.
        limit: Largest size that is read, in [B]; by default that of models of its kind.

    Raises:
        OSError: The file cannot be read, see ``resources.read_file``.
    """
    if limit is None:
        is_markup = path.suffix.lower() in MARKUP_SUFFIXES
        limit = resources.MAX_MARKUP_SIZE if is_markup else resources.MAX_FILE_SIZE
    data = resources.read_file(path, limit)
    for bom, encoding in _BOMS:
        if data.startswith(bom):
            return Source(name or str(path), data.decode(encoding, errors="replace"), path)
    for encoding in ("utf-8", "cp932"):
        with suppress(UnicodeDecodeError):
            return Source(name or str(path), data.decode(encoding), path)
    return Source(name or str(path), data.decode("latin-1"), path)


class TooLargeError(Exception):
    """Files that stand for more than any model has; the message says of what.

    Attributes:
        at: What made it too much, if one place did.
    """

    def __init__(self, message: str, at: Span | None = None) -> None:
        super().__init__(message)
        self.at = at


@dataclass
class Reading:
    """One run of reading a model, over all the files it draws in.

    Attributes:
        diagnostics: Where problems go.
        scene_readers: Reader of shapes by lower-case file suffix (".stl").
        body_readers: Reader of whole models by lower-case file suffix (".wrl").
        open_files: Files being read now, outermost first, to notice cycles.
        access: Which files references may lead to.
        lost_shapes: How many references to shapes led to nothing so far. A reader of links
            compares it before and after the shapes of a link.
    """

    diagnostics: Diagnostics
    scene_readers: dict[str, SceneReader] = field(default_factory=dict)
    body_readers: dict[str, BodyReader] = field(default_factory=dict)
    open_files: list[Path] = field(default_factory=list)
    access: resources.FileAccess = field(default_factory=resources.FileAccess)
    lost_shapes: int = 0
    _open: set[Path] = field(default_factory=set)
    _named_at: list[Span | None] = field(default_factory=list)
    _scenes: dict[Path, SceneNode | None] = field(default_factory=dict)
    _lacking: set[Path] = field(default_factory=set)  # those that lost shapes themselves
    _bodies: dict[Path, Body | None] = field(default_factory=dict)
    _found: dict[tuple[str, Path], Path] = field(default_factory=dict)
    _packages: PackageSearch = field(init=False)
    _counts: Counter[str] = field(default_factory=Counter)
    _is_excessive: bool = False

    def __post_init__(self) -> None:
        self._packages = resources.package_search(self.access)

    @property
    def reference_span(self) -> Span | None:
        """Where the file being read now was referred to; for problems in files without lines."""
        return self._named_at[-1] if self._named_at else None

    def resolve(
        self, uri: str, at: Span | None, *, needed: bool = False, folder: Path | None = None
    ) -> Path | None:
        """Return the file that a reference at ``at`` names; report and return None without one.

        Args:
            uri: As ``resources.resolve`` understands it.
            at: The reference.
            needed: Whether there is no model without the file: an error, not a warning.
            folder: What a relative path is relative to; by default the folder of the file
                that ``at`` is in.
        """
        folder = _folder(at) if folder is None else folder
        try:
            if (uri, folder) not in self._found:
                found = resources.resolve(uri, folder, self.access, self._packages)
                self._found[uri, folder] = found
            return self._found[uri, folder]
        except resources.OutsideError as error:
            if self.access.sandboxed:
                self.diagnostics.error("outside-sandbox", f"cannot use '{uri}': {error}", at)
                return None
            code, reason = "link-outside", str(error)
        except resources.ResourceError as error:
            code, reason = "missing-resource", str(error)
        if needed:
            self.diagnostics.error(code, f"cannot use '{uri}': {reason}", at)
        else:
            self.diagnostics.warn(code, f"'{uri}' is left out: {reason}", at)
        return None

    def count(self, what: str, amount: int = 1, at: Span | None = None) -> None:
        """Count what the model comes to, over all its files.

        Args:
            what: "links", "nodes" (of elements), "shapes" (of meshes and scenes, with
                their groups, as often as they are used) or "points of extrusions".
            amount: How many more there are.
            at: Where they come in.

        Raises:
            TooLargeError: They are more than any model has.
        """
        self._counts[what] += amount
        if self._counts[what] > _MOST[what]:
            raise TooLargeError(f"this stands for more than {_MOST[what]} {what}", at)

    def report_excess(self, error: TooLargeError | RecursionError, at: Span) -> None:
        """Report, once, that the model comes to too much, or nests too deep."""
        if self._is_excessive:
            return
        if isinstance(error, TooLargeError):
            self.diagnostics.error("too-large", str(error), error.at or at)
        else:
            message = "nodes and files stand too deep in one another"
            self.diagnostics.error("too-deep", message, at)
        self._is_excessive = True

    def exists(self, uri: str, at: Span | None = None, *, folder: Path | None = None) -> bool:
        """Whether a reference names a file that may be read, as in ``resolve``; nothing is told."""
        try:
            folder = _folder(at) if folder is None else folder
            resources.resolve(uri, folder, self.access, self._packages)
        except resources.ResourceError:
            return False
        return True

    @contextmanager
    def entering(self, path: Path, at: Span | None) -> Iterator[bool]:
        """Keep a file among ``open_files`` for the time of a ``with`` block.

        Yields:
            True; False after reporting at ``at`` that the file is open already, because
            files include each other.
        """
        if path in self._open:
            chain = " -> ".join(p.name for p in [*self.open_files, path])
            self.diagnostics.error("resource-cycle", f"files include each other: {chain}", at)
            yield False
            return
        self.open_files.append(path)
        self._open.add(path)
        self._named_at.append(at)
        try:
            yield True
        finally:
            self._open.remove(self.open_files.pop())
            self._named_at.pop()

    def read_scene(self, path: Path, at: Span) -> SceneNode | None:
        """Return the shapes in a mesh or scene file, read once however often it is used.

        A file that cannot be used is reported at ``at`` and gives None.

        Raises:
            TooLargeError: All that was read this far comes to too much.
        """
        lost = self.lost_shapes
        scene = self._read_scene(path, at)
        if self.lost_shapes > lost:
            self._lacking.add(path)
        if scene is None or path in self._lacking:
            self.lost_shapes += 1
        if scene is not None:
            self.count("shapes", scene.size, at)
        return scene

    def _read_scene(self, path: Path, at: Span) -> SceneNode | None:
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
                except MissingLibraryError as error:
                    message = f"'{path.name}' is left out: {error}"
                    self.diagnostics.warn("missing-library", message, at)
                except (OSError, ValueError) as error:
                    reason = getattr(error, "strerror", None) or error
                    message = f"'{path.name}' is left out: {reason}"
                    self.diagnostics.warn("unreadable-resource", message, at)
        self._scenes[path] = scene
        return scene

    def read_body(self, path: Path, at: Span | None = None, name: str | None = None) -> Body | None:
        """Return the model in a file, or None after reporting why there is none.

        A model that others are made of is read once, however often it is used.
        """
        if path in self._bodies:
            return self._bodies[path]
        reader = self.body_readers.get(path.suffix.lower())
        if reader is None or os.path.isdir(path):
            self._report_other_kind(path, at, f"'{name or path}'")
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
            self._bodies[path] = self._read_text(source, path.suffix.lower(), at)
            return self._bodies[path]

    def read_text(self, source: Source, suffix: str) -> Body | None:
        """Return the model in a text that need not be a file's, or None likewise.

        Args:
            source: The text; its path is what relative references are relative to.
            suffix: The lower-case suffix of such files (".wrl"), one of ``body_readers``.
        """
        if source.path is None:
            return self._read_text(source, suffix, None)
        with self.entering(source.path, None):
            return self._read_text(source, suffix, None)

    def _read_text(self, source: Source, suffix: str, at: Span | None) -> Body | None:
        if suffix not in MARKUP_SUFFIXES and (message := _other_language(source.text)):
            self.diagnostics.error("not-a-model", message, Span(source, 0, 0))
            return None
        try:
            return self.body_readers[suffix](source, self)
        except (TooLargeError, RecursionError) as error:
            self.report_excess(error, Span(source, 0, 0) if at is None else at)
            return None

    def _report_other_kind(self, path: Path, at: Span | None, shown: str) -> None:
        """Report what no body reader is for."""
        if not os.path.exists(path):
            message = f"cannot read {shown}: {os.strerror(errno.ENOENT)}"
            self.diagnostics.error("unreadable-file", message, at)
            return
        if os.path.isdir(path):
            message = f"{shown} is a folder; name a model file in it"
            self.diagnostics.error("unreadable-file", message, at)
            return
        suffix = path.suffix.lower()
        kind = _OTHER_KINDS.get(suffix)
        if kind is None and suffix in self.scene_readers:
            kind = "a shape, no robot: a link of a model can draw it"
        known = ", ".join(sorted(self.body_readers))
        what = "" if kind is None else f" is {kind};"
        message = f"{shown}{what or ':'} models are read from {known} files"
        self.diagnostics.error("unknown-suffix", message, at)


def _other_language(text: str) -> str:
    """Return what is wrong with a text that is markup, whatever its suffix says, or nothing."""
    if _MARKUP.match(text) is None:
        return ""
    beginning = text[:2000].lower()
    if "<html" in beginning:
        return "this is a web page, no model: download the file itself"
    if "<robot" in beginning:
        return "this is URDF: models of this kind are read from .urdf files"
    return "this is XML, no model"


def _folder(at: Span | None) -> Path:
    return at.source.path.parent if at is not None and at.source.path else Path()
