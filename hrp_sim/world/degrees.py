"""Detect angles in a world file that were probably meant in degrees instead of radians."""

from __future__ import annotations

from collections.abc import Iterable
from math import pi, radians

from hrp_model import Link
from hrp_model.body import JointType


def position_degrees_hint(link: Link, value: float) -> str:
    """Return a warning for a joint position that was probably meant in degrees, or "".

    Such a position exceeds half a turn and the joint's range, while the same number of degrees
    lies within the range.

    Args:
        link: Child link of the joint.
        value: As written, in [rad] or [m].
    """
    lower, upper = link.joint.position_limits
    if link.joint.type is not JointType.REVOLUTE or lower <= value <= upper:
        return ""
    if abs(value) <= pi or not lower <= radians(value) <= upper:
        return ""
    return (
        f"joint '{link.joint.name}' at {value:g} rad is outside its limits, {lower:.4g} to "
        f"{upper:.4g} rad; {_in_radians(value)}"
    )


def rotation_degrees_hint(key: str, angles: Iterable[float]) -> str:
    """Return a warning for a rotation by more than one turn, or "".

    Args:
        key: Key of the angles in the world file.
        angles: As written, in [rad].
    """
    for angle in angles:
        if abs(angle) > 2.0 * pi:
            turns = abs(angle) / (2.0 * pi)
            return f"'{key}' has {angle:g} rad, which is {turns:.3g} turns; {_in_radians(angle)}"
    return ""


def _in_radians(value: float) -> str:
    return f"if degrees were meant: {value:g} degrees are {radians(value):.5g} rad"
