"""Joint encoders: quantized positions, and velocities as differences of counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from hrp_model.rigid import Array

from ..engine.schedule import NS_PER_S
from .base import AnyArray

_NEVER = -1


class Encoders:
    """Pulse counters, one for each joint with an encoder.

    The count is ``floor(q / resolution)``, zero at q = 0. The velocity is the difference of two
    counts over the time between their samples, as a controller computes it; it is zero at the
    first sample.

    Args:
        resolutions: Displacement per pulse of each joint, in [rad] or [m]; None for a joint
            without encoder.

    Attributes:
        memory: The last counts, their time in [ns], and the velocities computed from them.
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
        """Discard the last sample."""
        self._counts[:] = self._velocity[:] = 0.0
        self._time_ns[()] = _NEVER

    def measure(self, time_ns: int, position: Array, velocity: Array) -> None:
        """Replace true values by those of the encoders; repeated calls at one time agree.

        Args:
            time_ns: Simulation time, in [ns].
            position: Of all joints, in [rad] or [m], shape (joints,); modified in place.
            velocity: In [rad/s] or [m/s], shape (joints,); modified in place.
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
