"""What of a body becomes TF, and when."""

import math
from dataclasses import replace

import numpy as np
import pytest
from urdf_tools import body_poses, random_body, random_pose, wheel

from hrp_model.body import JointType
from hrp_model.description.frame_tree import frame_in_world, frame_tree
from hrp_model.description.publisher import StampThrottle, usable_positions
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


EVERY_10 = [("A", t) for t in range(0, 200, 10)]
OF_TWO = [(joint, t + later) for t in (0, 50, 100) for joint, later in (("A", 0), ("B", 1))]


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
