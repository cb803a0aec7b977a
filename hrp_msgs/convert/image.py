"""Images to sensor_msgs/Image, depths too (REP 118), and lenses to sensor_msgs/CameraInfo."""

from __future__ import annotations

import sys
from array import array
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ..messages import CameraInfo, Image
from .basic import header, set_header, set_stamp
from .converter import Frames, Reading

AnyPixels = NDArray[np.generic]

# By the type of an array and its axes.
_ENCODINGS = {
    (np.dtype(np.uint8), 3): "rgb8",
    (np.dtype(np.uint8), 2): "mono8",
    (np.dtype(np.float32), 2): "32FC1",
}


class Lens(Protocol):
    """A lens without distortion."""

    @property
    def width(self) -> int:
        """Of the image, in pixels."""

    @property
    def height(self) -> int:
        """Of the image, in pixels."""

    @property
    def focal_length(self) -> float:
        """In pixels, the same along both sides."""


class ImageReading(Reading, Protocol):
    """One image; parts that the camera does not deliver, or that were not requested, are None."""

    @property
    def lens(self) -> Lens:
        """How the camera projects."""

    @property
    def color(self) -> NDArray[np.uint8] | None:
        """RGB, shape (height, width, 3)."""

    @property
    def mono(self) -> NDArray[np.uint8] | None:
        """Grey values, shape (height, width)."""

    @property
    def depth(self) -> NDArray[np.float32] | None:
        """Along the optical axis, in [m], shape (height, width)."""

    def points(self) -> NDArray[np.float32]:
        """Return the point of each pixel, in [m], shape (height, width, 3); needs ``depth``."""


class ImageBuffer:
    """Image message of one camera, filled in place.

    Assigning a numpy array to ``data`` checks every byte, which is a thousand times slower than
    filling the existing buffer.
    """

    def __init__(self) -> None:
        self._msg = Image(is_bigendian=sys.byteorder == "big")
        self._pixels: AnyPixels = np.empty(0)

    def image(self, time_ns: int, frame_id: str, pixels: AnyPixels) -> Image:
        """Return an Image; it is valid until the next call.

        Args:
            time_ns: Simulation time of the exposure, in [ns].
            frame_id: Name of the optical frame: x right, y down, z forward.
            pixels: Row 0 on top. RGB as uint8, shape (height, width, 3), gives "rgb8"; grey
                values as uint8, shape (height, width), give "mono8"; depths in [m] as float32,
                shape (height, width), give "32FC1".
        """
        if (pixels.shape, pixels.dtype) != (self._pixels.shape, self._pixels.dtype):
            self._resize(pixels)
        self._pixels[:] = pixels
        set_header(self._msg.header, time_ns, frame_id)
        return self._msg

    def _resize(self, like: AnyPixels) -> None:
        msg = self._msg
        msg.encoding = _ENCODINGS[like.dtype, like.ndim]
        msg.height, msg.width = like.shape[:2]
        msg.step = like[:1].nbytes
        msg.data = array("B", bytes(like.nbytes))
        # Assigning may copy, so use the buffer that the message holds now.
        self._pixels = np.frombuffer(msg.data, like.dtype).reshape(like.shape)


def camera_info(
    time_ns: int, frame_id: str, width: int, height: int, focal_length: float
) -> CameraInfo:
    """Return the CameraInfo of a lens without distortion.

    Args:
        time_ns: Simulation time of the exposure, in [ns].
        frame_id: Name of the optical frame: x right, y down, z forward.
        width: Of the image, in pixels.
        height: Of the image, in pixels.
        focal_length: In pixels, the same along both sides.
    """
    # The centre of pixel (0, 0) is at (0, 0).
    f, cx, cy = focal_length, (width - 1) / 2.0, (height - 1) / 2.0
    return CameraInfo(
        header=header(time_ns, frame_id),
        height=height,
        width=width,
        distortion_model="plumb_bob",
        d=[0.0] * 5,
        k=[f, 0.0, cx, 0.0, f, cy, 0.0, 0.0, 1.0],
        r=[1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0],
        p=[f, 0.0, cx, 0.0, 0.0, f, cy, 0.0, 0.0, 0.0, 1.0, 0.0],
    )


class ImageConverter:
    """Converts the colour image, or else the grey image, of one camera."""

    message_type = Image

    def __init__(self, frames: Frames) -> None:
        self._frame = frames.data
        self._buffer = ImageBuffer()

    def convert(self, reading: ImageReading) -> Image | None:
        """Return the message of an image, or None without colours; valid until the next call."""
        pixels = reading.mono if reading.color is None else reading.color
        return None if pixels is None else self._buffer.image(reading.time_ns, self._frame, pixels)


class DepthImageConverter:
    """Converts the depth image of one camera."""

    message_type = Image

    def __init__(self, frames: Frames) -> None:
        self._frame = frames.data
        self._buffer = ImageBuffer()

    def convert(self, reading: ImageReading) -> Image | None:
        """Return the message of an image, or None without depths; valid until the next call."""
        depth = reading.depth
        return None if depth is None else self._buffer.image(reading.time_ns, self._frame, depth)


class CameraInfoConverter:
    """Converts the lens parameters of one camera."""

    message_type = CameraInfo

    def __init__(self, frames: Frames) -> None:
        self._frame = frames.data
        self._lens: Lens | None = None
        self._msg = CameraInfo()

    def convert(self, reading: ImageReading) -> CameraInfo:
        """Return the CameraInfo of an image; valid until the next call."""
        if reading.lens is not self._lens:
            self._lens = lens = reading.lens
            self._msg = camera_info(0, self._frame, lens.width, lens.height, lens.focal_length)
        set_stamp(self._msg.header.stamp, reading.time_ns)
        return self._msg
