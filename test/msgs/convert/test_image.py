"""Images and lenses: the order of bytes, reused memory, the camera matrix."""

import sys

import numpy as np
import pytest
from message_bytes import converted, read

pytest.importorskip("sensor_msgs.msg", reason="the ROS 2 messages are not installed")

from types import SimpleNamespace

from hrp_msgs.convert.converter import Frames
from hrp_msgs.convert.image import CameraInfoConverter, DepthImageConverter, ImageConverter
from hrp_msgs.messages import Image
from hrp_msgs.readings import ImageReading

TIME_NS = 12_000_000_345
PIXELS = np.arange(2 * 5 * 3, dtype=np.uint8).reshape(2, 5, 3)


def image(time_ns, frame_id, pixels, converter=None):
    """Return the message of pixels, of depths if they are numbers in [m]."""
    part = "depth" if pixels.dtype == np.float32 else "color" if pixels.ndim == 3 else "mono"
    kind = DepthImageConverter if part == "depth" else ImageConverter
    reading = ImageReading(time_ns, "robot", None, **{part: pixels})
    return converted(converter or kind(Frames(frame_id)), reading)


def test_image_has_rows_from_the_top_of_pixels_from_the_left_of_red_green_blue():
    msg = image(TIME_NS, "eye_optical_frame", PIXELS)
    assert (msg.header.stamp.sec, msg.header.stamp.nanosec) == (12, 345)
    assert msg.header.frame_id == "eye_optical_frame"
    assert (msg.width, msg.height, msg.step) == (5, 2, 15)
    assert (msg.encoding, msg.is_bigendian) == ("rgb8", 0)
    assert msg.data.tobytes() == bytes(range(30))


def test_the_next_image_leaves_the_bytes_of_the_last_one_alone():
    converter = ImageConverter(Frames("eye"))
    first = converter.convert(ImageReading(1, "robot", None, PIXELS))
    msg = image(2_000_000_003, "eye", PIXELS + 7, converter)
    assert msg.data.tobytes() == bytes(range(7, 37))
    assert (msg.header.stamp.sec, msg.header.stamp.nanosec) == (2, 3)
    assert read(first, Image).data.tobytes() == bytes(range(30))


def test_an_image_of_another_size_has_its_own_memory():
    converter = ImageConverter(Frames("eye"))
    image(1, "eye", PIXELS, converter)
    msg = image(2, "eye", PIXELS[:, 1:3], converter)
    assert (msg.width, msg.height, msg.step) == (2, 2, 6)
    assert msg.data.tolist() == [*range(3, 9), *range(18, 24)]


def test_an_empty_image_is_no_surprise():
    msg = image(1, "eye", np.empty((0, 0, 3), np.uint8))
    assert (msg.width, msg.height, msg.step, len(msg.data)) == (0, 0, 0, 0)


def test_grey_values_are_mono8():
    msg = image(TIME_NS, "eye", PIXELS[..., 0])
    assert (msg.encoding, msg.width, msg.height, msg.step) == ("mono8", 5, 2, 5)
    assert msg.data.tobytes() == bytes(range(0, 30, 3))


def test_depths_are_32fc1_with_all_their_bits():
    depths = np.array([[0.1, np.inf, -np.inf], [np.nan, 3.3, 1e-9]], np.float32)
    converter = DepthImageConverter(Frames("eye"))
    msg = image(TIME_NS, "eye", depths, converter)
    assert (msg.encoding, msg.width, msg.height, msg.step) == ("32FC1", 3, 2, 12)
    assert msg.is_bigendian == (sys.byteorder == "big")
    assert msg.data.tobytes() == depths.tobytes()
    msg = image(TIME_NS, "eye", depths + 1, converter)
    assert msg.data.tobytes() == (depths + 1).tobytes()


def test_the_encoding_follows_the_pixels():
    converter, shown = ImageConverter(Frames("eye")), (PIXELS, PIXELS[..., 0], PIXELS)
    encodings = [image(TIME_NS, "eye", pixels, converter).encoding for pixels in shown]
    assert encodings == ["rgb8", "mono8", "rgb8"]


def info_of(**lens):
    """Return the CameraInfo of a lens."""
    converter = CameraInfoConverter(Frames("eye_optical_frame"))
    return converted(converter, ImageReading(TIME_NS, "robot", SimpleNamespace(**lens)))


def test_camera_info_has_the_intrinsics_the_distortion_and_the_projection_of_the_lens():
    msg = info_of(
        width=640, height=480, intrinsics=(500.0, 510.0, 300.5, 250.5),
        rectified=(400.0, 410.0, 310.5, 230.5, -40.0, 2.0),
        distortion_model="plumb_bob", distortion=(0.1, 0.2, 0.3, 0.4, 0.5),
    )  # fmt: skip
    assert (msg.header.stamp.sec, msg.header.stamp.nanosec) == (12, 345)
    assert msg.header.frame_id == "eye_optical_frame"
    assert (msg.width, msg.height) == (640, 480)
    assert msg.k.tolist() == [500, 0, 300.5, 0, 510, 250.5, 0, 0, 1]
    assert msg.p.tolist() == [400, 0, 310.5, -40, 0, 410, 230.5, 2, 0, 0, 1, 0]
    assert msg.r.tolist() == [1, 0, 0, 0, 1, 0, 0, 0, 1]
    assert msg.distortion_model == "plumb_bob"
    assert list(msg.d) == [0.1, 0.2, 0.3, 0.4, 0.5]
    assert (msg.binning_x, msg.binning_y) == (0, 0)
    assert (msg.roi.x_offset, msg.roi.y_offset, msg.roi.width, msg.roi.height) == (0, 0, 0, 0)
    assert msg.roi.do_rectify is False


def test_a_lens_that_no_model_describes_has_the_camera_info_of_an_uncalibrated_camera():
    msg = info_of(width=6, height=3, distortion_model="", distortion=())
    assert (msg.width, msg.height, msg.distortion_model, list(msg.d)) == (6, 3, "", [])
    assert not msg.k.any()
    assert not msg.p.any()
