"""Protocols of sensors and readings, and helpers that several sensors use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from hrp_model import Pose
from hrp_model.rigid import Array

from ..articulation.numeric_limits import MAX_COORDINATE, is_valid_mounting
from ..physics.state import WorldState

AnyArray = NDArray[Any]


class Reading(Protocol):
    """The result of a sensor: a dataclass with at least these fields.

    Treat it as immutable. Readings at high rates are not frozen dataclasses only because Python
    takes three times as long to create those.
    """

    @property
    def time_ns(self) -> int:
        """Simulation time of the sample, in [ns]."""

    @property
    def body(self) -> str:
        """Name of the body in the world that carries the sensor."""


class Sensor(Protocol):
    """Computes readings from the state of the world.

    A reading depends only on that state and on the sensor's memory.
    """

    @property
    def body(self) -> str:
        """Name of the body in the world that carries it."""

    @property
    def name(self) -> str:
        """Name of the device in the model."""

    @property
    def rate_hz(self) -> float:
        """Samples per second of simulation time."""

    def read(self, world: WorldState) -> Reading | None:
        """Return a reading of the current state; None if there is none yet."""


@runtime_checkable
class Observer(Protocol):
    """A sensor that processes every step, not only those in which it is due."""

    @property
    def observes(self) -> bool:
        """Whether it needs to; queried when its body is added or it is switched on."""

    def observe(self, world: WorldState) -> None:
        """Process a step; called after every step, and before ``read`` if that is due, too."""


@runtime_checkable
class StatefulSensor(Protocol):
    """A sensor whose readings depend on earlier states, such as one with a filter."""

    @property
    def memory(self) -> Mapping[str, AnyArray]:
        """Its internal state, as live arrays: copied to snapshots and written from them.

        Of types float64, int64 or int32 and of constant shape. Values must be finite, else they
        cannot be restored. Names that end in "_ns" are simulation times: -1 means never, and
        less than that is before zero of a clock that was set back.
        """

    def reset(self) -> None:
        """Start again as at time zero; called by a reset, and when it is switched on."""


def check_mounting(X_LS: Pose) -> None:
    """Check the pose of a sensor on its link.

    Raises:
        ValueError: It is not a rigid transform, not finite, or too far away.
    """
    if not is_valid_mounting(X_LS):
        raise ValueError(
            f"its pose on the link must be a rigid transform within {MAX_COORDINATE:g} m"
        )


def check_limits(*limits: Array | None) -> None:
    """Check the saturation limits of a sensor per axis; None means not measured.

    Raises:
        ValueError: A limit is negative or NaN.
    """
    for limit in limits:
        if limit is not None and not np.all(limit >= 0.0):
            raise ValueError(f"its measurement limits must not be negative, not {limit.tolist()}")


Vector = tuple[float, float, float]
Rows = tuple[Vector, Vector, Vector]


def rows_of(R: Array) -> Rows:
    """Return the rows of a (3, 3) array as floats, which are faster than numpy for so few."""
    x, y, z = R.tolist()
    return tuple(x), tuple(y), tuple(z)


def rotate_inverse(R: Sequence[Sequence[float]], v: Sequence[float]) -> Vector:
    """Return R^T v, which expresses a vector of W in S, from the rows of R_WS."""
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = R
    x, y, z = v
    return (
        xx * x + yx * y + zx * z,
        xy * x + yy * y + zy * z,
        xz * x + yz * y + zz * z,
    )


def none_if_identity(rows: Rows) -> Rows | None:
    """Return the rows of a rotation, or None for the identity."""
    return None if rows == ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)) else rows


def rotate_to_sensor(rows: Rows | None, v: Vector) -> Vector:
    """Return R^T v, like ``rotate_inverse``; None is the identity."""
    return v if rows is None else rotate_inverse(rows, v)


def saturate(values: Vector, limits: Vector) -> Array:
    """Return three values clipped to +-limit each, shape (3,); NaN stays NaN."""
    x, y, z = values
    a, b, c = limits
    if -a <= x <= a and -b <= y <= b and -c <= z <= c:
        return np.array(values)
    return np.array([min(max(v, -m), m) for v, m in zip(values, limits, strict=True)])
