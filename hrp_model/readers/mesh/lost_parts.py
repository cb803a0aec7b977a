"""Parts of a mesh file that are left out, and its triangles that can be used."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...diagnostics import Diagnostics, Span
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
