"""Images to sensor_msgs/Image, depths too (REP 118), and lenses to sensor_msgs/CameraInfo.

Compressed as the plugins of image_transport do, to sensor_msgs/CompressedImage.
"""

from __future__ import annotations

import os
import sys
from array import array
from struct import Struct

import numpy as np
from numpy.typing import NDArray
from PIL import Image as ImageFile

from ..messages import CameraInfo, CompressedImage, Header, Image
from ..readings import Depths, ImageReading, Lens
from .cdr import Template
from .converter import Frames

AnyPixels = NDArray[np.generic]

# By the type of an array and its axes.
_ENCODINGS = {
    (np.dtype(np.uint8), 3): "rgb8",
    (np.dtype(np.uint8), 2): "mono8",
    (np.dtype(np.float32), 2): "32FC1",
}
# Quality of compressed_image_transport.
_JPEG_QUALITY = 95
_PNG_LEVEL = 1  # fast; the highest one saves a tenth of the bytes and takes ten times as long
_COLOR, _MONO = "rgb8; jpeg compressed bgr8", "mono8; jpeg compressed mono8"
_DEPTH = "32FC1; compressedDepth png"
# ConfigHeader of compressed_depth_image_transport: the format (0 is inverse depth), and the
# parameters a and b: a depth is a / (number - b), and NaN where the number is 0.
_header = Struct("<iff")
_INVERSE_DEPTH = 0
_MAX_NUMBER = 65535
# Ratio of the farthest and the nearest depth of an image; those that are nearer become NaN.
_MAX_RATIO = 1e4
_length = Struct("<I")


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


class ImageConverter:
    """Converts the colour image, or else the grey image, of one camera.

    RGB gives the encoding "rgb8", grey values "mono8", depths "32FC1". The message is filled in
    place; row 0 is on top.
    """

    message_type = Image

    def __init__(self, frames: Frames) -> None:
        self._header = Header(frame_id=frames.data)
        self._pixels: AnyPixels = np.empty(0)

    def convert(self, reading: ImageReading) -> bytes | None:
        """Return the message of an image, or None if it lacks these pixels."""
        pixels = self._pixels_of(reading)
        if pixels is None:
            return None
        if (pixels.shape, pixels.dtype) != (self._pixels.shape, self._pixels.dtype):
            self._resize(pixels)
        self._pixels[:] = pixels
        return self._template.data(reading.time_ns)

    def _pixels_of(self, reading: ImageReading) -> AnyPixels | None:
        return reading.color_or_mono

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


class DepthImageConverter(ImageConverter):
    """Converts the depth image of one camera, in [m]."""

    def _pixels_of(self, reading: ImageReading) -> AnyPixels | None:
        return reading.depth


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


class CompressedBuffer:
    """Compressed images of one camera.

    Args:
        frame_id: Name of the optical frame: x right, y down, z forward.
        encoding: Description of the data, as plugins of image_transport write it.
    """

    def __init__(self, frame_id: str, encoding: str) -> None:
        self._template = Template(
            CompressedImage(header=Header(frame_id=frame_id), format=encoding, data=[])
        )

    def image(self, time_ns: int, data: bytes) -> bytes:
        """Return a CompressedImage.

        Args:
            time_ns: Simulation time of the exposure, in [ns].
            data: The image file.
        """
        # The sequence of the data is last.
        start = self._template.data(time_ns)[: -_length.size]
        return b"".join((start, _length.pack(len(data)), data))


class CompressedImageConverter:
    """Converts the colour image, or else the grey image, of one camera to JPEG."""

    message_type = CompressedImage

    def __init__(self, frames: Frames) -> None:
        self._color = CompressedBuffer(frames.data, _COLOR)
        self._mono = CompressedBuffer(frames.data, _MONO)

    def convert(self, reading: ImageReading) -> bytes | None:
        """Return the message of an image, or None without colours."""
        pixels = reading.color_or_mono
        if pixels is None:
            return None
        buffer = self._mono if reading.color is None else self._color
        return buffer.image(reading.time_ns, _file(pixels, "JPEG", quality=_JPEG_QUALITY))


class CompressedDepthConverter:
    """Converts the depth image of one camera to PNG with inverse depths of 16 bits.

    They span the depths of each image, from near to far: the error of a depth z is about
    z^2 (1/near - 1/far) / 131068 at most.
    """

    message_type = CompressedImage

    def __init__(self, frames: Frames) -> None:
        self._buffer = CompressedBuffer(frames.data, _DEPTH)

    def convert(self, reading: ImageReading) -> bytes | None:
        """Return the message of an image, or None without depths; what is not finite is NaN."""
        if reading.depth is None:
            return None
        a, b, numbers = _inverse_depths(reading.depth)
        data = _header.pack(_INVERSE_DEPTH, a, b) + _file(numbers, "PNG", compress_level=_PNG_LEVEL)
        return self._buffer.image(reading.time_ns, data)


def _inverse_depths(depth: Depths) -> tuple[float, float, NDArray[np.uint16]]:
    """Return the parameters a and b, and the number of each pixel; see ``_header``."""
    is_measured = np.isfinite(depth) & (depth > 0.0)
    far = float(np.max(depth, initial=0.0, where=is_measured))
    is_measured &= depth >= far / _MAX_RATIO
    if not is_measured.any():
        return 1.0, 0.0, np.zeros(depth.shape, np.uint16)
    near = float(np.min(depth, initial=far, where=is_measured))
    far = max(far, 2.0 * near)  # so that a and b are exact enough as float32
    a = float(np.float32((_MAX_NUMBER - 1) * near * far / (far - near)))
    b = float(np.float32(1.0 - a / far))
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        numbers = np.clip(np.rint(a / depth.astype(np.float64) + b), 1.0, _MAX_NUMBER)
    return a, b, np.where(is_measured, numbers, 0.0).astype(np.uint16)


def _file(pixels: NDArray[np.generic], kind: str, **options: int) -> bytes:
    """Return an image file.

    Pillow releases the GIL while it encodes into a file of the system, so that the simulation
    can go on.
    """
    with os.fdopen(os.memfd_create("image"), "w+b") as file:
        ImageFile.fromarray(pixels).save(file, kind, **options)
        file.seek(0)
        return file.read()
