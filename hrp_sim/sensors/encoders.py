"""Encoders: positions as counts of pulses, and the velocities that follow from counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from hrp_model.rigid import Array

from ..physics.schedule import NS_PER_S
from .base import AnyArray

_NEVER = -1


class Encoders:
    """Counters of the pulses that encoders give, one for each joint that has an encoder.

    A counter holds the last whole pulse below the position: ``floor(q / resolution)``, zero at
    q = 0. The velocity is the difference of two counts over the time between their samples,
    as a controller works it out. The first sample after a start has none before it, and so
    the velocity zero.

    Args:
        resolutions: How far each joint moves per pulse, in [rad] or [m]; None where there is
            no encoder.

    Attributes:
        memory: The last counts, their time in [ns], and the velocities that were told of them.
    """

    def __init__(self, resolutions: Sequence[float | None]) -> None:
        found = [(i, r) for i, r in enumerate(resolutions) if r is not None]
        self._joints = np.array([i for i, _ in found], dtype=np.intp)
        self._resolution = np.array([r for _, r in found], dtype=np.float64)
        self._counts, self._velocity = np.zeros((2, len(found)))
        self._time_ns = np.array(_NEVER, dtype=np.int64)
        self.memory: Mapping[str, AnyArray] = {
            "counts": self._counts,
            "velocity": self._velocity,
            "time_ns": self._time_ns,
        }

    def reset(self) -> None:
        """Wait for the first sample."""
        self._counts[:] = self._velocity[:] = 0.0
        self._time_ns[()] = _NEVER

    def measure(self, time_ns: int, position: Array, velocity: Array) -> None:
        """Put in what encoders tell, where there are any; two calls of one time agree.

        Args:
            time_ns: Simulation time, in [ns].
            position: Of all joints, in [rad] or [m], shape (joints,); is changed.
            velocity: In [rad/s] or [m/s], shape (joints,); is changed.
        """
        counts = np.floor(position[self._joints] / self._resolution)
        before_ns = int(self._time_ns)
        if before_ns != time_ns:
            if before_ns != _NEVER and before_ns < time_ns:
                change = (counts - self._counts) * self._resolution
                self._velocity[:] = change / ((time_ns - before_ns) / NS_PER_S)
            else:
                self._velocity[:] = 0.0
            self._counts[:] = counts
            self._time_ns[()] = time_ns
        position[self._joints] = counts * self._resolution
        velocity[self._joints] = self._velocity
