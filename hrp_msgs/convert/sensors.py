"""Joints, IMUs, wrenches, planar scans and light beams to their messages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import inf
from operator import attrgetter

import numpy as np

from ..messages import Header, Imu, JointState, LaserScan, Range, WrenchStamped
from ..readings import (
    ImuReading,
    JointReading,
    LightBeamReading,
    PerAxis,
    ScanReading,
    WrenchReading,
)
from .cdr import Template
from .converter import FieldConverter, Frames

_QUANTITIES = "orientation", "angular_velocity", "linear_acceleration"
_NOT_MEASURED = (-1.0, 0.0, 0.0)
AT_LIMIT = 1e-6  # [rad] or [m]; see ``JointStateConverter``


class JointStateConverter(FieldConverter[JointReading]):
    """Converts the joint readings of one body, which have no frame, to sensor_msgs/JointState.

    Positions within ``AT_LIMIT`` of a limit are published at the limit. A joint rests at its stop
    with the error of the solver, some 1e-12 rad beyond it, and planners accept no state beyond a
    limit, however little.
    """

    message_type = JointState

    def __init__(self, frames: Frames) -> None:
        self._limits = frames.position_limits
        super().__init__(attrgetter("names"))

    def convert(self, reading: JointReading) -> bytes:
        """Return the message of a reading."""
        if self._limits is not None:
            near = np.abs(reading.position - self._limits) <= AT_LIMIT
            if near.any():
                lower, upper = self._limits
                position = np.where(near[0], lower, np.where(near[1], upper, reading.position))
                reading = replace(reading, position=position)
        return super().convert(reading)

    def _layout(self, reading: JointReading) -> tuple[Template, Mapping[str, str]]:
        zeros = [0.0] * len(reading.names)
        names = list(reading.names)
        message = JointState(name=names, position=zeros, velocity=zeros, effort=zeros)
        return Template(message), {x: x for x in ("position", "velocity", "effort")}


class ImuConverter(FieldConverter[ImuReading]):
    """Converts the readings of one IMU to sensor_msgs/Imu (REP 145).

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


def _variances(r: ImuReading) -> tuple[PerAxis, ...]:
    return (
        _NOT_MEASURED if r.orientation is None else _squares(r.orientation_stdev),
        _NOT_MEASURED if r.angular_velocity is None else _squares(r.angular_velocity_stdev),
        _NOT_MEASURED if r.linear_acceleration is None else _squares(r.linear_acceleration_stdev),
    )


def _squares(deviations: PerAxis) -> PerAxis:
    x, y, z = deviations
    return x * x, y * y, z * z


class WrenchConverter(FieldConverter[WrenchReading]):
    """Converts the readings of one force or torque sensor to geometry_msgs/WrenchStamped."""

    message_type = WrenchStamped

    def __init__(self, frames: Frames) -> None:
        super().__init__()
        self._header = Header(frame_id=frames.data)

    def _layout(self, reading: WrenchReading) -> tuple[Template, Mapping[str, str]]:  # noqa: ARG002
        template = Template(WrenchStamped(header=self._header))
        return template, {"wrench.force": "force", "wrench.torque": "torque"}


class LaserScanConverter(FieldConverter[ScanReading]):
    """Converts the scans of one planar range sensor to sensor_msgs/LaserScan."""

    message_type = LaserScan

    def __init__(self, frames: Frames) -> None:
        super().__init__(_geometry)
        self._header = Header(frame_id=frames.data)

    def _layout(self, reading: ScanReading) -> tuple[Template, Mapping[str, str]]:
        return Template(self._message(reading)), {"ranges": "ranges"}

    def _message(self, r: ScanReading) -> LaserScan:
        return LaserScan(
            header=self._header,
            angle_min=r.angle_min,
            angle_max=r.angle_min + (len(r.ranges) - 1) * r.angle_increment,
            angle_increment=r.angle_increment,
            time_increment=r.time_increment,
            scan_time=r.scan_time,
            range_min=r.range_min,
            range_max=r.range_max,
            ranges=[0.0] * len(r.ranges),
        )


def _geometry(r: ScanReading) -> tuple[float, ...]:
    angles = len(r.ranges), r.angle_min, r.angle_increment
    return *angles, r.time_increment, r.scan_time, r.range_min, r.range_max


class LightBeamConverter:
    """Converts the readings of one photo interrupter to sensor_msgs/Range.

    They are those of a fixed-distance ranger, as the message defines: both limits are equal, and
    the range is -inf where an object was detected, else inf.
    """

    message_type = Range

    def __init__(self, frames: Frames) -> None:
        self._header = Header(frame_id=frames.data)
        self._set_length(0.0)

    def convert(self, reading: LightBeamReading) -> bytes:
        """Return the message of a reading."""
        if reading.length != self._length:
            self._set_length(reading.length)
        self._set_range(-inf if reading.is_blocked else inf)
        return self._template.data(reading.time_ns)

    def _set_length(self, length: float) -> None:
        self._length = length
        message = Range(
            header=self._header, radiation_type=Range.INFRARED, min_range=length, max_range=length
        )
        self._template = Template(message)
        self._set_range = self._template.setter("range")
