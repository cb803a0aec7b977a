"""Files that a mesh file refers to, and parts of it that are left out."""

from __future__ import annotations

from pathlib import Path, PureWindowsPath
from typing import Any
from urllib.parse import unquote

import numpy as np
from numpy.typing import NDArray

from ...diagnostics import Diagnostics, Span
from ...files.resources import MAX_FILE_SIZE, read_file
from ...read_context import ReadContext
from ...rigid import Array

MAX_COORDINATE = float(np.finfo(np.float32).max)


class LostParts:
    """Counts the parts of one file that are left out, for one warning.

    Args:
        name: Of the file.
        diagnostics: Receives warnings.
        at: Place of warnings about parts that have no place themselves.
    """

    def __init__(self, name: str, diagnostics: Diagnostics, at: Span | None = None) -> None:
        self.name = name
        self.diagnostics = diagnostics
        self._at = at
        self._lost: dict[object, tuple[str, Span | None]] = {}

    def add(self, key: object, reason: str, at: Span | None = None) -> None:
        """Record that a part is left out; each key counts once."""
        self._lost.setdefault(key, (reason, at or self._at))

    def report(self) -> None:
        """Warn of the parts that were left out."""
        if self._lost:
            reason, at = next(iter(self._lost.values()))
            message = f"{len(self._lost)} parts of '{self.name}' are left out; first: {reason}"
            self.diagnostics.warn("unreadable-part", message, at)

    def report_faces(self, count: int, at: Span | None = None) -> None:
        """Warn of faces that are left out."""
        if count:
            message = (
                f"{count} faces of '{self.name}' use points that do not exist or are not finite; "
                "they are left out"
            )
            self.warn("bad-index", message, at)

    def warn(self, code: str, message: str, at: Span | None = None) -> None:
        """Warn of another problem."""
        self.diagnostics.warn(code, message, at or self._at)


def are_usable(points: Array) -> NDArray[np.bool_]:
    """Return which points, of shape (n, 3), are finite in single precision."""
    usable: NDArray[np.bool_] = np.abs(points).max(axis=1, initial=0.0) <= MAX_COORDINATE
    return usable


def are_inside(rows: NDArray[Any], usable: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which rows exist and are usable, in the shape of the rows."""
    inside = (rows >= 0) & (rows < len(usable))
    inside[inside] = usable[rows[inside]]
    return inside


class MeshResources:
    """Reads the files that a mesh file refers to.

    References are resolved as those of models: missing files are reported, a sandbox applies,
    and nothing is downloaded.
    """

    def __init__(self, path: Path, context: ReadContext) -> None:
        self._folder = path.parent
        self._context = context
        self._contents: dict[str, bytes] = {}
        self._size = 0

    def get(self, name: str) -> bytes:
        """Return the content of a file; raises OSError if it cannot be read."""
        if name not in self._contents:
            self._contents[name] = b""  # reported only once
            self._contents[name] = self._content(name)
        if not self._contents[name]:
            raise FileNotFoundError(name)
        return self._contents[name]

    def resolve(self, name: str, at: Span | None = None) -> Path | None:
        """Return the file of a name; None after reporting that it does not exist.

        If a path does not exist, such as one on the author's machine, its last part is used.

        Args:
            name: The name as written.
            at: Its place; by default the reference to the mesh file.
        """
        plain = unquote(name)
        for candidate in dict.fromkeys((name, plain, PureWindowsPath(plain).name)):
            if self.exists(candidate):
                name = candidate
                break
        return self._context.resolve(name, at or self._context.reference_span, folder=self._folder)

    def exists(self, name: str) -> bool:
        """Return whether a file of exactly this name exists and may be read."""
        return self._context.exists(name, folder=self._folder)

    def _content(self, name: str) -> bytes:
        path = self.resolve(name)
        if path is None:
            return b""
        content = read_file(path, MAX_FILE_SIZE - self._size)  # a limit for all files together
        self._size += len(content)
        return content
