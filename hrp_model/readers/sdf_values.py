"""Read values of SDF, also in <gazebo> blocks of URDF: values are text of elements."""

from __future__ import annotations

from math import isfinite, isnan, radians

import numpy as np

from ..diagnostics import Diagnostics
from ..rigid import Array, Pose, quaternion_matrix, rpy_matrix
from .xml_tree import NUMBER, Element

_TRUE = ("1", "true")


class SdfReader:
    """Reads values inside an element; an invalid value is ignored with a warning."""

    def __init__(self, element: Element, diagnostics: Diagnostics) -> None:
        self.element = element
        self._diagnostics = diagnostics

    def inside(self, *path: str) -> SdfReader | None:
        """Return a reader of the element at a path of tags; None if it does not exist."""
        element: Element | None = self.element
        for tag in path:
            element = element.first(tag) if element is not None else None
        return None if element is None else SdfReader(element, self._diagnostics)

    def text(self, *path: str) -> str:
        """Return the text at a path, or ""."""
        found = self.inside(*path)
        return "" if found is None else found.element.text

    def flag(self, *path: str) -> bool:
        """Return whether a boolean is present and true."""
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
        """Return a pose in a link; the identity if there is none."""
        pose, frame = self.framed_pose(*path)
        if frame in ("", link):
            return pose
        found = self.inside(*path)
        assert found is not None
        found._refuse("in the frame of the link")
        return Pose()

    def framed_pose(self, *path: str) -> tuple[Pose, str]:
        """Return a pose, and the frame that it is relative to; "" for the default."""
        found = self.inside(*path)
        if found is None:
            return Pose(), ""
        attributes = found.element.attributes
        # "frame" is the attribute of SDF 1.6 and before.
        frame = attributes.get("relative_to", "") or attributes.get("frame", "")
        if not found.element.text:
            return Pose(), frame
        is_quaternion = attributes.get("rotation_format") == "quat_xyzw"
        values = found._numbers(7 if is_quaternion else 6)
        if not values or not all(map(isfinite, values)):
            found._refuse("seven numbers" if is_quaternion else "six numbers")
            return Pose(), frame
        p, rotation = np.array(values[:3]), values[3:]
        if is_quaternion:
            return Pose(quaternion_matrix(rotation), p), frame
        if attributes.get("degrees", "").lower() in _TRUE:
            rotation = list(map(radians, rotation))
        return Pose(rpy_matrix(*rotation), p), frame

    def vector(self, *path: str, default: Array, count: int = 3) -> Array:
        """Return finite numbers, shape (count,)."""
        found = self.inside(*path)
        if found is None:
            return default
        values = found._numbers(count)
        if values and all(map(isfinite, values)):
            return np.array(values)
        found._refuse(f"{count} numbers")
        return default

    def warn(self, code: str, message: str) -> None:
        """Warn about this element."""
        self._diagnostics.warn(code, message, self.element.span)

    def _numbers(self, count: int) -> list[float]:
        words = self.element.text.split()
        if len(words) != count or not all(map(NUMBER.fullmatch, words)):
            return []
        values = list(map(float, words))
        return [] if any(map(isnan, values)) else values

    def _refuse(self, needed: str) -> None:
        tag, text = self.element.tag, self.element.text
        self.warn("not-used", f"<{tag}> must be {needed}, not '{text}'; it is ignored")
