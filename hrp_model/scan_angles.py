"""The angles at which range sensors look."""

from __future__ import annotations

from math import floor, inf, pi

import numpy as np

from .rigid import Array

MAX_RAYS = 1_000_000
_ROUNDING = 1e-7  # of a step, that an angle may lack


def yaw_angles(yaw_range: float, yaw_step: float) -> Array:
    """Return the multiples of a step within +-range/2, counter-clockwise, in [rad], shape (n,).

    No two are less than half a step apart around a full circle: of -pi and +pi, which are one
    direction, only -pi is there. A range of 0 has one ray, whatever the step is.

    Args:
        yaw_range: Total angle, in [rad].
        yaw_step: Between neighbours, in [rad].

    Raises:
        ValueError: There is no such scan, or one of more than ``MAX_RAYS`` rays.
    """
    if yaw_range == 0.0:
        return np.zeros(1)
    _check(yaw_range, yaw_step)
    half = floor(min(yaw_range / 2.0 / yaw_step + _ROUNDING, pi / yaw_step + 1e-3))
    around = max(1, round(2.0 * pi / yaw_step))
    return yaw_step * np.arange(-half, min(half + 1, around - half), dtype=np.float64)


def yaw_increment(yaw_step: float) -> float:
    """Return the angle between neighbouring rays as a message has it, in [rad].

    That is the step, but 1 degree where one ray has a step of 0: receivers divide by it.
    """
    return yaw_step if 0.0 < yaw_step < inf else pi / 180.0


def pitch_angles(pitch_range: float, pitch_step: float) -> Array:
    """Return the elevations of the layers of a scan, the lowest first, in [rad], shape (n,).

    They begin at -range/2, as in Choreonoid, so that all layers of a sensor with an even
    number of them are there. A range of 0 has one layer.

    Args:
        pitch_range: Total angle, in [rad].
        pitch_step: Between neighbours, in [rad].

    Raises:
        ValueError: There are no such layers, or more than ``MAX_RAYS``.
    """
    if pitch_range == 0.0:
        return np.zeros(1)
    _check(pitch_range, pitch_step)
    count = floor(pitch_range / pitch_step + _ROUNDING) + 1
    return pitch_step * np.arange(count, dtype=np.float64) - pitch_range / 2.0


def _check(total: float, step: float) -> None:
    if not (0.0 <= total < inf and 0.0 < step < inf):
        raise ValueError(f"a scan of {total} rad in steps of {step} rad is impossible")
    if total / step >= MAX_RAYS:
        raise ValueError(f"a scan of {total / step:.0f} rays is too fine; {MAX_RAYS} are the most")
