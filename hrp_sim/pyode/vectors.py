"""Small vectors in plain Python: operations in the order of ``ode/_core.h``, to the last bit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Vector = Sequence[float]
Triple = tuple[float, float, float]
IDENTITY = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)


def rotate(R: Vector, v: Vector) -> Triple:
    """Return R v; ``R`` are 9 numbers, row by row."""
    a, b, c, d, e, f, g, h, i = R
    x, y, z = v
    return a * x + b * y + c * z, d * x + e * y + f * z, g * x + h * y + i * z


def unrotate(R: Vector, v: Vector) -> Triple:
    """Return R^T v."""
    a, b, c, d, e, f, g, h, i = R
    x, y, z = v
    return a * x + d * y + g * z, b * x + e * y + h * z, c * x + f * y + i * z


def cross(a: Vector, b: Vector) -> Triple:
    """Return a x b."""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


def dot(a: Vector, b: Vector) -> float:
    """Return a . b."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def into_group(group: Any, v: Vector, *, is_point: bool) -> Vector:
    """Express a point or a direction of W in a group's frame; in W itself where there is none."""
    if group is None:
        return v
    if is_point:
        v = [a - b for a, b in zip(v, group.getPosition(), strict=True)]
    return unrotate(group.getRotation(), v)


def from_group(group: Any, point: Vector) -> Vector:
    """Express a point of a group's frame in W."""
    if group is None:
        return point
    turned = rotate(group.getRotation(), point)
    return [a + b for a, b in zip(turned, group.getPosition(), strict=True)]
