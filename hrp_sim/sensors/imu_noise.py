"""What a real IMU adds to the truth: white noise, and biases that wander."""

from __future__ import annotations

from collections.abc import Mapping
from math import sqrt

import numpy as np

from ..physics.schedule import NS_PER_S
from .base import AnyArray, Vector
from .noise import Noise
from .settings import SensorSettings

_WHITE, _WALK = 0, 1  # streams
_NEVER_NS = -1


class ImuNoise:
    """The errors of one IMU, to be added before it saturates.

    Each axis has white noise n and a bias b that wanders, as filters model them::

        measured = true + b + n,   n ~ N(0, stdev^2),   b(t) - b(s) ~ N(0, walk^2 (t - s))

    The deviation of n is that of a sample, so at other rates its density differs. The bias is
    0 at the first sample; it advances from each sample to the next, whatever lies between.

    Attributes:
        stdevs: Of the white noise: gyro [rad/s], accelerometer [m/s^2], orientation about
            each axis [rad]. The wandering biases are not in it.
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
        self._wanders = any(walks)
        self._bias = np.zeros(6)
        self._bias_time_ns = np.array([_NEVER_NS], dtype=np.int64)

    @staticmethod
    def is_in(settings: SensorSettings) -> bool:
        """Tell whether settings ask for any noise."""
        return bool(
            settings.angular_velocity_stdev
            or settings.linear_acceleration_stdev
            or settings.orientation_stdev
            or settings.angular_velocity_random_walk
            or settings.linear_acceleration_random_walk
        )

    @property
    def memory(self) -> Mapping[str, AnyArray]:
        """The biases and when they were so, if they wander."""
        if not self._wanders:
            return {}
        return {"bias": self._bias, "bias_time_ns": self._bias_time_ns}

    def reset(self) -> None:
        """Set the biases to 0 at the next sample."""
        self._bias[:] = 0.0
        self._bias_time_ns[0] = _NEVER_NS

    def at(self, time_ns: int) -> tuple[Vector, Vector, Vector]:
        """Return the errors of gyro [rad/s] and accelerometer [m/s^2], and a rotation vector.

        By that vector [rad] the axes are rotate_to_sensor of which the orientation is told.
        """
        errors = self._white * self._source.normals(time_ns, 9, _WHITE)
        if self._wanders:
            self._advance(time_ns)
            errors[:6] += self._bias
        wx, wy, wz, fx, fy, fz, x, y, z = errors.tolist()
        return (wx, wy, wz), (fx, fy, fz), (x, y, z)

    def _advance(self, time_ns: int) -> None:
        """Let the biases wander since the sample before; at one time again they stay."""
        since_ns = int(self._bias_time_ns[0])
        if since_ns != _NEVER_NS and time_ns > since_ns:
            spread = sqrt((time_ns - since_ns) / NS_PER_S)
            self._bias += spread * self._walk * self._source.normals(time_ns, 6, _WALK)
        self._bias_time_ns[0] = time_ns
