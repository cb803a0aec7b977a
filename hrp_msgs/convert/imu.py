"""Angular velocity, specific force and orientation to sensor_msgs/Imu (REP 145)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from ..messages import Header, Imu
from .basic import Array
from .cdr import Template
from .converter import Frames, Reading
from .fields import FieldConverter

_QUANTITIES = "orientation", "angular_velocity", "linear_acceleration"
_NOT_MEASURED = (-1.0, 0.0, 0.0)


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
    def angular_velocity_stdev(self) -> Sequence[float]:
        """Standard deviations on x, y and z, in [rad/s]; 0 if unknown, as the following."""

    @property
    def linear_acceleration_stdev(self) -> Sequence[float]:
        """Likewise, in [m/s^2]."""

    @property
    def orientation_stdev(self) -> Sequence[float]:
        """Likewise, about each axis, in [rad]."""


class ImuConverter(FieldConverter[ImuReading]):
    """Converts the readings of one IMU.

    The first covariance of a quantity that is not measured is -1; unknown covariances are zero.
    """

    message_type = Imu

    def __init__(self, frames: Frames) -> None:
        super().__init__(_variances)
        self._header = Header(frame_id=frames.data)

    def _layout(self, reading: ImuReading) -> tuple[Template, Mapping[str, str]]:
        template = Template(Imu(header=self._header))
        measured = {}
        for quantity, variances in zip(_QUANTITIES, _variances(reading), strict=True):
            # The diagonal of a (3, 3) matrix, whose other elements are zero.
            template.view(f"{quantity}_covariance")[::4] = variances
            if variances != _NOT_MEASURED:
                measured[quantity] = quantity
        return template, measured


def _variances(r: ImuReading) -> tuple[tuple[float, ...], ...]:
    return (
        _NOT_MEASURED if r.orientation is None else _squares(r.orientation_stdev),
        _NOT_MEASURED if r.angular_velocity is None else _squares(r.angular_velocity_stdev),
        _NOT_MEASURED if r.linear_acceleration is None else _squares(r.linear_acceleration_stdev),
    )


def _squares(deviations: Sequence[float]) -> tuple[float, ...]:
    return tuple(x * x for x in deviations)
