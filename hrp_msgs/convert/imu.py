"""Angular velocity, specific force and orientation to sensor_msgs/Imu (REP 145)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ..messages import Header, Imu
from .basic import Array
from .cdr import Template
from .converter import Frames, Reading

_QUANTITIES = "orientation", "angular_velocity", "linear_acceleration"
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
        self._template = template = Template(Imu(header=Header(frame_id=frames.data)))
        self._set_orientation = template.setter("orientation")
        self._angular_velocity = template.view("angular_velocity")
        self._linear_acceleration = template.view("linear_acceleration")
        self._covariances = [template.view(f"{x}_covariance") for x in _QUANTITIES]
        self._variances = 0.0, 0.0, 0.0

    def convert(self, reading: ImuReading) -> bytes:
        """Return the message of a reading."""
        r = reading
        q, w, f = r.orientation, r.angular_velocity, r.linear_acceleration
        self._set_orientation(*(_IDENTITY if q is None else q))
        self._angular_velocity[:] = 0.0 if w is None else w
        self._linear_acceleration[:] = 0.0 if f is None else f
        variances = (
            _NOT_MEASURED if q is None else r.orientation_stdev**2,
            _NOT_MEASURED if w is None else r.angular_velocity_stdev**2,
            _NOT_MEASURED if f is None else r.linear_acceleration_stdev**2,
        )
        if variances != self._variances:  # which is rare
            self._variances = variances
            for covariance, variance in zip(self._covariances, variances, strict=True):
                # The diagonal of a (3, 3) matrix, whose other elements are zero.
                covariance[::4] = max(variance, 0.0)
                covariance[0] = variance
        return self._template.data(r.time_ns)
