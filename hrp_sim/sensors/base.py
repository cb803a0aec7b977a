"""What every sensor has in common."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

import numpy as np

from hrp_model.rigid import Array

from ..state import WorldState


class Reading(Protocol):
    """What a sensor returns: a frozen dataclass with at least these."""

    @property
    def time_ns(self) -> int:
        """Simulation time of the sample, in [ns]."""

    @property
    def body(self) -> str:
        """Name of the body in the world that carries the sensor."""


class Sensor(Protocol):
    """Turns the state of the world into a reading; the same state gives the same reading."""

    @property
    def body(self) -> str:
        """Name of the body in the world that carries it."""

    @property
    def name(self) -> str:
        """Name of the device in the model."""

    @property
    def rate_hz(self) -> float:
        """Samples per second of simulation time."""

    def read(self, world: WorldState) -> Reading:
        """Measure now."""


def saturated(values: Iterable[float], limits: Array) -> Array:
    """Return three values, each kept within +-limit; NaN stays NaN. Both of shape (3,)."""
    # Plain floats: numpy's clip costs ten times as much on three numbers.
    return np.array([min(max(v, -m), m) for v, m in zip(values, limits.tolist(), strict=True)])
