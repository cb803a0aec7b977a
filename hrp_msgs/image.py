"""Pixels to sensor_msgs/Image, and lenses to sensor_msgs/CameraInfo (REP 118)."""

from __future__ import annotations

from array import array
from math import tan

import numpy as np
from numpy.typing import NDArray
from sensor_msgs.msg import CameraInfo, Image

from .basic import header

Pixels = NDArray[np.uint8]


class ImageBuffer:
    """Makes the Image messages of one camera, all in the same memory.

    Assigning numpy to ``data`` checks every byte, a thousand times slower than filling
    the buffer that the message already has.
    """

    def __init__(self) -> None:
        self._msg = Image(encoding="rgb8", is_bigendian=0)
        self._pixels: Pixels = np.empty((0, 0, 3), np.uint8)

    def image(self, time_ns: int, frame_id: str, pixels: Pixels) -> Image:
        """Return an rgb8 Image; it is valid until the next call.

        Args:
            time_ns: Simulation time of the exposure, in [ns].
            frame_id: Name of the optical frame: x right, y down, z forward.
            pixels: RGB, shape (height, width, 3), row 0 on top.
        """
        if pixels.shape != self._pixels.shape:
            self._resize(pixels.shape)
        self._pixels[:] = pixels
        self._msg.header = header(time_ns, frame_id)
        return self._msg

    def _resize(self, shape: tuple[int, ...]) -> None:
        height, width, channels = shape
        self._msg.height, self._msg.width, self._msg.step = height, width, width * channels
        self._msg.data = array("B", bytes(height * width * channels))
        # Assigning may copy, so that only what the message holds now is its memory.
        self._pixels = np.frombuffer(self._msg.data, np.uint8).reshape(shape)


def camera_info(
    time_ns: int, frame_id: str, width: int, height: int, field_of_view: float
) -> CameraInfo:
    """Return the CameraInfo of a lens without distortion.

    Args:
        time_ns: Simulation time of the exposure, in [ns].
        frame_id: Name of the optical frame: x right, y down, z forward.
        width: Of the image, in pixels.
        height: Of the image, in pixels.
        field_of_view: Full angle across the shorter side, in [rad].
    """
    focal = min(width, height) / 2.0 / tan(field_of_view / 2.0)
    # The centre of pixel (0, 0) is at (0, 0).
    cx, cy = (width - 1) / 2.0, (height - 1) / 2.0
    return CameraInfo(
        header=header(time_ns, frame_id),
        height=height,
        width=width,
        distortion_model="plumb_bob",
        d=[0.0] * 5,
        k=[focal, 0.0, cx, 0.0, focal, cy, 0.0, 0.0, 1.0],
        r=[1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0],
        p=[focal, 0.0, cx, 0.0, 0.0, focal, cy, 0.0, 0.0, 0.0, 1.0, 0.0],
    )
