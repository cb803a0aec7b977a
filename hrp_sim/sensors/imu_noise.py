"""Noise of an IMU: white noise and biases with random walk."""

from __future__ import annotations

from collections.abc import Mapping
from math import sqrt

import numpy as np

from hrp_model.rigid import Array

from ..physics.schedule import NS_PER_S
from .base import AnyArray
from .noise import Noise
from .settings import SensorSettings

_WHITE, _WALK = 0, 1  # streams
_NEVER_NS = -1


class ImuNoise:
    """The errors of one IMU, to be added before saturation.

    Each axis has white noise n and a bias b with a random walk, as state estimators model them::

        measured = true + b + n,   n ~ N(0, stdev^2),   b(t) - b(s) ~ N(0, walk^2 (t - s))

    The standard deviation of n is per sample, so its density depends on the rate. The bias is 0
    at the first sample, and advances from each sample to the next, whatever the interval.

    Attributes:
        stdevs: Of the white noise: gyro [rad/s], accelerometer [m/s^2], orientation about
            each axis [rad]. They do not include the biases.
    """

    def __init__(self, settings: SensorSettings, source: Noise) -> None:
        gyro, acceleration, turn = stdevs = (
            settings.angular_velocity_stdev,
            settings.linear_acceleration_stdev,
            settings.orientation_stdev,
        )
        walks = settings.angular_velocity_random_walk, settings.linear_acceleration_random_walk
        self.stdevs = stdevs
        self._source = source
        self._white = np.repeat([gyro, acceleration, turn], 3)
        self._walk = np.repeat(walks, 3)
        self._has_walk = any(walks)
        self._bias = np.zeros(6)
        self._bias_time_ns = np.array([_NEVER_NS], dtype=np.int64)

    @staticmethod
    def is_enabled(settings: SensorSettings) -> bool:
        """Return whether settings enable any noise."""
        return bool(
            settings.angular_velocity_stdev
            or settings.linear_acceleration_stdev
            or settings.orientation_stdev
            or settings.angular_velocity_random_walk
            or settings.linear_acceleration_random_walk
        )

    @property
    def memory(self) -> Mapping[str, AnyArray]:
        """The biases and their time, if they drift."""
        if not self._has_walk:
            return {}
        return {"bias": self._bias, "bias_time_ns": self._bias_time_ns}

    def reset(self) -> None:
        """Set the biases to 0 at the next sample."""
        self._bias[:] = 0.0
        self._bias_time_ns[0] = _NEVER_NS

    def at(self, time_ns: int) -> Array:
        """Return the errors of gyro [rad/s], accelerometer [m/s^2] and orientation [rad].

        That of the orientation is a rotation vector. Shape (3, 3).
        """
        errors: Array = self._white * self._source.normals(time_ns, 9, _WHITE)
        if self._has_walk:
            self._advance(time_ns)
            errors[:6] += self._bias
        return errors.reshape(3, 3)

    def _advance(self, time_ns: int) -> None:
        """Advance the biases since the last sample; repeated calls at one time have no effect."""
        since_ns = int(self._bias_time_ns[0])
        if since_ns != _NEVER_NS and time_ns > since_ns:
            spread = sqrt((time_ns - since_ns) / NS_PER_S)
            self._bias += spread * self._walk * self._source.normals(time_ns, 6, _WALK)
        self._bias_time_ns[0] = time_ns
