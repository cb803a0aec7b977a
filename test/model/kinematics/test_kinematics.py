"""BodyState, against the reference and, where pinocchio computes nothing, against mechanics."""

import numpy as np
import pytest
import reference_data
from each_case import check_each
from hypothesis import given, settings
from hypothesis import strategies as st
from kinematics_samples import (
    random_body,
    random_state,
    rate,
    slow_poses,
)
from paths import needs_shared
from reference_dynamics import check_dynamics

from hrp_model.body import Body, JointType
from hrp_model.kinematics import BodyState

FILES = [row["file"] for row in reference_data.index() if row["loaded"] and row["links"] > 1]


@needs_shared
def test_dynamics_agree_with_the_reference():
    """With bodies made of the reference's own numbers, so that no reader is involved."""
    check_each(FILES, check_file)


def check_file(file):
    reference = reference_data.load(file)
    check_dynamics(reference_data.body_of(reference), reference)


SEEDS = st.integers(0, 2**20)


@settings(max_examples=20)
@given(SEEDS)
def test_holding_still_is_inverse_dynamics_on_a_root_that_rises(seed):
    state = random_state(seed)
    expected = state.gravity_torque()
    state.dq[:] = state.ddq[:] = 0.0
    state.v[0] = state.w[0] = state.dw[0] = 0.0
    state.dv[0] = [0, 0, 9.80665]
    force, _ = state.calc_inverse_dynamics()
    np.testing.assert_allclose(state.u, expected, atol=1e-9)
    np.testing.assert_allclose(force, [0, 0, 9.80665 * state.body.total_mass], atol=1e-9)


def test_a_joint_above_the_root_moves_nothing():
    state = random_state(3, root=JointType.REVOLUTE)
    i = [link.name for link in state.body.moving_links].index("L0")
    before = state.p.copy()
    state.q[i] += 1.0
    state.calc_forward_kinematics()
    np.testing.assert_array_equal(state.p, before)
    assert state.gravity_torque()[i] == 0.0


def test_a_new_state_is_the_models_own_posture():
    body = random_body(5)
    state = BodyState(body)
    np.testing.assert_array_equal(state.p[0], body.root.X_PL.p)
    np.testing.assert_array_equal(state.R[0], body.root.X_PL.R)
    np.testing.assert_array_equal(state.q, [x.joint.initial for x in body.moving_links])
    for i, pose in enumerate(slow_poses(state).values()):
        np.testing.assert_allclose(state.p[i], pose.p, atol=1e-12)


@settings(max_examples=30)
@given(SEEDS)
def test_a_branch_feels_what_its_links_need(seed):
    """The wrench on a link carries it and all beyond it; its joint's part is u."""
    state = random_state(seed)
    total = np.concatenate(state.calc_inverse_dynamics())
    parents = state.body.parent_indices
    wrenches = [np.concatenate(state.calc_inverse_dynamics(i)) for i in range(state.num_links)]
    np.testing.assert_allclose(wrenches[0], total)
    children = [w for w, parent in zip(wrenches, parents, strict=True) if parent == 0]
    alone = BodyState(Body(name="root", links=state.body.links[:1]))
    for name in ("p", "R", "v", "w", "dv", "dw"):
        getattr(alone, name)[0] = getattr(state, name)[0]
    np.testing.assert_allclose(
        np.concatenate(alone.calc_inverse_dynamics()) + sum(children), total, atol=1e-9
    )
    for link in map(state.link, range(1, state.num_links)):
        force, moment = wrenches[link.index][:3], wrenches[link.index][3:]
        about = moment - np.cross(link.p, force)
        axis = link.R @ link.a @ about + link.R @ link.d @ force
        rotor = link.Jm2 * link.ddq if link.joint is not None else 0.0
        assert link.u == pytest.approx(axis + rotor, abs=1e-8)


@settings(max_examples=30)
@given(SEEDS, st.integers(0, 8))
def test_jacobians_of_a_body_on_one_of_its_links(seed, base):
    """The root moves as it has to, for the base to stand still."""
    state = random_state(seed)
    state.v[0] = state.w[0] = 0.0
    state.calc_forward_kinematics(velocity=True)
    turn, fall = -state.w[base], -state.v[base]
    state.w[0] = turn
    state.v[0] = fall - np.cross(turn, state.p[base] - state.p[0])
    state.calc_forward_kinematics(velocity=True)
    np.testing.assert_allclose(state.v[base], 0.0, atol=1e-10)
    P, L = state.calc_total_momentum(about=state.calc_cm())
    J, H = state.calc_cm_jacobian(base), state.calc_angular_momentum_jacobian(base)
    assert J.shape == H.shape == (3, len(state.q))
    np.testing.assert_allclose(J @ state.dq, P / state.total_mass, atol=1e-9)
    np.testing.assert_allclose(H @ state.dq, L, atol=1e-8)


@settings(max_examples=20)
@given(SEEDS)
def test_spatial_velocity_is_that_of_the_point_at_the_origin(seed):
    state = random_state(seed)
    at_origin = state.v + np.cross(state.w, -state.p)
    np.testing.assert_allclose(state.vo, at_origin, atol=1e-12)
    np.testing.assert_allclose(rate(state, lambda s: s.vo), state.dvo, atol=1e-4)


@settings(max_examples=10)
@given(SEEDS)
def test_a_root_fixed_by_the_user_has_no_rows_and_columns(seed):
    free = random_state(seed)
    fixed = BodyState(free.body, fix_root=True)
    fixed.p[0], fixed.R[0], fixed.q = free.p[0], free.R[0], free.q
    fixed.calc_forward_kinematics()
    n = len(free.q)
    np.testing.assert_allclose(fixed.calc_mass_matrix(), free.calc_mass_matrix()[6:, 6:])
    np.testing.assert_allclose(fixed.calc_cm_jacobian(), free.calc_cm_jacobian()[:, :n])
    np.testing.assert_allclose(
        fixed.calc_angular_momentum_jacobian(), free.calc_angular_momentum_jacobian()[:, :n]
    )


def test_a_model_with_a_fixed_root_may_be_set_free():
    body = random_body(3, root=JointType.FIXED)
    n = len(body.moving_links)
    assert BodyState(body).calc_mass_matrix().shape == (n, n)
    assert BodyState(body, fix_root=False).calc_mass_matrix().shape == (n + 6, n + 6)
