"""Protocols of sensors and readings, and helpers that several sensors use."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import inf
from typing import Any, Protocol, cast, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from hrp_model import Pose
from hrp_model.rigid import ZERO_3, Array
from hrp_msgs.readings import Reading

from ..engine.articulation.numeric_limits import MAX_COORDINATE, is_valid_mounting
from ..engine.state import BodyMotion, WorldState
from ._probe import Probe, measure

AnyArray = NDArray[Any]


_implements: dict[tuple[type, object], bool] = {}


def implements(thing: object, protocol: Any) -> bool:
    """Return whether an object implements a runtime-checkable protocol, by its class.

    ``isinstance`` takes ten times as long before Python 3.12, a third of restoring a snapshot.
    """
    key = type(thing), protocol
    if key not in _implements:
        _implements[key] = isinstance(thing, protocol)
    return _implements[key]


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
class ProbingSensor(Sensor, Protocol):
    """A sensor with a probe, which is measured together with those of other sensors.

    ``read`` measures it alone.
    """

    @property
    def probe(self) -> Probe:
        """The probe, on the body that carries the sensor."""

    def reading(self, world: WorldState, vectors: Array, first: int) -> Reading:
        """Return a reading of the current state, given what the probe measures of it.

        Args:
            world: The state.
            vectors: Of all probes, read-only, shape (n, 3).
            first: Index of the first vector of this sensor's probe.
        """


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


def read_aside(sensor: Sensor, world: WorldState) -> Reading | None:
    """Return a reading of the current state, without effect on the later ones of the sensor."""
    memory = cast(StatefulSensor, sensor).memory if implements(sensor, StatefulSensor) else {}
    before = {name: array.copy() for name, array in memory.items()}
    try:
        return sensor.read(world)
    finally:
        for name, array in memory.items():
            array[...] = before[name]


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


def saturate(vector: Array, limit: Array) -> Array:
    """Return a vector clipped to +-limit per axis, shape (3,); NaN stays NaN."""
    clipped: Array = np.minimum(np.maximum(vector, -limit), limit)
    return clipped


def make_probe(
    kind: int, link: int, X_LS: Pose, limits: Sequence[Array | None], g_W: Array = ZERO_3
) -> Probe:
    """Return a probe; the limits of its first two vectors are None for no limits."""
    bounds = np.array([np.full(3, inf) if limit is None else limit for limit in limits])
    return Probe(kind, link, X_LS.R, X_LS.p, g_W, bounds)


def measure_one(probe: Probe, motion: BodyMotion) -> Array:
    """Return the vectors of one probe, see ``Probes.measure``."""
    return Probes([probe], [motion]).measure()


class Probes:
    """Probes of several sensors, and the motions of their bodies.

    Args:
        probes: Of the sensors.
        motions: Of the body of each.
    """

    def __init__(self, probes: Iterable[Probe], motions: Iterable[BodyMotion]) -> None:
        self._probes, self._motions = tuple(probes), tuple(motions)
        self._shape = sum(probe.vectors for probe in self._probes), 3

    def measure(self) -> Array:
        """Return the vectors of all probes, one after the other, read-only, shape (n, 3)."""
        vectors = np.empty(self._shape)
        measure(self._probes, self._motions, vectors)
        vectors.setflags(write=False)
        return vectors
