"""Context of reading a model: diagnostics, access to other files, and limits.

Every reader receives it. Readers never import one another; they read files of other formats
through this context.
"""

from __future__ import annotations

import errno
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field
from pathlib import Path

from .body import Body
from .diagnostics import Diagnostics, MissingLibraryError, Source, Span
from .files import resources
from .files.model_file import decoded, format_suffix, unpacked
from .files.package_search import PackageSearch
from .geometry import SceneNode
from .late_dataclass import dataclass

SceneReader = Callable[[Path, "ReadContext"], SceneNode]
BodyReader = Callable[[Source, "ReadContext"], Body | None]

# Limits over all files of a model: far beyond any model, but soon reached by short files that
# include one another repeatedly.
_MAX_COUNTS = {
    "links": 10_000,
    "nodes": 100_000,
    "shapes": 300_000,
    "points of extrusions": 2_000_000,
    "pairs of links that never collide": 1_000_000,
}
# Files given by mistake, by suffix.
_OTHER_KINDS = {
    ".world": "a world of Gazebo: run it with hrp-sim, or name one of its models",
    ".cnoid": "a Choreonoid project: run it with hrp-sim, or name one of the models that it lists",
}
# XML formats; in a model file with another suffix, XML is an error.
XML_SUFFIXES = frozenset((".dae", ".mjcf", ".sdf", ".urdf", ".world", ".xacro", ".xml"))
# Of COLLADA, models contain their shapes.
_MAX_SIZES = dict.fromkeys(XML_SUFFIXES, resources.MAX_XML_SIZE) | {".dae": resources.MAX_TEXT_SIZE}


def read_source(path: Path, name: str | None = None, *, limit: int | None = None) -> Source:
    """Read a text file in its encoding, see ``text_encoding.decoded``; also compressed by gzip.

    Args:
        path: The file.
        name: Name of the source in messages; by default the path.
        limit: Maximum size, in [B]; by default that of models with its suffix.

    Raises:
        OSError: The file cannot be read, see ``resources.read_file``.
    """
    if limit is None:
        limit = _MAX_SIZES.get(format_suffix(path), resources.MAX_FILE_SIZE)
    data = resources.read_file(path, limit)
    text, encoding = decoded(unpacked(data, path, limit))
    return Source(name or str(path), text, path, encoding)


class TooLargeError(Exception):
    """A model exceeds a limit; the message names it.

    Attributes:
        at: The element that exceeds the limit, if known.
    """

    def __init__(self, message: str, at: Span | None = None) -> None:
        super().__init__(message)
        self.at = at


