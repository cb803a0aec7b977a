"""Values in the words of SDF, which <gazebo> blocks are written in: they stand as text."""

from __future__ import annotations

from math import isfinite, isnan, radians

import numpy as np

from ...diagnostics import Diagnostics
from ...rigid import Pose, quaternion_matrix, rpy_matrix
from .xml_tree import NUMBER, Element

_TRUE = ("1", "true")


class SdfReader:
    """Reads values inside of an element; what cannot be used is warned of, and a default taken."""

    def __init__(self, element: Element, diagnostics: Diagnostics) -> None:
        self.element = element
        self._diagnostics = diagnostics

    def inside(self, *path: str) -> SdfReader | None:
        """Return what stands down a path of names; None if nothing does."""
        element: Element | None = self.element
        for tag in path:
            element = element.first(tag) if element is not None else None
        return None if element is None else SdfReader(element, self._diagnostics)

    def text(self, *path: str) -> str:
        """Return a text, or nothing."""
        found = self.inside(*path)
        return "" if found is None else found.element.text

    def flag(self, *path: str) -> bool:
        """Return whether a truth value is there and true."""
        return self.text(*path).lower() in _TRUE

    def number(self, *path: str, default: float, allow_infinite: bool = False) -> float:
        """Return a number; infinity only with ``allow_infinite``."""
        found = self.inside(*path)
        if found is None:
            return default
        values = found._numbers(1)
        if values and (allow_infinite or isfinite(values[0])):
            return values[0]
        found._refuse("a number")
        return default

    def positive_integer(self, *path: str, default: int) -> int:
        """Return a positive whole number."""
        value = self.number(*path, default=float(default))
        if 1.0 <= value < 2.0**31:
            return int(value)
        found = self.inside(*path)
        assert found is not None
        found._refuse("a positive whole number")
        return default

    def pose(self, *path: str, link: str) -> Pose:
        """Return a pose in a link; none is the identity."""
        found = self.inside(*path)
        if found is None or not found.element.text:
            return Pose()
        how = found.element.attributes
        # SDF 1.6 and before has it in another attribute.
        frame = how.get("relative_to", "") or how.get("frame", "")
        is_quaternion = how.get("rotation_format") == "quat_xyzw"
        values = found._numbers(7 if is_quaternion else 6)
        if not values or not all(map(isfinite, values)) or frame not in ("", link):
            needed = "seven numbers" if is_quaternion else "six numbers"
            found._refuse(f"{needed}, in the frame of the link" if frame else needed)
            return Pose()
        p, turn = np.array(values[:3]), values[3:]
        if is_quaternion:
            return Pose(quaternion_matrix(turn), p)
        if how.get("degrees", "").lower() in _TRUE:
            turn = list(map(radians, turn))
        return Pose(rpy_matrix(*turn), p)

    def warn(self, code: str, message: str) -> None:
        """Warn of this element."""
        self._diagnostics.warn(code, message, self.element.span)

    def _numbers(self, count: int) -> list[float]:
        words = self.element.text.split()
        if len(words) != count or not all(map(NUMBER.fullmatch, words)):
            return []
        values = list(map(float, words))
        return [] if any(map(isnan, values)) else values

    def _refuse(self, needed: str) -> None:
        tag, text = self.element.tag, self.element.text
        self.warn("not-used", f"<{tag}> holds {needed}, not '{text}'; it is not used")
