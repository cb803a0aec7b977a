"""Poses to TF messages, with numbers that all differ."""

import pytest

pytest.importorskip("tf2_msgs.msg", reason="ROS 2 with tf2_msgs is not installed")

from hrp_msgs.convert.tf import tf_message, transform

MSG = transform(3_000_000_007, "waist", "left/camera", [1.5, -2.5, 3.5], (0.1, 0.3, 0.5, 0.8))


def test_a_transform_says_when_and_between_which_frames():
    assert (MSG.header.stamp.sec, MSG.header.stamp.nanosec) == (3, 7)
    assert (MSG.header.frame_id, MSG.child_frame_id) == ("waist", "left/camera")


def test_a_transform_keeps_every_number_in_its_place():
    t, r = MSG.transform.translation, MSG.transform.rotation
    assert (t.x, t.y, t.z) == (1.5, -2.5, 3.5)
    assert (r.x, r.y, r.z, r.w) == (0.1, 0.3, 0.5, 0.8)


def test_a_message_carries_all_transforms_in_order():
    other = transform(0, "a", "b", [0, 0, 0], (0, 0, 0, 1))
    assert [t.child_frame_id for t in tf_message(iter([MSG, other])).transforms] == [
        "left/camera",
        "b",
    ]
