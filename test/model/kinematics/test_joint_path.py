"""Joint paths: which joints they have, their Jacobians, and inverse kinematics on them."""

import numpy as np
import pytest
from each_case import all_cases
from hypothesis import given, settings
from hypothesis import strategies as st
from kinematics_samples import random_state
from paths import MODELS

from hrp_model import load_body
from hrp_model.body import Body, Joint, JointType, Link, Range
from hrp_model.kinematics import BodyState
from hrp_model.kinematics.joint_path import rotation_vector
from hrp_model.rigid import Pose, axis_angle_matrix, rpy_matrix

SEEDS = st.integers(0, 2**20)
LINKS = st.integers(0, 8)
FREE, FIXED = JointType.FREE, JointType.FIXED


def chain(*links, root=FREE):
    """A body of (name, parent, kind, axis, b) links on a root."""
    made = [Link(name="ROOT", parent=None, joint=Joint(type=root, name="ROOT"), mass=1.0)]
    for name, parent, kind, axis, b in links:
        joint = Joint(type=kind, name=name, axis=axis, position=Range(-2.5, 2.5))
        made.append(Link(name=name, parent=parent, joint=joint, X_PL=Pose(p=b), mass=1.0))
    return Body(name="chain", links=tuple(made))


X, Y, Z = np.eye(3)
TURN, SLIDE = JointType.REVOLUTE, JointType.PRISMATIC
TREE = chain(
    ("HIP", "ROOT", TURN, X, [0, 0.1, 0]),
    ("FOOT", "HIP", TURN, Y, [0, 0, -0.5]),
    ("SOLE", "FOOT", FIXED, Z, [0, 0, -0.1]),
    ("RAIL", "ROOT", SLIDE, Z, [0, 0, 0.3]),
    ("HAND", "RAIL", TURN, Z, [0.3, 0, 0]),
)


def names(path):
    return [path.joint(i).name for i in range(path.num_joints)]


@all_cases(
    ("base", "target", "joints", "downward"),
    [
        ("ROOT", "HAND", ["RAIL", "HAND"], [True, True]),
        ("HAND", "ROOT", ["HAND", "RAIL"], [False, False]),
        ("SOLE", "HAND", ["FOOT", "HIP", "RAIL", "HAND"], [False, False, True, True]),
        ("HIP", "SOLE", ["FOOT"], [True]),
        ("FOOT", "SOLE", [], []),
        ("HAND", "HAND", [], []),
    ],
)
def test_the_joints_between_two_links(base, target, joints, downward):
    state = BodyState(TREE)
    path = state.joint_path(base, target)
    assert names(path) == joints
    assert [path.is_joint_downward(i) for i in range(path.num_joints)] == downward
    assert path.signs.tolist() == [1.0 if down else -1.0 for down in downward]
    assert [TREE.moving_links[i].name for i in path.joints] == joints
    assert (path.base_link.name, path.end_link.name) == (base, target)
    with pytest.raises(IndexError, match=f"no joint {len(joints)} in a path with {len(joints)}"):
        path.joint(len(joints))
    with pytest.raises(IndexError):
        path.is_joint_downward(-1)


@given(SEEDS, LINKS, LINKS)
def test_the_jacobian_is_the_derivative_of_the_pose_seen_from_the_base(seed, base, target):
    state = random_state(seed)
    path = state.joint_path(base, target)
    local = np.array([0.3, -0.2, 0.1])
    J = path.calc_jacobian(local)
    R_base = state.R[base].copy()

    def seen_from_base(i, h):
        moved = random_state(seed)
        moved.q[path.joints[i]] += h
        moved.calc_forward_kinematics()
        at = moved.p[target] + moved.R[target] @ local - moved.p[base]
        return moved.R[base].T @ at, moved.R[base].T @ moved.R[target]

    for i in range(path.num_joints):
        (p0, R0), (p1, R1) = (seen_from_base(i, h) for h in (-1e-6, 1e-6))
        np.testing.assert_allclose(R_base @ (p1 - p0) / 2e-6, J[:3, i], atol=1e-7)
        turn = R_base @ rotation_vector(R1 @ R0.T) / 2e-6
        np.testing.assert_allclose(turn, J[3:, i], atol=1e-7)


@settings(max_examples=30)
@given(SEEDS, LINKS)
def test_the_jacobian_from_the_root_gives_velocities(seed, target):
    state = random_state(seed)
    state.v[0] = state.w[0] = 0.0
    state.calc_forward_kinematics(velocity=True)
    path = state.joint_path(0, target)
    expected = np.concatenate([state.v[target], state.w[target]])
    np.testing.assert_allclose(path.calc_jacobian() @ state.dq[path.joints], expected, atol=1e-9)


