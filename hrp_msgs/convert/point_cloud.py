"""Points to sensor_msgs/PointCloud2, organised as the rows and columns of what saw them."""

from __future__ import annotations

from array import array
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from sensor_msgs.msg import PointCloud2, PointField

from .basic import Array, set_header
from .converter import Frames, Reading
from .image import ImageReading

Points = NDArray[np.float32]
Colors = NDArray[np.uint8]

_FLOAT = 4  # bytes


class RangeImageReading(Reading, Protocol):
    """One scan in space, in a frame with x forward, y left, z up; stamped at its first column."""

    @property
    def points(self) -> Array:
        """Where the rays ended, in [m], shape (rows, columns, 3); NaN where none did."""


class PointCloudBuffer:
    """Makes the PointCloud2 messages of one sensor, all in the same memory.

    A point is three floats in [m], ``x``, ``y`` and ``z``, and in clouds with colours a
    fourth, ``rgb``, whose bits are 0x00RRGGBB, as PCL has it. What was not seen keeps its
    place as NaN, so that the message is organised: its height and width are those of the
    sensor, and ``is_dense`` tells whether all of its points are finite.
    """

    def __init__(self) -> None:
        self._msg = PointCloud2(is_bigendian=False)
        self._floats: Points = np.empty((0, 0, 0), np.float32)
        self._bytes: Colors = np.empty((0, 0, 0), np.uint8)

    def cloud(
        self, time_ns: int, frame_id: str, xyz: Points | Array, rgb: Colors | None = None
    ) -> PointCloud2:
        """Return an organised cloud; it is valid until the next call.

        Args:
            time_ns: Simulation time of the sample, in [ns].
            frame_id: Name of the frame that the points are expressed in.
            xyz: In [m], shape (height, width, 3), row 0 first; NaN where nothing is.
            rgb: Colours, shape (height, width, 3), or None for a cloud without.
        """
        height, width = xyz.shape[:2]
        shape = (height, width, 3 if rgb is None else 4)
        if shape != self._floats.shape:
            self._resize(*shape)
        self._floats[..., :3] = xyz
        if rgb is not None:
            # Channel by channel: numpy takes twice as long on three bytes in a row.
            for channel, place in enumerate((14, 13, 12)):
                self._bytes[..., place] = rgb[..., channel]
        self._msg.is_dense = bool(np.isfinite(xyz).all())
        set_header(self._msg.header, time_ns, frame_id)
        return self._msg

    def _resize(self, height: int, width: int, floats: int) -> None:
        msg, step = self._msg, floats * _FLOAT
        msg.height, msg.width, msg.point_step, msg.row_step = height, width, step, width * step
        msg.fields = [
            PointField(name=name, offset=i * _FLOAT, datatype=PointField.FLOAT32, count=1)
            for i, name in enumerate(("x", "y", "z", "rgb")[:floats])
        ]
        msg.data = array("B", bytes(height * width * step))
        # Assigning may copy, so that only what the message holds now is its memory.
        self._floats = np.frombuffer(msg.data, "<f4").reshape(height, width, floats)
        self._bytes = np.frombuffer(msg.data, np.uint8).reshape(height, width, step)


class PointCloudConverter:
    """Converts the scans of one range sensor with layers."""

    message_type = PointCloud2

    def __init__(self, frames: Frames) -> None:
        self._frame = frames.data
        self._buffer = PointCloudBuffer()

    def convert(self, reading: RangeImageReading) -> PointCloud2:
        """Return the message of a scan; valid until the next call."""
        return self._buffer.cloud(reading.time_ns, self._frame, reading.points)


class DepthPointsConverter:
    """Converts the depths of one camera that delivers nothing else."""

    message_type = PointCloud2

    def __init__(self, frames: Frames) -> None:
        self._frame = frames.data
        self._buffer = PointCloudBuffer()

    def convert(self, reading: ImageReading) -> PointCloud2 | None:
        """Return the message of a picture, or None without depths; valid until the next call."""
        if reading.depth is None:
            return None
        return self._buffer.cloud(reading.time_ns, self._frame, reading.points())


class ColorPointsConverter(DepthPointsConverter):
    """Converts the depths of one camera, with its colours or grey values."""

    def convert(self, reading: ImageReading) -> PointCloud2 | None:
        """Return the message of a picture, or None unless it has both; valid until the next call.

        A picture lacks colours if it was drawn before anybody listened to the points.
        """
        pixels = reading.mono if reading.color is None else reading.color
        if pixels is None or reading.depth is None:
            return None
        if pixels.ndim == 2:
            pixels = np.broadcast_to(pixels[..., np.newaxis], (*pixels.shape, 3))
        return self._buffer.cloud(reading.time_ns, self._frame, reading.points(), pixels)
