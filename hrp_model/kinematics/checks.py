"""Checks of arrays that callers pass in."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..rigid import Array

_TOLERANCE = 1e-6


def numbers(name: str, value: ArrayLike) -> Array:
    """Return a value as a float array of any shape; raises ValueError if it is not numeric."""
    try:
        return np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be numbers, got {value!r}") from None


def finite(name: str, value: ArrayLike, *shapes: tuple[int, ...]) -> Array:
    """Return a value as a finite float array of one of the given shapes.

    Args:
        name: Name of the value in messages.
        value: The numbers.
        shapes: Allowed shapes.

    Raises:
        ValueError: The shape is not allowed, or a number is not finite.
    """
    values = numbers(name, value)
    if values.shape not in shapes:
        allowed = " or ".join(str(shape) for shape in dict.fromkeys(shapes) if shape)
        expected = f"have shape {allowed}" if allowed else "be one number"
        raise ValueError(f"{name} must {expected}, got shape {values.shape}")
    if not np.isfinite(values).all():
        index = tuple(np.argwhere(~np.isfinite(values))[0].tolist())
        shown = str(list(index)) if index else ""
        raise ValueError(f"{name}{shown} is {values[index]}, which is not finite")
    return values


def rotations(name: str, value: ArrayLike, *shapes: tuple[int, ...]) -> Array:
    """Return rotation matrices: as ``finite``, and right-handed and orthonormal to 1e-6."""
    R = finite(name, value, *shapes)
    errors = np.abs(R.swapaxes(-1, -2) @ R - np.eye(3)).max(axis=(-1, -2))
    wrong = ~(errors <= _TOLERANCE) | (np.linalg.det(R) < 0.0)
    if wrong.any():
        posture = f" in posture {np.flatnonzero(wrong)[0]}" if wrong.ndim else ""
        raise ValueError(
            f"{name}{posture} must be a rotation, right-handed and orthonormal to "
            f"{_TOLERANCE:g}, got {R[wrong][0].tolist()}"
        )
    return R
