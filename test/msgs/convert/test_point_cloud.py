"""Point clouds, read back by what the message says of itself."""

import numpy as np
import pytest
from message_bytes import read

pytest.importorskip("sensor_msgs.msg", reason="the ROS 2 messages are not installed")

from sensor_msgs.msg import PointField

from hrp_msgs.convert.sensors import PointCloudBuffer
from hrp_msgs.messages import PointCloud2

TIME_NS = 12_000_000_345
XYZ = np.arange(2 * 5 * 3, dtype=np.float32).reshape(2, 5, 3) / 8.0
RGB = np.arange(100, 100 + 2 * 5 * 3, dtype=np.uint8).reshape(2, 5, 3)


def cloud(time_ns, frame_id, *points, buffer=None):
    buffer = buffer or PointCloudBuffer(frame_id)
    return read(buffer.cloud(time_ns, *points), PointCloud2)


def parsed(msg):
    """Return the points of a message as a structured array, from its own description."""
    assert all(field.datatype == PointField.FLOAT32 for field in msg.fields)
    fields = {
        "names": [field.name for field in msg.fields],
        "formats": [("<f4", field.count) if field.count != 1 else "<f4" for field in msg.fields],
        "offsets": [field.offset for field in msg.fields],
        "itemsize": msg.point_step,
    }
    assert len(msg.data) == msg.height * msg.row_step
    rows = np.frombuffer(msg.data, np.uint8).reshape(msg.height, msg.row_step)
    points = np.ascontiguousarray(rows[:, : msg.width * msg.point_step])
    return points.view(np.dtype(fields)).reshape(msg.height, msg.width)


def xyz_of(points):
    return np.stack([points["x"], points["y"], points["z"]], axis=2)


def colors_of(points):
    packed = np.ascontiguousarray(points["rgb"]).view(np.uint32)
    assert not (packed >> 24).any()
    return np.stack([packed >> 16, packed >> 8 & 255, packed & 255], axis=2)


def test_a_cloud_says_itself_how_it_is_read():
    msg = cloud(TIME_NS, "lidar_frame", XYZ)
    assert (msg.header.stamp.sec, msg.header.stamp.nanosec) == (12, 345)
    assert msg.header.frame_id == "lidar_frame"
    assert (msg.height, msg.width) == (2, 5)
    assert [field.name for field in msg.fields] == ["x", "y", "z"]
    assert not msg.is_bigendian
    assert np.array_equal(xyz_of(parsed(msg)), XYZ)


def test_colors_are_packed_red_first_into_the_bits_of_a_float():
    msg = cloud(TIME_NS, "eye_optical_frame", XYZ, RGB)
    assert [field.name for field in msg.fields] == ["x", "y", "z", "rgb"]
    points = parsed(msg)
    assert np.array_equal(xyz_of(points), XYZ)
    assert np.array_equal(colors_of(points), RGB)


@pytest.mark.parametrize("hole", [np.nan, np.inf, -np.inf])
def test_a_cloud_with_holes_is_not_dense(hole):
    buffer = PointCloudBuffer("frame")
    assert cloud(1, "frame", XYZ, buffer=buffer).is_dense
    holed = XYZ.copy()
    holed[1, 2] = hole
    msg = cloud(2, "frame", holed, buffer=buffer)
    assert not msg.is_dense
    assert np.array_equal(xyz_of(parsed(msg)), holed, equal_nan=True)
    assert cloud(3, "frame", XYZ, buffer=buffer).is_dense


def test_the_next_cloud_leaves_the_bytes_of_the_last_one_alone():
    buffer = PointCloudBuffer("eye")
    first = buffer.cloud(1, XYZ, RGB)
    msg = read(buffer.cloud(2_000_000_003, XYZ + 1, RGB + 1), PointCloud2)
    assert np.array_equal(xyz_of(parsed(msg)), XYZ + 1)
    assert np.array_equal(colors_of(parsed(msg)), RGB + 1)
    assert (msg.header.stamp.sec, msg.header.stamp.nanosec) == (2, 3)
    msg = read(first, PointCloud2)
    assert np.array_equal(xyz_of(parsed(msg)), XYZ)
    assert np.array_equal(colors_of(parsed(msg)), RGB)


def test_a_cloud_of_another_shape_has_its_own_memory():
    buffer = PointCloudBuffer("frame")
    cloud(1, "frame", XYZ, RGB, buffer=buffer)
    msg = cloud(2, "frame", XYZ[:, 1:4], buffer=buffer)
    assert (msg.height, msg.width, [field.name for field in msg.fields]) == (2, 3, ["x", "y", "z"])
    assert np.array_equal(xyz_of(parsed(msg)), XYZ[:, 1:4])


def test_rows_that_are_no_neighbours_in_memory_are_as_good():
    msg = cloud(1, "eye", XYZ[::-1, ::-1], RGB[::-1, ::-1])
    assert np.array_equal(xyz_of(parsed(msg)), XYZ[::-1, ::-1])
    assert np.array_equal(colors_of(parsed(msg)), RGB[::-1, ::-1])


def test_an_empty_cloud_is_no_surprise():
    msg = cloud(1, "eye", np.empty((0, 0, 3), np.float32))
    assert (msg.width, msg.height, msg.row_step, len(msg.data)) == (0, 0, 0, 0)


def test_the_octomap_updater_of_moveit_reads_a_cloud():
    """It takes three floats from "x" on, a step for each point, also from row to row."""
    msg = cloud(TIME_NS, "eye_optical_frame", XYZ, RGB)
    (start,) = (field.offset for field in msg.fields if field.name == "x")
    data = bytes(msg.data)
    points = [
        np.frombuffer(data, "<f4", 3, start + number * msg.point_step)
        for number in range(msg.height * msg.width)
    ]
    assert np.array_equal(points, XYZ.reshape(-1, 3))
