"""Readings of sensors to messages, but images.

Point clouds are organised: they have the rows and columns of the sensor.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from dataclasses import replace
from math import inf
from operator import attrgetter

import numpy as np

from ..messages import (
    Header,
    Imu,
    JointState,
    LaserScan,
    PointCloud2,
    PointField,
    Range,
    WrenchStamped,
)
from ..readings import (
    Array,
    Depths,
    ImageReading,
    ImuReading,
    JointReading,
    LightBeamReading,
    PerAxis,
    Pixels,
    RangeImageReading,
    ScanReading,
    WrenchReading,
)
from ._cdr import any_beyond
from .cdr import Template
from .converter import FieldConverter, Fields, Frames

_ORIENTATION = "orientation"
_QUANTITIES = _ORIENTATION, "angular_velocity", "linear_acceleration"
_BOTH = 48  # bytes of the numbers of an IMU with gyro and accelerometer
_NOT_MEASURED = -1.0
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
        if self._limits is not None:
            lower, upper = self._limits
            self._inner = (lower + AT_LIMIT).tobytes(), (upper - AT_LIMIT).tobytes()
        super().__init__(attrgetter("names"))

    def convert(self, reading: JointReading) -> bytes:
        """Return the message of a reading."""
        if self._limits is not None and any_beyond(reading.numbers, *self._inner):
            position, (lower, upper) = reading.position, self._limits
            near = np.abs(position - self._limits) <= AT_LIMIT
            position = np.where(near[0], lower, np.where(near[1], upper, position))
            reading = replace(reading, position=position)
        return super().convert(reading)

    def _layout(self, reading: JointReading) -> tuple[Template, Mapping[Fields, str]]:
        zeros = [0.0] * len(reading.names)
        names = list(reading.names)
        message = JointState(name=names, position=zeros, velocity=zeros, effort=zeros)
        return Template(message), {("position", "velocity", "effort"): "numbers"}


class ImuConverter(FieldConverter[ImuReading]):
    """Converts the readings of one IMU to sensor_msgs/Imu (REP 145).

    The first covariance of a quantity that is not measured is -1; unknown covariances are zero.
    """

    message_type = Imu

    def __init__(self, frames: Frames) -> None:
        super().__init__(_deviations)
        self._header = Header(frame_id=frames.data)

    def _layout(self, reading: ImuReading) -> tuple[Template, Mapping[Fields, str]]:
        template = Template(Imu(header=self._header))
        measured = []
        for quantity, deviations in zip(_QUANTITIES, _deviations(reading), strict=True):
            # The diagonal of a (3, 3) matrix, whose other elements are zero.
            diagonal = template.view(f"{quantity}_covariance")[::4]
            if deviations is None:
                diagonal[0] = _NOT_MEASURED
            else:
                diagonal[:] = np.square(deviations)
                measured.append(quantity)
        fields: dict[Fields, str] = {tuple(x for x in measured if x != _ORIENTATION): "numbers"}
        return template, fields | {x: x for x in measured if x == _ORIENTATION}


def _deviations(r: ImuReading) -> tuple[PerAxis | None, ...]:
    """Return the standard deviations of ``_QUANTITIES``; None for one that is not measured."""
    has_both = len(r.numbers) == _BOTH  # which needs no arrays
    return (
        None if r.orientation is None else r.orientation_stdev,
        r.angular_velocity_stdev if has_both or r.angular_velocity is not None else None,
        r.linear_acceleration_stdev if has_both or r.linear_acceleration is not None else None,
    )


class WrenchConverter(FieldConverter[WrenchReading]):
    """Converts the readings of one force or torque sensor to geometry_msgs/WrenchStamped."""

    message_type = WrenchStamped

    def __init__(self, frames: Frames) -> None:
        super().__init__()
        self._header = Header(frame_id=frames.data)

    def _layout(self, reading: WrenchReading) -> tuple[Template, Mapping[Fields, str]]:  # noqa: ARG002
        template = Template(WrenchStamped(header=self._header))
        return template, {("wrench.force", "wrench.torque"): "numbers"}


class LaserScanConverter(FieldConverter[ScanReading]):
    """Converts the scans of one planar range sensor to sensor_msgs/LaserScan."""

    message_type = LaserScan

    def __init__(self, frames: Frames) -> None:
        super().__init__(_geometry)
        self._header = Header(frame_id=frames.data)

    def _layout(self, reading: ScanReading) -> tuple[Template, Mapping[Fields, str]]:
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
        return self._fill(reading.time_ns, (-inf if reading.is_blocked else inf,))

    def _set_length(self, length: float) -> None:
        self._length = length
        message = Range(
            header=self._header, radiation_type=Range.INFRARED, min_range=length, max_range=length
        )
        self._fill = Template(message).filler("range")


_FLOAT = 4  # bytes


class PointCloudBuffer:
    """PointCloud2 message of one sensor, filled in place.

    A point has three floats ``x``, ``y`` and ``z`` in [m], and in coloured clouds a fourth,
    ``rgb``, with the bits 0x00RRGGBB as in PCL. The cloud is organised: height and width are
    those of the sensor, and missing points are NaN. ``is_dense`` is true if all points are finite.

    Args:
        frame_id: Name of the frame in which the points are expressed.
    """

    def __init__(self, frame_id: str) -> None:
        self._header = Header(frame_id=frame_id)
        self._floats: Depths = np.empty((0, 0, 0), np.float32)
        self._bytes: Pixels = np.empty((0, 0, 0), np.uint8)

    def cloud(self, time_ns: int, xyz: Depths | Array, rgb: Pixels | None = None) -> bytes:
        """Return an organised cloud.

        Args:
            time_ns: Simulation time of the sample, in [ns].
            xyz: In [m], shape (height, width, 3), row 0 first; NaN for missing points.
            rgb: Colours, shape (height, width, 3), or None for a cloud without colours.
        """
        height, width = xyz.shape[:2]
        shape = (height, width, 3 if rgb is None else 4)
        if shape != self._floats.shape:
            self._resize(*shape)
        self._floats[..., :3] = xyz
        if rgb is not None:
            # By channel, which is twice as fast as three bytes at once.
            for channel, offset in enumerate((14, 13, 12)):
                self._bytes[..., offset] = rgb[..., channel]
        self._is_dense[:] = np.isfinite(xyz).all()
        return self._template.data(time_ns)

    def _resize(self, height: int, width: int, floats: int) -> None:
        step = floats * _FLOAT
        message = PointCloud2(
            header=self._header,
            height=height,
            width=width,
            fields=[
                PointField(name=name, offset=i * _FLOAT, datatype=PointField.FLOAT32, count=1)
                for i, name in enumerate(("x", "y", "z", "rgb")[:floats])
            ],
            is_bigendian=False,
            point_step=step,
            row_step=width * step,
            data=array("B", bytes(height * width * step)),  # not checked byte by byte
        )
        self._template = Template(message)
        data = self._template.view("data")
        self._floats = data.view("<f4").reshape(height, width, floats)
        self._bytes = data.view(np.uint8).reshape(height, width, step)
        self._is_dense = self._template.view("is_dense")


class PointCloudConverter:
    """Converts the scans of one multi-layer range sensor."""

    message_type = PointCloud2

    def __init__(self, frames: Frames) -> None:
        self._buffer = PointCloudBuffer(frames.data)

    def convert(self, reading: RangeImageReading) -> bytes:
        """Return the message of a scan."""
        return self._buffer.cloud(reading.time_ns, reading.points)


class DepthPointsConverter:
    """Converts the depths of one depth camera without colours."""

    message_type = PointCloud2

    def __init__(self, frames: Frames) -> None:
        self._buffer = PointCloudBuffer(frames.data)

    def convert(self, reading: ImageReading) -> bytes | None:
        """Return the message of an image, or None without depths."""
        if reading.depth is None:
            return None
        return self._buffer.cloud(reading.time_ns, reading.points())


class ColorPointsConverter(DepthPointsConverter):
    """Converts the depths of one camera, with its colours or grey values."""

    def convert(self, reading: ImageReading) -> bytes | None:
        """Return the message of an image, or None unless it has both.

        An image lacks colours if it was rendered before there were subscribers to the points.
        """
        pixels = reading.color_or_mono
        if pixels is None or reading.depth is None:
            return None
        if pixels.ndim == 2:
            pixels = np.broadcast_to(pixels[..., np.newaxis], (*pixels.shape, 3))
        return self._buffer.cloud(reading.time_ns, reading.points(), pixels)
