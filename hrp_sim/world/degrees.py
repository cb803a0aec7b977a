"""Angles of a world file that make sense in degrees only, though they are read in radians."""

from __future__ import annotations

from collections.abc import Iterable
from math import pi, radians

from hrp_model import Link
from hrp_model.body import JointType


def degrees_as_position(link: Link, value: float) -> str:
    """Return what to write instead of a joint position that was meant in degrees, or nothing.

    That is one of more than half a turn outside the joint's range, where the same number of
    degrees is inside.

    Args:
        link: The link that the joint moves.
        value: As written, in [rad] or [m].
    """
    lower, upper = link.joint.position_limits
    if link.joint.type is not JointType.REVOLUTE or lower <= value <= upper:
        return ""
    if abs(value) <= pi or not lower <= radians(value) <= upper:
        return ""
    return (
        f"joint '{link.joint.name}' at {value:g} rad is outside its range, {lower:.4g} to "
        f"{upper:.4g} rad; {_in_radians(value)}"
    )


def degrees_as_rotation(key: str, angles: Iterable[float]) -> str:
    """Return what to write instead of a rotation of several turns, or nothing.

    Args:
        key: That has the angles.
        angles: As written, in [rad].
    """
    for angle in angles:
        if abs(angle) > 2.0 * pi:
            turns = abs(angle) / (2.0 * pi)
            return f"'{key}' has {angle:g} rad, which is {turns:.3g} turns; {_in_radians(angle)}"
    return ""


def _in_radians(value: float) -> str:
    return f"if degrees were meant: {value:g} degrees are {radians(value):.5g} rad"
