"""Points to organised sensor_msgs/PointCloud2, with the rows and columns of the sensor."""

from __future__ import annotations

from array import array

import numpy as np

from ..messages import Header, PointCloud2, PointField
from ..readings import Array, Depths, ImageReading, Pixels, RangeImageReading
from .cdr import Template
from .converter import Frames

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
        self._set_dense(bool(np.isfinite(xyz).all()))
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
        self._set_dense = self._template.setter("is_dense")


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
