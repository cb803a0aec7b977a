"""Numbers to the parts of messages, with numbers that all differ."""

import numpy as np
import pytest

pytest.importorskip("geometry_msgs.msg", reason="ROS 2 is not installed")

from geometry_msgs.msg import Point, Quaternion, Vector3
from std_msgs.msg import Header

from hrp_msgs.convert.basic import header, set_header, set_quaternion, set_xyz, stamp


@pytest.mark.parametrize(
    ("time_ns", "sec", "nanosec"),
    [
        (0, 0, 0),
        (1, 0, 1),
        (999_999_999, 0, 999_999_999),
        (1_000_000_000, 1, 0),
        (1_234_567_890_123_456_789, 1_234_567_890, 123_456_789),
    ],
)
def test_a_stamp_keeps_every_nanosecond(time_ns, sec, nanosec):
    assert (stamp(time_ns).sec, stamp(time_ns).nanosec) == (sec, nanosec)


def filled_header(time_ns, frame_id):
    made = header(5, "other")
    set_header(made, time_ns, frame_id)
    return made


@pytest.mark.parametrize("make", [header, filled_header])
def test_a_header_says_when_and_in_which_frame(make):
    made = make(2_000_000_003, "left/imu")
    assert isinstance(made, Header)
    assert (made.stamp.sec, made.stamp.nanosec, made.frame_id) == (2, 3, "left/imu")


@pytest.mark.parametrize(
    "sequence", [list, tuple, np.array, lambda v: np.array(v, dtype=np.float32)]
)
@pytest.mark.parametrize("kind", [Vector3, Point])
def test_three_numbers_keep_their_places(kind, sequence):
    made = kind(x=9.0, y=9.0, z=9.0)
    set_xyz(made, sequence([1.5, -2.0, 3]))
    assert (made.x, made.y, made.z) == (1.5, -2.0, 3.0)


def test_a_quaternion_has_its_real_part_last():
    made = Quaternion()
    set_quaternion(made, (0.1, 0.3, 0.5, 0.8))
    assert (made.x, made.y, made.z, made.w) == (0.1, 0.3, 0.5, 0.8)
