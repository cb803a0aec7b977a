"""Checks on numbers that come from outside, so that a wrong one is named where it comes in."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..rigid import Array

_TOLERANCE = 1e-6


def numbers(what: str, value: ArrayLike) -> Array:
    """Return an array of numbers, of any shape; raises ValueError if they are none."""
    try:
        return np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{what} must be numbers, got {value!r}") from None


def finite(what: str, value: ArrayLike, *shapes: tuple[int, ...]) -> Array:
    """Return finite numbers of one of some shapes.

    Args:
        what: What they are, for messages.
        value: The numbers.
        shapes: Those that are allowed.

    Raises:
        ValueError: They are of another shape, or not finite.
    """
    values = numbers(what, value)
    if values.shape not in shapes:
        allowed = " or ".join(str(shape) for shape in dict.fromkeys(shapes) if shape)
        wanted = f"have shape {allowed}" if allowed else "be one number"
        raise ValueError(f"{what} must {wanted}, got shape {values.shape}")
    if not np.isfinite(values).all():
        where = tuple(np.argwhere(~np.isfinite(values))[0].tolist())
        place = str(list(where)) if where else ""
        raise ValueError(f"{what}{place} is {values[where]}, which is not finite")
    return values


def rotations(what: str, value: ArrayLike, *shapes: tuple[int, ...]) -> Array:
    """Return rotations: as ``finite``, and right-handed and orthonormal to 1e-6."""
    R = finite(what, value, *shapes)
    errors = np.abs(R.swapaxes(-1, -2) @ R - np.eye(3)).max(axis=(-1, -2))
    wrong = ~(errors <= _TOLERANCE) | (np.linalg.det(R) < 0.0)
    if wrong.any():
        posture = f" in posture {np.flatnonzero(wrong)[0]}" if wrong.ndim else ""
        raise ValueError(
            f"{what}{posture} must be a rotation, right-handed and orthonormal to "
            f"{_TOLERANCE:g}, got {R[wrong][0].tolist()}"
        )
    return R
