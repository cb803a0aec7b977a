"""What of a body becomes TF, and when."""

import math
from dataclasses import replace
from math import inf, nan, pi, sqrt

import numpy as np
import pytest
from numpy.testing import assert_allclose
from urdf_tools import body_poses, random_body, random_pose, wheel

from hrp_model.body import JointType
from hrp_model.description.frame_tree import (
    frame_in_world,
    frame_tree,
    poses_in_world,
    transforms_of,
)
from hrp_model.description.publisher import StampThrottle, usable_positions
from hrp_model.frames import Base, Frame, FrameOptions, body_frames
from hrp_model.rigid import Pose, axis_angle_matrix, quaternion_matrix
from hrp_msgs.messages import (
    Header,
    Quaternion,
    TFMessage,
    Transform,
    TransformStamped,
    Vector3,
)

MS = 1_000_000
EVERY_10 = [("A", t) for t in range(0, 200, 10)]
OF_TWO = [(joint, t + later) for t in (0, 50, 100) for joint, later in (("A", 0), ("B", 1))]
QUARTER = Pose(axis_angle_matrix([0.0, 0.0, 1.0], pi / 2), np.array([1.0, 0.0, 0.0]))


def test_fixed_and_moved_frames_make_up_the_body(diagnostics):
    body = random_body(3)
    tree = frame_tree(body, body_frames(body, diagnostics))
    rng = np.random.default_rng(4)
    q = {name: rng.uniform(-3, 3) for name in tree.moving}
    poses = {"BASE": np.eye(4)}
    moved = (Frame(f.name, f.parent, Pose(quaternion_matrix(f.xyzw), f.p)) for f in tree.moved(q))
    waiting = [*tree.fixed, *moved]
    while waiting:
        frame = next(f for f in waiting if f.parent in poses)
        waiting.remove(frame)
        poses[frame.name] = poses[frame.parent] @ frame.pose.matrix()
    for name, X in body_poses(body, q).items():
        np.testing.assert_allclose(poses[name], X, atol=1e-12)
    for device in body.devices:
        np.testing.assert_allclose(
            poses[device.name], poses[device.link] @ device.X_LS.matrix(), atol=1e-12
        )


def test_a_link_that_floats_has_no_fixed_frame(diagnostics):
    body = wheel(type=JointType.FREE)
    tree = frame_tree(body, body_frames(body, diagnostics))
    assert tree.floating == ("WHEEL",)
    assert not tree.fixed
    assert not tree.moving


@pytest.mark.parametrize(
    ("rate", "states", "accepted"),
    [
        pytest.param(20.0, EVERY_10, EVERY_10[::5], id="at the rate"),
        pytest.param(0.0, [("A", t) for t in (5, 5, 6, 7, 7)], ..., id="no rate"),
        pytest.param(20.0, [*OF_TWO, ("AB", 110)], OF_TWO, id="two sources starve neither"),
        pytest.param(20.0, [("A", 100), ("AB", 101)], ..., id="a joint not seen before"),
        pytest.param(
            20.0,
            [("A", 100_000), ("A", 10), ("A", 20), ("A", 60)],
            [("A", 100_000), ("A", 10), ("A", 60)],
            id="time begins anew",
        ),
    ],
)
def test_states_of_joints_are_let_through_at_a_rate(rate, states, accepted):
    throttle = StampThrottle(rate)
    found = [(joints, t) for joints, t in states if throttle.accept([*joints], t * MS)]
    assert found == (states if accepted is ... else accepted)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_positions_that_are_not_finite_are_left_out(bad):
    assert usable_positions(["A", "B"], [bad, 0.5], ["A", "B"]) == ({"B": 0.5}, [])


def test_names_that_are_not_known_are_told():
    assert usable_positions(["X", "A"], [1.0, 0.5], ["A", "B"]) == ({"A": 0.5}, ["X"])


@pytest.mark.parametrize("base", Base)
def test_a_base_leaves_the_root_where_it_was(base, diagnostics):
    body = random_body(8)
    root = replace(body.root, X_PL=random_pose(np.random.default_rng(8)))
    body = replace(body, links=(root, *body.links[1:]))
    frames = body_frames(body, diagnostics, FrameOptions(base=base))
    tree = frame_tree(body, frames)
    top = frame_in_world(body, frames, "world")
    poses = {"world": Pose(), top.name: top.pose}
    for frame in tree.fixed[: len(frames.base)]:
        poses[frame.name] = poses[frame.parent] @ frame.pose
    np.testing.assert_allclose(poses["BASE"].matrix(), root.X_PL.matrix(), atol=1e-12)
    assert top.parent == "world"


def test_a_tree_knows_all_its_frames_but_the_topmost(diagnostics):
    body = random_body(3)
    frames = body_frames(body, diagnostics)
    tree = frame_tree(body, frames)
    below = [*frames.links.values()][1:] + [frame.name for frame in frames.fixed]
    assert tree.names == set(below)


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
