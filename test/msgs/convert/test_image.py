"""Images and lenses: the order of bytes, reused memory, the camera matrix."""

import sys
from array import array

import numpy as np
import pytest

pytest.importorskip("sensor_msgs.msg", reason="the ROS 2 messages are not installed")

from hrp_msgs.convert.image import ImageBuffer, camera_info

TIME_NS = 12_000_000_345
PIXELS = np.arange(2 * 5 * 3, dtype=np.uint8).reshape(2, 5, 3)


def test_image_has_rows_from_the_top_of_pixels_from_the_left_of_red_green_blue():
    msg = ImageBuffer().image(TIME_NS, "eye_optical_frame", PIXELS)
    assert (msg.header.stamp.sec, msg.header.stamp.nanosec) == (12, 345)
    assert msg.header.frame_id == "eye_optical_frame"
    assert (msg.width, msg.height, msg.step) == (5, 2, 15)
    assert (msg.encoding, msg.is_bigendian) == ("rgb8", 0)
    assert isinstance(msg.data, array)
    assert msg.data.tobytes() == bytes(range(30))


def test_the_next_image_is_written_into_the_same_memory():
    buffer = ImageBuffer()
    memory = buffer.image(1, "eye", PIXELS).data
    msg = buffer.image(2_000_000_003, "eye", PIXELS + 7)
    assert msg.data is memory
    assert memory.tobytes() == bytes(range(7, 37))
    assert (msg.header.stamp.sec, msg.header.stamp.nanosec) == (2, 3)


def test_an_image_of_another_size_has_its_own_memory():
    buffer = ImageBuffer()
    buffer.image(1, "eye", PIXELS)
    msg = buffer.image(2, "eye", PIXELS[:, 1:3])
    assert (msg.width, msg.height, msg.step) == (2, 2, 6)
    assert msg.data.tolist() == [*range(3, 9), *range(18, 24)]


def test_an_empty_image_is_no_surprise():
    msg = ImageBuffer().image(1, "eye", np.empty((0, 0, 3), np.uint8))
    assert (msg.width, msg.height, msg.step, len(msg.data)) == (0, 0, 0, 0)


def test_grey_values_are_mono8():
    msg = ImageBuffer().image(TIME_NS, "eye", PIXELS[..., 0])
    assert (msg.encoding, msg.width, msg.height, msg.step) == ("mono8", 5, 2, 5)
    assert msg.data.tobytes() == bytes(range(0, 30, 3))


def test_depths_are_32fc1_with_all_their_bits():
    depths = np.array([[0.1, np.inf, -np.inf], [np.nan, 3.3, 1e-9]], np.float32)
    buffer = ImageBuffer()
    msg = buffer.image(TIME_NS, "eye", depths)
    assert (msg.encoding, msg.width, msg.height, msg.step) == ("32FC1", 3, 2, 12)
    assert msg.is_bigendian == (sys.byteorder == "big")
    assert isinstance(msg.data, array)
    assert msg.data.tobytes() == depths.tobytes()
    memory = msg.data
    assert buffer.image(TIME_NS, "eye", depths + 1).data is memory
    assert memory.tobytes() == (depths + 1).tobytes()


def test_a_buffer_takes_on_what_it_is_given():
    buffer = ImageBuffer()
    encodings = [
        buffer.image(TIME_NS, "eye", pixels).encoding
        for pixels in (PIXELS, PIXELS[..., 0], np.zeros((2, 5), np.float32), PIXELS)
    ]
    assert encodings == ["rgb8", "mono8", "32FC1", "rgb8"]


def test_buffers_are_apart():
    one, two = ImageBuffer(), ImageBuffer()
    first = one.image(1, "eye", PIXELS)
    two.image(1, "eye", PIXELS + 1)
    assert first.data.tobytes() == bytes(range(30))


@pytest.mark.parametrize(("width", "height"), [(640, 480), (480, 640)])
def test_camera_info_is_that_of_a_pinhole_over_the_middle_of_the_image(width, height):
    msg = camera_info(TIME_NS, "eye_optical_frame", width, height, 240.25)
    assert (msg.header.stamp.sec, msg.header.stamp.nanosec) == (12, 345)
    assert msg.header.frame_id == "eye_optical_frame"
    assert (msg.width, msg.height) == (width, height)
    focal, cx, cy = 240.25, (width - 1) / 2, (height - 1) / 2
    assert msg.k.tolist() == [focal, 0, cx, 0, focal, cy, 0, 0, 1]
    assert msg.p.tolist() == [focal, 0, cx, 0, 0, focal, cy, 0, 0, 0, 1, 0]
    assert msg.r.tolist() == [1, 0, 0, 0, 1, 0, 0, 0, 1]
    assert msg.distortion_model == "plumb_bob"
    assert list(msg.d) == [0.0] * 5
    assert (msg.binning_x, msg.binning_y) == (0, 0)
    assert (msg.roi.x_offset, msg.roi.y_offset, msg.roi.width, msg.roi.height) == (0, 0, 0, 0)
    assert msg.roi.do_rectify is False
