"""Poses to TF messages, with numbers that all differ."""

import numpy as np
import pytest
from message_bytes import read

pytest.importorskip("tf2_msgs.msg", reason="ROS 2 with tf2_msgs is not installed")

from hrp_msgs.convert.tf import MovingFrames, tf_message, transform
from hrp_msgs.messages import TFMessage

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


def frames(count, prefix="", first=0.0):
    """Poses of frames whose names have different lengths."""
    return [
        (
            f"{prefix}{'p' * k}",
            f"{prefix}link_{'c' * (count - k)}",
            (first, k, 2.0),
            (0, 0.6, 0, 0.8),
        )
        for k in range(count)
    ]


def split(poses):
    """Return names and numbers of frames."""
    rows = [[*p, *xyzw] for _, _, p, xyzw in poses]
    return tuple(pose[:2] for pose in poses), np.reshape(rows, (-1, 7))


def expected(time_ns, poses):
    return tf_message(transform(time_ns, *pose) for pose in poses)


def test_moving_frames_keep_every_number_in_its_place():
    moving = MovingFrames()
    # The same frames again, others, none, and the first ones in another order.
    sets = frames(9), frames(9, first=1.0), frames(4, "left/"), [], frames(9)[::-1], frames(9)
    for time_ns, poses in enumerate(sets, 3_000_000_007):
        message = read(moving.message(time_ns, *split(poses)), TFMessage)
        assert message == expected(time_ns, poses)


def test_any_number_of_sets_of_frames_may_move():
    moving = MovingFrames()
    for number in [*range(100), *range(100)]:
        poses = frames(2, f"robot_{number}/")
        assert read(moving.message(number, *split(poses)), TFMessage) == expected(number, poses)
