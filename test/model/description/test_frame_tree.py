"""What of a body becomes TF, and when."""

import math
from dataclasses import replace

import numpy as np
import pytest
from urdf_tools import body_poses, random_body, random_pose, wheel

from hrp_model.body import JointType
from hrp_model.description.follower import StampThrottle, usable_positions
from hrp_model.description.frame_tree import frame_in_world, frame_tree
from hrp_model.frames import Base, Frame, FrameOptions, body_frames
from hrp_model.rigid import Pose, quaternion_matrix

MS = 1_000_000


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


def test_a_joint_is_let_through_at_its_rate():
    throttle = StampThrottle(20.0)
    stamps = [t for t in range(0, 200, 10) if throttle.accept(["A"], t * MS)]
    assert stamps == [0, 50, 100, 150]


def test_no_rate_lets_everything_through():
    throttle = StampThrottle(0.0)
    assert all(throttle.accept(["A"], t) for t in (5, 5, 6, 7, 7))


def test_two_sources_do_not_starve_each_other():
    throttle = StampThrottle(20.0)
    for t in (0, 50, 100):
        assert throttle.accept(["A"], t * MS)
        assert throttle.accept(["B"], (t + 1) * MS)
    assert not throttle.accept(["A", "B"], 110 * MS)


def test_a_joint_not_seen_before_is_let_through():
    throttle = StampThrottle(20.0)
    assert throttle.accept(["A"], 100 * MS)
    assert throttle.accept(["A", "B"], 101 * MS)


def test_time_that_begins_anew_is_let_through_and_throttled_again():
    throttle = StampThrottle(20.0)
    assert throttle.accept(["A"], 100_000 * MS)
    assert throttle.accept(["A"], 10 * MS)
    assert not throttle.accept(["A"], 20 * MS)
    assert throttle.accept(["A"], 60 * MS)


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
