"""Images to sensor_msgs/Image, depths too (REP 118), and lenses to sensor_msgs/CameraInfo."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ..messages import CameraInfo, Header, Image
from .cdr import Template
from .converter import Frames, Reading

AnyPixels = NDArray[np.generic]

# By the type of an array and its axes.
_ENCODINGS = {
    (np.dtype(np.uint8), 3): "rgb8",
    (np.dtype(np.uint8), 2): "mono8",
    (np.dtype(np.float32), 2): "32FC1",
}


class Lens(Protocol):
    """The lens of a camera."""

    @property
    def width(self) -> int:
        """Of the image, in pixels."""

    @property
    def height(self) -> int:
        """Of the image, in pixels."""

    @property
    def intrinsics(self) -> tuple[float, float, float, float]:
        """fx, fy, cx, cy, in pixels; the centre of the first pixel is (0, 0)."""

    @property
    def rectified(self) -> tuple[float, float, float, float, float, float]:
        """fx, fy, cx, cy of the rectified image, and Tx, Ty, in pixels."""

    @property
    def distortion_model(self) -> str:
        """Name of the model; empty for a lens that none describes."""

    @property
    def distortion(self) -> Sequence[float]:
        """The coefficients of the model."""


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

    Args:
        frame_id: Name of the optical frame: x right, y down, z forward.
    """

    def __init__(self, frame_id: str) -> None:
        self._header = Header(frame_id=frame_id)
        self._pixels: AnyPixels = np.empty(0)

    def image(self, time_ns: int, pixels: AnyPixels) -> bytes:
        """Return an Image.

        Args:
            time_ns: Simulation time of the exposure, in [ns].
            pixels: Row 0 on top. RGB as uint8, shape (height, width, 3), gives "rgb8"; grey
                values as uint8, shape (height, width), give "mono8"; depths in [m] as float32,
                shape (height, width), give "32FC1".
        """
        if (pixels.shape, pixels.dtype) != (self._pixels.shape, self._pixels.dtype):
            self._resize(pixels)
        self._pixels[:] = pixels
        return self._template.data(time_ns)

    def _resize(self, like: AnyPixels) -> None:
        message = Image(
            header=self._header,
            height=like.shape[0],
            width=like.shape[1],
            encoding=_ENCODINGS[like.dtype, like.ndim],
            is_bigendian=sys.byteorder == "big",
            step=like[:1].nbytes,
            data=array("B", bytes(like.nbytes)),  # not checked byte by byte
        )
        self._template = Template(message)
        self._pixels = self._template.view("data").view(like.dtype).reshape(like.shape)


def camera_info(frame_id: str, lens: Lens) -> CameraInfo:
    """Return the CameraInfo of a lens, without a stamp.

    Its matrices are zero if no model describes the lens.

    Args:
        frame_id: Name of the optical frame: x right, y down, z forward.
        lens: The lens.
    """
    info = CameraInfo(header=Header(frame_id=frame_id), height=lens.height, width=lens.width)
    if lens.distortion_model:
        fx, fy, cx, cy = lens.intrinsics
        info.distortion_model, info.d = lens.distortion_model, list(lens.distortion)
        info.k = [fx, 0.0, cx, 0.0, fy, cy, 0.0, 0.0, 1.0]
        info.r = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]
        fx, fy, cx, cy, x, y = lens.rectified
        info.p = [fx, 0.0, cx, x, 0.0, fy, cy, y, 0.0, 0.0, 1.0, 0.0]
    return info


def color_or_mono(reading: ImageReading) -> NDArray[np.uint8] | None:
    """Return the colour image, or else the grey image."""
    return reading.mono if reading.color is None else reading.color


class ImageConverter:
    """Converts the colour image, or else the grey image, of one camera."""

    message_type = Image

    def __init__(self, frames: Frames) -> None:
        self._buffer = ImageBuffer(frames.data)

    def convert(self, reading: ImageReading) -> bytes | None:
        """Return the message of an image, or None without colours."""
        pixels = color_or_mono(reading)
        return None if pixels is None else self._buffer.image(reading.time_ns, pixels)


class DepthImageConverter:
    """Converts the depth image of one camera."""

    message_type = Image

    def __init__(self, frames: Frames) -> None:
        self._buffer = ImageBuffer(frames.data)

    def convert(self, reading: ImageReading) -> bytes | None:
        """Return the message of an image, or None without depths."""
        depth = reading.depth
        return None if depth is None else self._buffer.image(reading.time_ns, depth)


class CameraInfoConverter:
    """Converts the lens parameters of one camera."""

    message_type = CameraInfo

    def __init__(self, frames: Frames) -> None:
        self._frame = frames.data
        self._lens: Lens | None = None

    def convert(self, reading: ImageReading) -> bytes:
        """Return the CameraInfo of an image."""
        if reading.lens is not self._lens:
            self._lens = lens = reading.lens
            self._template = Template(camera_info(self._frame, lens))
        return self._template.data(reading.time_ns)
