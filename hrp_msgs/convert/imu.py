"""Angular velocity, specific force and orientation to sensor_msgs/Imu (REP 145)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ..messages import Imu
from .basic import Array, set_quaternion, set_stamp, set_xyz
from .converter import Frames, Reading

_ZERO = 0.0, 0.0, 0.0
_IDENTITY = 0.0, 0.0, 0.0, 1.0
_NOT_MEASURED = -1.0


class ImuReading(Reading, Protocol):
    """One sample of an IMU, in the sensor frame S."""

    @property
    def angular_velocity(self) -> Array | None:
        """w_WS_S, in [rad/s], shape (3,); None if not measured."""

    @property
    def linear_acceleration(self) -> Array | None:
        """Specific force in S, in [m/s^2], shape (3,): +g upward at rest; None if not measured."""

    @property
    def orientation(self) -> Sequence[float] | None:
        """Of S in W, unit quaternion (x, y, z, w); None if not measured."""

    @property
    def angular_velocity_stdev(self) -> float:
        """Standard deviation on each axis, in [rad/s]; 0 if unknown, as the following."""

    @property
    def linear_acceleration_stdev(self) -> float:
        """Likewise, in [m/s^2]."""

    @property
    def orientation_stdev(self) -> float:
        """Likewise, about each axis, in [rad]."""


class ImuConverter:
    """Converts the readings of one IMU.

    The first covariance of a quantity that is not measured is -1; unknown covariances are zero.
    """

    message_type = Imu

    def __init__(self, frames: Frames) -> None:
        self._msg = Imu()
        self._msg.header.frame_id = frames.data
        self._variances = 0.0, 0.0, 0.0

    def convert(self, reading: ImuReading) -> Imu:
        """Return the message of a reading; valid until the next call."""
        msg, r = self._msg, reading
        set_stamp(msg.header.stamp, r.time_ns)
        q, w, f = r.orientation, r.angular_velocity, r.linear_acceleration
        set_quaternion(msg.orientation, _IDENTITY if q is None else q)
        set_xyz(msg.angular_velocity, _ZERO if w is None else w)
        set_xyz(msg.linear_acceleration, _ZERO if f is None else f)
        variances = (
            _NOT_MEASURED if q is None else r.orientation_stdev**2,
            _NOT_MEASURED if w is None else r.angular_velocity_stdev**2,
            _NOT_MEASURED if f is None else r.linear_acceleration_stdev**2,
        )
        if variances != self._variances:  # which is rare
            self._variances = variances
            _set_covariance(msg.orientation_covariance, variances[0])
            _set_covariance(msg.angular_velocity_covariance, variances[1])
            _set_covariance(msg.linear_acceleration_covariance, variances[2])
        return msg


def _set_covariance(covariance: Array, variance: float) -> None:
    """Fill the diagonal of a (3, 3) matrix, given as (9,), whose other elements are zero."""
    covariance[0] = variance
    covariance[4] = covariance[8] = max(variance, 0.0)