@dataclass
class ReadContext:
    """Context of reading one model with all the files it refers to.

    Attributes:
        diagnostics: Receives all problems.
        scene_readers: Readers of shapes by lower-case file suffix (".stl").
        body_readers: Readers of whole models by lower-case file suffix (".wrl").
        open_files: Files being read, outermost first, to detect cycles.
        access: The files that may be read.
        arguments: Arguments of a xacro file by name.
        has_macros: Whether macros of a xacro file were expanded.
        lost_shapes: Number of references to shapes that could not be read so far. A reader of
            links compares it before and after the shapes of a link.
    """

    diagnostics: Diagnostics
    scene_readers: dict[str, SceneReader] = field(default_factory=dict)
    body_readers: dict[str, BodyReader] = field(default_factory=dict)
    open_files: list[Path] = field(default_factory=list)
    access: resources.FileAccess = field(default_factory=resources.FileAccess)
    arguments: Mapping[str, str] = field(default_factory=dict)
    has_macros: bool = False
    lost_shapes: int = 0
    _open: set[Path] = field(default_factory=set)
    _named_at: list[Span | None] = field(default_factory=list)
    _scenes: dict[Path, SceneNode | None] = field(default_factory=dict)
    _incomplete: set[Path] = field(default_factory=set)  # scenes that lack shapes themselves
    _bodies: dict[Path, Body | None] = field(default_factory=dict)
    _found: dict[tuple[str, Path], Path] = field(default_factory=dict)
    _packages: PackageSearch = field(init=False)
    _counts: Counter[str] = field(default_factory=Counter)
    _is_excessive: bool = False

    def __post_init__(self) -> None:
        self._packages = resources.package_search(self.access)

    @property
    def reference_span(self) -> Span | None:
        """Reference to the file being read, for problems in files without line numbers."""
        return self._named_at[-1] if self._named_at else None

    @property
    def folder(self) -> Path:
        """Folder of the file being read; the working directory for a text without a path."""
        return self.open_files[-1].parent if self.open_files else Path()

    def resolve(
        self, uri: str, at: Span | None, *, needed: bool = False, folder: Path | None = None
    ) -> Path | None:
        """Return the file that a reference names, or None after reporting why there is none.

        Args:
            uri: The reference, as for ``resources.resolve``.
            at: Place of the reference.
            needed: Whether the model cannot be read without the file: an error, not a warning.
            folder: Folder to which relative paths are relative; by default that of the file
                that contains ``at``.
        """
        folder = _folder(at) if folder is None else folder
        try:
            return self.find(uri, folder)
        except resources.OutsideError as error:
            if self.access.sandboxed:
                self.diagnostics.error("outside-sandbox", f"cannot use '{uri}': {error}", at)
                return None
            code, reason = "link-outside", str(error)
        except resources.ResourceError as error:
            code, reason = error.code, str(error)
        if needed:
            self.diagnostics.error(code, f"cannot use '{uri}': {reason}", at)
        else:
            self.diagnostics.warn(code, f"'{uri}' is left out: {reason}", at)
        return None

    def find(self, uri: str, folder: Path) -> Path:
        """Return the file that a reference names; reports nothing.

        Raises:
            ResourceError: As for ``resources.resolve``.
        """
        if (uri, folder) not in self._found:
            found = resources.resolve(uri, folder, self.access, self._packages)
            self._found[uri, folder] = found
        return self._found[uri, folder]

    def package_folder(self, name: str, folder: Path) -> Path:
        """Return the folder of a package, searched as for ``resolve``.

        Raises:
            ResourceError: The package is not found.
        """
        return resources.find_package(name, folder, self.access, self._packages)

    def count(self, kind: str, amount: int = 1, at: Span | None = None) -> None:
        """Count elements of the model, over all its files.

        Args:
            kind: "links", "nodes" (of elements), "shapes" (of meshes and scenes, including
                their groups, each time they are used), "points of extrusions" or "pairs of links
                that never collide".
            amount: How many to add.
            at: The element that adds them.

        Raises:
            TooLargeError: The limit is exceeded.
        """
        self._counts[kind] += amount
        if self._counts[kind] > _MAX_COUNTS[kind]:
            raise TooLargeError(f"the model has more than {_MAX_COUNTS[kind]} {kind}", at)

    def report_excess(self, error: TooLargeError | RecursionError, at: Span) -> None:
        """Report, once, that the model is too large or too deeply nested."""
        if self._is_excessive:
            return
        if isinstance(error, TooLargeError):
            self.diagnostics.error("too-large", str(error), error.at or at)
        else:
            message = "nodes and files are nested too deeply"
            self.diagnostics.error("too-deep", message, at)
        self._is_excessive = True

    def exists(self, uri: str, at: Span | None = None, *, folder: Path | None = None) -> bool:
        """Whether ``resolve`` finds the file of a reference; reports nothing."""
        try:
            folder = _folder(at) if folder is None else folder
            self.find(uri, folder)
        except resources.ResourceError:
            return False
        return True

    @contextmanager
    def entering(self, path: Path, at: Span | None) -> Iterator[bool]:
        """Add a file to ``open_files`` within a ``with`` block.

        Yields:
            True; False after reporting a cycle: the file is already being read.
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
        """Return the shapes of a mesh or scene file, or None after reporting a problem at ``at``.

        Each file is read once.

        Raises:
            TooLargeError: The model has too many shapes.
        """
        lost = self.lost_shapes
        scene = self._read_scene(path, at)
        if self.lost_shapes > lost:
            self._incomplete.add(path)
        if scene is None or path in self._incomplete:
            self.lost_shapes += 1
        if scene is not None:
            self.count("shapes", scene.size, at)
        return scene

    def _read_scene(self, path: Path, at: Span) -> SceneNode | None:
        if path in self._scenes:
            return self._scenes[path]
        reader = self.scene_readers.get(format_suffix(path))
        scene: SceneNode | None = None
        if reader is None:
            known = ", ".join(sorted(self.scene_readers))
            message = f"'{path.name}' is left out: shapes are read from {known} files"
            self.diagnostics.warn("unknown-suffix", message, at)
        else:
            with self.entering(path, at) as entered:
                if not entered:
                    return None  # do not cache: the file is still being read
                try:
                    scene = reader(path, self)
                except (OSError, ValueError) as error:
                    reason = getattr(error, "strerror", None) or error
                    message = f"'{path.name}' is left out: {reason}"
                    self.diagnostics.warn("unreadable-resource", message, at)
        self._scenes[path] = scene
        return scene

    def read_body(self, path: Path, at: Span | None = None, name: str | None = None) -> Body | None:
        """Return the model in a file, or None after reporting errors. Each file is read once."""
        if path in self._bodies:
            return self._bodies[path]
        reader = self.body_readers.get(format_suffix(path))
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
            self._bodies[path] = self._read_text(source, format_suffix(path))
            return self._bodies[path]

    def read_text(self, source: Source, suffix: str) -> Body | None:
        """Return the model in a text, or None after reporting errors.

        Args:
            source: The text; relative references are relative to its path.
            suffix: Lower-case suffix of its format (".wrl"), a key of ``body_readers``.
        """
        if source.path is None:
            return self._read_text(source, suffix)
        with self.entering(source.path, None):
            return self._read_text(source, suffix)

    def _read_text(self, source: Source, suffix: str) -> Body | None:
        if suffix not in XML_SUFFIXES and (message := _other_language(source.text)):
            self.diagnostics.error("not-a-model", message, Span(source, 0, 0))
            return None
        try:
            return self.body_readers[suffix](source, self)
        except MissingLibraryError as error:
            self.diagnostics.error("missing-library", str(error), Span(source, 0, 0))
            return None
        except (TooLargeError, RecursionError) as error:
            self.report_excess(error, Span(source, 0, 0))
            return None

    def report_shapes(self, shown: str, at: Span | None) -> None:
        """Report that a file has shapes, but no robot; messages call it ``shown``."""
        kind = "a file of shapes, not a robot: links of a model can refer to it"
        self._report_suffix(f"{shown} is {kind};", at)

    def _report_other_kind(self, path: Path, at: Span | None, shown: str) -> None:
        """Report why a path is not a model file."""
        if not os.path.exists(path):
            message = f"cannot read {shown}: {os.strerror(errno.ENOENT)}"
            self.diagnostics.error("unreadable-file", message, at)
            return
        if os.path.isdir(path):
            message = f"{shown} is a folder; name a model file in it"
            self.diagnostics.error("unreadable-file", message, at)
            return
        suffix = format_suffix(path)
        if suffix in self.scene_readers:
            self.report_shapes(shown, at)
            return
        kind = _OTHER_KINDS.get(suffix)
        self._report_suffix(f"{shown}{':' if kind is None else f' is {kind};'}", at)

    def _report_suffix(self, problem: str, at: Span | None) -> None:
        known = ", ".join(sorted(self.body_readers))
        self.diagnostics.error(
            "unknown-suffix", f"{problem} models are read from {known} files", at
        )


def _other_language(text: str) -> str:
    """Return an error message for a text that is XML or HTML, else ""."""
    if re.match(r"\s*<[?!a-zA-Z]", text) is None:
        return ""
    beginning = text[:2000].lower()
    if "<html" in beginning:
        return "this is a web page, not a model: download the file itself"
    if "<robot" in beginning:
        return "this is URDF, which is read from .urdf files: rename the file"
    return "this is XML, not a model"


def _folder(at: Span | None) -> Path:
    return at.source.path.parent if at is not None and at.source.path else Path()
