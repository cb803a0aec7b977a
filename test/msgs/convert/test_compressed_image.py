"""Compressed images, as the subscribers of image_transport decode them."""

import io
import struct

import numpy as np
import pytest
from message_bytes import converted
from PIL import Image

from hrp_msgs.convert.converter import Frames
from hrp_msgs.convert.image import CompressedDepthConverter, CompressedImageConverter
from hrp_msgs.readings import ImageReading

TIME_NS = 12_000_000_345
FRAMES = Frames("eye_optical_frame")
Y, X = np.mgrid[0:48, 0:64].astype(np.float32)


def reading(color=None, mono=None, depth=None):
    return ImageReading(TIME_NS, "robot", None, color, mono, depth)


def header_of(message):
    stamp = message.header.stamp
    return stamp.sec, stamp.nanosec, message.header.frame_id


def test_colours_are_a_jpeg_image():
    color = np.stack([4 * X, 5 * Y, 255 - 4 * X], axis=2).astype(np.uint8)
    converter = CompressedImageConverter(FRAMES)
    message = converted(converter, reading(color))
    assert header_of(message) == (12, 345, "eye_optical_frame")
    # The encoding of the raw image, then that in which OpenCV decodes the file.
    assert message.format == "rgb8; jpeg compressed bgr8"
    decoded = Image.open(io.BytesIO(bytes(message.data)))
    assert (decoded.format, decoded.mode) == ("JPEG", "RGB")
    assert np.abs(np.asarray(decoded).astype(int) - color).mean() < 3.0
    assert len(message.data) < color.size
    red = np.zeros_like(color)
    red[..., 0] = 255
    again = converted(converter, reading(red))  # of another length
    decoded = np.asarray(Image.open(io.BytesIO(bytes(again.data)))).astype(int)
    assert np.abs(decoded - red).max() < 3


def test_grey_values_are_a_grey_jpeg_image():
    mono = (4 * X).astype(np.uint8)
    message = converted(CompressedImageConverter(FRAMES), reading(mono=mono))
    assert message.format == "mono8; jpeg compressed mono8"
    decoded = Image.open(io.BytesIO(bytes(message.data)))
    assert decoded.mode == "L"
    assert np.abs(np.asarray(decoded).astype(int) - mono).max() < 8


def decoded_depth(depth):
    """Return what compressed_depth_image_transport makes of a depth image."""
    message = converted(CompressedDepthConverter(FRAMES), reading(depth=depth))
    assert header_of(message) == (12, 345, "eye_optical_frame")
    assert message.format == "32FC1; compressedDepth png"
    data = bytes(message.data)
    kind, a, b = struct.unpack("<iff", data[:12])
    assert kind == 0  # inverse depth
    image = Image.open(io.BytesIO(data[12:]))
    assert image.format == "PNG"
    numbers = np.asarray(image)
    assert image.mode == "I;16"
    with np.errstate(divide="ignore"):
        depths = np.float32(a) / (numbers.astype(np.float32) - np.float32(b))
    return np.where(numbers > 0, depths, np.float32(np.nan))


@pytest.mark.parametrize(("near", "far"), [(0.3, 5.0), (0.04, 200.0), (2.0, 2.001), (1e-3, 0.5)])
def test_depths_come_back_as_exact_as_16_bits_of_inverse_depth(near, far):
    depth = np.geomspace(near, far, X.size, dtype=np.float32).reshape(X.shape)
    found = decoded_depth(depth)
    step = (1.0 / near - 1.0 / max(far, 2.0 * near)) / 65534
    # The inverses differ by half a step at most: z - z' = z z' (1/z' - 1/z).
    assert np.all(np.abs(found - depth) <= 0.5 * step * depth * found + 1e-6 * depth)


def test_what_was_not_measured_is_nan():
    depth = 1.0 + X / 64
    depth[0, :4] = [np.inf, -np.inf, np.nan, 1e-6]  # the last one as noise may make it
    found = decoded_depth(depth)
    assert np.isnan(found[0, :4]).all()
    assert np.isfinite(found[1:]).all()
    np.testing.assert_allclose(found[1:], depth[1:], rtol=1e-4)


@pytest.mark.parametrize("value", [np.inf, np.nan, 0.0, -1.0])
def test_an_image_without_depths_is_all_nan(value):
    assert np.isnan(decoded_depth(np.full((3, 4), value, np.float32))).all()


def test_a_wall_has_one_depth():
    np.testing.assert_allclose(decoded_depth(np.full((3, 4), 2.5, np.float32)), 2.5, rtol=1e-6)


def test_parts_that_were_not_rendered_have_no_message():
    assert CompressedImageConverter(FRAMES).convert(reading(depth=X)) is None
    assert CompressedDepthConverter(FRAMES).convert(reading(mono=X)) is None
