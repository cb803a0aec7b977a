"""Numbers to the parts of messages, with numbers that all differ."""

import numpy as np
import pytest

pytest.importorskip("geometry_msgs.msg", reason="ROS 2 is not installed")

from hrp_msgs.basic import header, point, quaternion, stamp, vector3


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


def test_a_header_says_when_and_in_which_frame():
    made = header(2_000_000_003, "left/imu")
    assert (made.stamp.sec, made.stamp.nanosec, made.frame_id) == (2, 3, "left/imu")


@pytest.mark.parametrize(
    "sequence", [list, tuple, np.array, lambda v: np.array(v, dtype=np.float32)]
)
@pytest.mark.parametrize("make", [vector3, point])
def test_three_numbers_keep_their_places(make, sequence):
    made = make(sequence([1.5, -2.0, 3]))
    assert (made.x, made.y, made.z) == (1.5, -2.0, 3.0)


@pytest.mark.parametrize("make", [vector3, point])
def test_a_vector_has_three_numbers(make):
    with pytest.raises(ValueError, match="unpack"):
        make([1.0, 2.0])


def test_a_quaternion_has_its_real_part_last():
    made = quaternion((0.1, 0.3, 0.5, 0.8))
    assert (made.x, made.y, made.z, made.w) == (0.1, 0.3, 0.5, 0.8)