@given(SEEDS, LINKS, LINKS)
def test_the_base_stays_where_it_is_and_moves_as_it_did(seed, base, target):
    state = random_state(seed)
    path = state.joint_path(base, target)
    link, other = state.link(base), random_state(seed + 1)
    before = [x.copy() for x in (link.p, link.R, link.v, link.w, link.dv, link.dw)]
    for mine, new in ((state.q, other.q), (state.dq, other.dq), (state.ddq, other.ddq)):
        mine[path.joints] = np.resize(new, path.num_joints)
    path.calc_forward_kinematics(velocity=True, acceleration=True)
    for found, expected in zip(
        (link.p, link.R, link.v, link.w, link.dv, link.dw), before, strict=True
    ):
        np.testing.assert_allclose(found, expected, atol=1e-9)
    found = [x.copy() for x in (state.p, state.R, state.v, state.w, state.dv, state.dw)]
    state.calc_forward_kinematics(velocity=True, acceleration=True)
    for after, expected in zip(
        (state.p, state.R, state.v, state.w, state.dv, state.dw), found, strict=True
    ):
        np.testing.assert_allclose(after, expected, atol=1e-12)


def test_holding_the_base_again_and_again_bends_no_rotation():
    state = random_state(11)
    path = state.joint_path(8, 1)
    path = path if (path.signs < 0.0).any() else state.joint_path(1, 8)
    assert (path.signs < 0.0).any()
    for i in range(1000):
        state.q[path.joints] = np.sin(i)
        path.calc_forward_kinematics()
    np.testing.assert_allclose(state.R @ state.R.transpose(0, 2, 1), [np.eye(3)] * 9, atol=1e-12)


def arm(seed=0, joints=7):
    """An arm with oblique axes on a fixed base, wide ranges."""
    rng = np.random.default_rng(seed)
    links = []
    for i in range(joints):
        axis = rng.normal(size=3)
        parent = f"J{i - 1}" if i else "ROOT"
        links.append((f"J{i}", parent, TURN, axis / np.linalg.norm(axis), rng.normal(size=3) / 4))
    return chain(*links, root=FIXED)


def assert_untouched(state, before):
    for name in ("q", "p", "R"):
        np.testing.assert_array_equal(getattr(state, name), getattr(before, name))


def asked(seed):
    """An arm in a random posture, its path, and the pose of the hand in another posture."""
    rng = np.random.default_rng(seed)
    state = BodyState(arm(seed % 5))
    path = state.joint_path("ROOT", "J6")
    goal = rng.uniform(-2.0, 2.0, 7)
    state.q = goal
    state.calc_forward_kinematics()
    p, R = path.end_link.p.copy(), path.end_link.R.copy()
    state.q = rng.uniform(-2.0, 2.0, 7)
    state.calc_forward_kinematics()
    return state, path, p, R


@settings(max_examples=25)
@given(SEEDS)
def test_a_pose_that_the_arm_can_take_is_found(seed):
    state, path, p, R = asked(seed)
    found = path.calc_inverse_kinematics(p, R, limits=False)
    assert found
    assert found.converged
    np.testing.assert_array_equal(state.q[path.joints], found.q)
    np.testing.assert_allclose(path.end_link.p, p, atol=2e-8)
    np.testing.assert_allclose(path.end_link.R, R, atol=2e-8)
    assert np.linalg.norm(path.end_link.p - p) == pytest.approx(found.position_error, abs=1e-12)


def test_most_poses_are_found_within_limits_and_none_beyond():
    count = 0
    for seed in range(30):
        state, path, p, R = asked(seed)
        before = asked(seed)[0]
        found = path.calc_inverse_kinematics(p, R)
        assert (np.abs(found.q) <= 2.5).all()
        if not found:
            assert_untouched(state, before)
            continue
        count += 1
        np.testing.assert_allclose(path.end_link.p, p, atol=2e-8)
        np.testing.assert_allclose(path.end_link.R, R, atol=2e-8)
    assert count >= 25


def test_a_pose_out_of_reach_is_refused_and_nothing_changes():
    state, before = BodyState(arm()), BodyState(arm())
    path = state.joint_path(0, "J6")
    reach = np.linalg.norm([link.X_PL.p for link in state.body.links[1:]], axis=1).sum()
    found = path.calc_inverse_kinematics([reach + 0.5, 0.0, 0.0], np.eye(3))
    assert not found
    assert found.position_error > 0.5
    assert_untouched(state, before)


