"""What every sensor has in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from hrp_model import Pose
from hrp_model.rigid import Array

from ..articulation.numeric_limits import is_valid_mounting
from ..physics.state import WorldState

AnyArray = NDArray[Any]


class Reading(Protocol):
    """What a sensor returns: a dataclass with at least these.

    Nobody changes one. Those that are made hundreds of times a second are not frozen for all
    that, since it takes Python three times as long to make a frozen one.
    """

    @property
    def time_ns(self) -> int:
        """Simulation time of the sample, in [ns]."""

    @property
    def body(self) -> str:
        """Name of the body in the world that carries the sensor."""


class Sensor(Protocol):
    """Turns the state of the world into a reading.

    The same state, and what the sensor remembers, give the same reading.
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
        """Measure now; None means that nothing is there to be told yet."""


@runtime_checkable
class Observer(Protocol):
    """A sensor that looks at the world at every step, not only when it is due."""

    @property
    def observes(self) -> bool:
        """Whether it needs to; asked when its body appears, or it is switched on."""

    def observe(self, world: WorldState) -> None:
        """Look; called after every step, before ``read`` when that is due in the same step."""


@runtime_checkable
class StatefulSensor(Protocol):
    """A sensor whose readings depend on earlier ones, as those of a filter."""

    @property
    def memory(self) -> Mapping[str, AnyArray]:
        """All it remembers, as live arrays: copied into snapshots, written from them.

        Of types float64, int64 or int32, each always of one shape; finite, or it cannot be
        restored. Names that end in "_ns" are of simulation times, at which -1 is never; less
        is before zero of a clock that was put back.
        """

    def reset(self) -> None:
        """Begin anew, as at time zero; called by a reset, and when it is switched on."""


def check_mounting(X_LS: Pose) -> None:
    """Check that a sensor can sit on a link like this.

    Raises:
        ValueError: It is no rigid transform, not finite, or absurdly far away.
    """
    if not is_valid_mounting(X_LS):
        raise ValueError("its pose on the link is no rigid transform, or far away")


def check_limits(*limits: Array | None) -> None:
    """Check where a sensor saturates, per axis; None is a quantity that it does not measure.

    Raises:
        ValueError: A limit is negative or no number.
    """
    for most in limits:
        if most is not None and not np.all(most >= 0.0):
            raise ValueError(f"it saturates at {most.tolist()}, where nothing can")


Vector = tuple[float, float, float]
Rows = tuple[Vector, Vector, Vector]


def rows_of(R: Array) -> Rows:
    """Return the rows of a (3, 3) array as plain floats: numpy takes longer on numbers so few."""
    x, y, z = R.tolist()
    return tuple(x), tuple(y), tuple(z)


def rotate_inverse(R: Sequence[Sequence[float]], v: Sequence[float]) -> Vector:
    """Return R^T v: a vector of W in the axes of S, for the rows of R_WS."""
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = R
    x, y, z = v
    return (
        xx * x + yx * y + zx * z,
        xy * x + yy * y + zy * z,
        xz * x + yz * y + zz * z,
    )


def none_if_identity(rows: Rows) -> Rows | None:
    """Return the rows of a rotation, or None for the identity, which need not be applied."""
    return None if rows == ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)) else rows


def rotate_to_sensor(rows: Rows | None, v: Vector) -> Vector:
    """Return R^T v as ``rotate_inverse`` does, where None is the identity."""
    return v if rows is None else rotate_inverse(rows, v)


def saturate(values: Vector, limits: Vector) -> Array:
    """Return three values as an array, each kept within +-limit; NaN stays NaN. Shape (3,)."""
    x, y, z = values
    a, b, c = limits
    if -a <= x <= a and -b <= y <= b and -c <= z <= c:
        return np.array(values)
    return np.array([min(max(v, -m), m) for v, m in zip(values, limits, strict=True)])
