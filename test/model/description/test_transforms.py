"""Poses of frames in the world from TF transforms, also of broken trees."""

from math import inf, nan, pi, sqrt

import numpy as np
from numpy.testing import assert_allclose

from hrp_model.description.frame_tree import poses_in_world, transforms_of
from hrp_model.frames import Frame
from hrp_model.rigid import Pose, axis_angle_matrix
from hrp_msgs.messages import (
    Header,
    Quaternion,
    TFMessage,
    Transform,
    TransformStamped,
    Vector3,
)

QUARTER = Pose(axis_angle_matrix([0.0, 0.0, 1.0], pi / 2), np.array([1.0, 0.0, 0.0]))


def stamped(parent, child, p=(0.0, 0.0, 0.0), xyzw=(0.0, 0.0, 0.0, 1.0)):
    p, q = Vector3(x=p[0], y=p[1], z=p[2]), Quaternion(x=xyzw[0], y=xyzw[1], z=xyzw[2], w=xyzw[3])
    return TransformStamped(
        header=Header(frame_id=parent),
        child_frame_id=child,
        transform=Transform(translation=p, rotation=q),
    )


def transforms(*items):
    return list(transforms_of(TFMessage(transforms=list(items))))


def test_poses_are_composed_along_the_tree():
    poses = poses_in_world([Frame("hand", "arm", QUARTER), Frame("arm", "world", QUARTER)])
    assert_allclose(poses["hand"].p, [1.0, 1.0, 0.0], atol=1e-15)
    assert_allclose(poses["hand"].R, axis_angle_matrix([0.0, 0.0, 1.0], pi), atol=1e-15)
    assert_allclose(poses["world"].matrix(), np.eye(4))


def test_trees_without_a_connection_share_their_origin():
    poses = poses_in_world([Frame("a", "map", QUARTER), Frame("b", "odom", QUARTER)])
    assert_allclose(poses["a"].matrix(), poses["b"].matrix())


def test_a_cycle_is_cut_and_frames_outside_of_it_keep_their_relation():
    cycle = [Frame("a", "b", QUARTER), Frame("b", "a", QUARTER), Frame("c", "c", QUARTER)]
    poses = poses_in_world([*cycle, Frame("tool", "a", QUARTER)])
    assert poses.keys() == {"a", "b", "c", "tool"}
    relative = poses["a"].inverse() @ poses["tool"]
    assert_allclose(relative.matrix(), QUARTER.matrix(), atol=1e-15)


def test_a_chain_may_be_longer_than_the_call_stack():
    frames = [Frame(str(i), str(i - 1), Pose(p=np.array([1.0, 0.0, 0.0]))) for i in range(1, 5000)]
    assert poses_in_world(frames[::-1])["4999"].p[0] == 4999.0


def test_transforms_that_are_not_finite_or_lack_a_name_are_left_out():
    bad = [
        stamped("world", "a", (nan, 0.0, 0.0)),
        stamped("world", "a", (0.0, inf, 0.0)),
        stamped("world", "a", xyzw=(nan, 0.0, 0.0, 1.0)),
        stamped("", "a"),
        stamped("world", ""),
    ]
    assert transforms(*bad) == []


def test_leading_slashes_of_tf_are_dropped():
    (found,) = transforms(stamped("/world", "/a"))
    assert (found.parent, found.frame) == ("world", "a")


def test_quaternions_of_any_length_are_rotations():
    (found,) = transforms(stamped("world", "a", (1.0, 2.0, 3.0), (0.0, 0.0, 2.0, 2.0)))
    frame = found.to_frame()
    expected = axis_angle_matrix([0.0, 0.0, 1.0], 2.0 * np.arctan2(1 / sqrt(2), 1 / sqrt(2)))
    assert_allclose(frame.pose.R, expected, atol=1e-15)
    assert_allclose(frame.pose.p, [1.0, 2.0, 3.0])