def test_a_pose_beyond_the_limits_is_found_only_without_them():
    body = arm()
    state, before = BodyState(body), BodyState(body)
    path = state.joint_path(0, "J6")
    wide = BodyState(body)
    wide.q = 2.9  # beyond 2.5, all of them
    wide.calc_forward_kinematics()
    p, R = wide.p[-1], wide.R[-1]
    found = path.calc_inverse_kinematics(p, R)
    assert (np.abs(found.q) <= 2.5).all()
    if not found:
        assert_untouched(state, before)
    state.q = 2.8
    state.calc_forward_kinematics()
    assert path.calc_inverse_kinematics(p, R, limits=False)
    assert (np.abs(state.q) > 2.5).all()


def test_a_single_joint_stops_at_its_limit():
    body = chain(("J", "ROOT", TURN, Z, [0, 0, 0]), ("TIP", "J", FIXED, Z, [1, 0, 0]))
    state = BodyState(body)
    path = state.joint_path(0, "TIP")
    beyond = axis_angle_matrix(Z, 2.6)
    found = path.calc_inverse_kinematics(beyond @ X, beyond)
    assert not found
    assert found.q == pytest.approx([2.5])
    assert found.rotation_error == pytest.approx(0.1, abs=1e-6)
    assert path.calc_inverse_kinematics(beyond @ X, beyond, limits=False)
    assert state.q == pytest.approx([2.6])


def test_a_stretched_leg_can_be_bent():
    """Along a stretched leg no joint moves the foot: the first attempt gets stuck."""
    body = chain(
        ("HIP", "ROOT", TURN, Y, [0, 0, 0]),
        ("KNEE", "HIP", TURN, Y, [0, 0, -0.4]),
        ("ANKLE", "KNEE", TURN, Y, [0, 0, -0.4]),
    )
    state = BodyState(body)
    path = state.joint_path("ROOT", "ANKLE")
    assert not path.calc_inverse_kinematics([0, 0, -0.6], np.eye(3), restarts=0)
    assert path.calc_inverse_kinematics([0, 0, -0.6], np.eye(3))
    np.testing.assert_allclose(path.end_link.p, [0, 0, -0.6], atol=1e-7)
    assert state.q.sum() == pytest.approx(0.0, abs=1e-7)


def test_a_position_alone():
    body = chain(("X", "ROOT", SLIDE, X, [0, 0, 0]), ("J", "X", TURN, Z, [0, 0, 1]))
    state = BodyState(body)
    path = state.joint_path("ROOT", "J")
    found = path.calc_inverse_kinematics([0.7, 0.0, 1.0])
    assert found
    assert found.rotation_error == 0.0
    np.testing.assert_allclose(state.q, [0.7, 0.0], atol=1e-8)
    assert not path.calc_inverse_kinematics([0.7, 0.1, 1.0])


def limited_arm(seed):
    """Six oblique joints with ranges of 4 rad, and a pose that they can reach."""
    rng = np.random.default_rng(seed)
    links = [Link(name="ROOT", parent=None, joint=Joint(type=FIXED, name="ROOT"))]
    for i in range(6):
        axis, least = rng.normal(size=3), rng.uniform(-3.5, -0.5)
        axis /= np.linalg.norm(axis)
        joint = Joint(type=TURN, name=f"J{i}", axis=axis, position=Range(least, least + 4.0))
        pose = Pose(rpy_matrix(*rng.normal(size=3)), rng.normal(size=3) * 0.2)
        links.append(Link(name=f"J{i}", parent=links[-1].name, joint=joint, X_PL=pose))
    state = BodyState(Body(name="arm", links=tuple(links)))
    lower, upper = np.array([(x.llimit, x.ulimit) for x in state.joints]).T
    goal, start = rng.uniform(lower, upper, (2, 6))
    state.q = goal
    state.calc_forward_kinematics()
    p, R = state.p[-1].copy(), state.R[-1].copy()
    state.q = start
    state.calc_forward_kinematics()
    return state, p, R, (lower, upper)


def test_nearly_every_pose_within_the_limits_is_found():
    reached = 0
    for seed in range(40):
        state, p, R, (lower, upper) = limited_arm(seed)
        found = state.joint_path("ROOT", "J5").calc_inverse_kinematics(p, R)
        assert (lower <= found.q).all()
        assert (found.q <= upper).all()
        if found:
            np.testing.assert_allclose(state.p[-1], p, atol=2e-8)
            np.testing.assert_allclose(state.R[-1], R, atol=2e-8)
            reached += 1
    assert reached >= 38


def test_equal_questions_have_equal_answers():
    answers = []
    for _ in range(2):
        state = BodyState(arm(2))
        state.q = 0.0
        state.calc_forward_kinematics()
        path = state.joint_path(0, "J6")
        answers.append(path.calc_inverse_kinematics([0.3, 0.2, 0.4], rpy_matrix(1.0, 2.0, 3.0)).q)
    np.testing.assert_array_equal(*answers)


def test_a_humanoid_reaches_from_its_foot():
    """The foot stays on the ground, the root moves: from any base."""
    state = BodyState(load_body(next(MODELS.rglob("humanoid/*.wrl"))))
    feet = [x.name for x in state.body.links if x.name.startswith("RLEG")]
    hands = [x.name for x in state.body.links if x.name.startswith("LARM")]
    path = state.joint_path(feet[-1], hands[-1])
    foot_p, foot_R = path.base_link.p.copy(), path.base_link.R.copy()
    root = state.p[0].copy()
    goal = path.end_link.p + np.array([0.05, 0.02, -0.05])
    assert path.calc_inverse_kinematics(goal)
    np.testing.assert_allclose(path.end_link.p, goal, atol=2e-8)
    np.testing.assert_allclose(path.base_link.p, foot_p, atol=1e-12)
    np.testing.assert_allclose(path.base_link.R, foot_R, atol=1e-12)
    assert np.linalg.norm(state.p[0] - root) > 1e-3


def test_a_fixed_root_cannot_give_way():
    state = BodyState(TREE, fix_root=True)
    path = state.joint_path("SOLE", "HAND")
    with pytest.raises(
        ValueError, match="root is fixed to the world: base link 'SOLE' cannot keep"
    ):
        path.calc_inverse_kinematics([0, 0, 0])
    with pytest.raises(ValueError, match="root is fixed"):
        path.calc_forward_kinematics()
    state.joint_path("ROOT", "HAND").calc_forward_kinematics()


def test_a_path_without_joints_can_only_stay():
    state = BodyState(TREE)
    path = state.joint_path("FOOT", "SOLE")
    assert path.calc_jacobian().shape == (6, 0)
    assert path.calc_inverse_kinematics(path.end_link.p, path.end_link.R)
    assert not path.calc_inverse_kinematics(path.end_link.p + X, path.end_link.R)


@all_cases(
    ("p", "R", "said"),
    [
        ([1, 2], np.eye(3), r"p must have shape \(3,\), got shape \(2,\)"),
        ([1, 2, np.nan], np.eye(3), r"p\[2\] is nan, which is not finite"),
        ([1, 2, 3], np.eye(4), r"R must have shape \(3, 3\), got shape \(4, 4\)"),
        ([1, 2, 3], 2 * np.eye(3), "R must be a rotation"),
        ([1, 2, 3], np.diag([1, 1, -1]), "R must be a rotation"),
    ],
)
def test_a_goal_that_is_no_pose_is_refused(p, R, said):
    with pytest.raises(ValueError, match=said):
        BodyState(TREE).joint_path("ROOT", "HAND").calc_inverse_kinematics(p, R)


def test_a_batch_is_refused():
    state = BodyState(TREE, batch=2)
    with pytest.raises(ValueError, match="one posture, not a batch"):
        state.joint_path("ROOT", "HAND").calc_inverse_kinematics([0, 0, 0])


def test_an_inverted_range_means_no_limit():
    joint = Joint(type=TURN, name="J", position=Range(1.0, -1.0))
    root = Link(name="ROOT", parent=None, joint=Joint(type=FREE, name="ROOT"))
    body = Body(name="b", links=(root, Link(name="J", parent="ROOT", joint=joint)))
    path = BodyState(body).joint_path(0, 1)
    assert path.calc_inverse_kinematics([0, 0, 0], axis_angle_matrix([0, 0, 1], 3.0))


@given(SEEDS, st.sampled_from([0.0, 1e-9, 1e-4, 1.0, 3.0, np.pi - 1e-5, np.pi - 1e-8, np.pi]))
def test_rotation_vectors(seed, angle):
    axis = np.random.default_rng(seed).normal(size=3)
    axis /= np.linalg.norm(axis)
    found = rotation_vector(axis_angle_matrix(axis, angle))
    assert np.linalg.norm(found) == pytest.approx(angle, abs=1e-7)
    back = axis_angle_matrix(found / angle, angle) if angle else np.eye(3)
    np.testing.assert_allclose(back, axis_angle_matrix(axis, angle), atol=1e-7)
