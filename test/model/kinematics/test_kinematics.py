"""BodyState, against an independent system and against mechanics itself."""

import numpy as np
import pytest
import reference_data
from each_case import check_each
from hypothesis import given, settings
from hypothesis import strategies as st
from kinematics_samples import (
    advanced,
    kinetic_energy,
    random_body,
    random_state,
    slow_poses,
)
from paths import needs_shared
from reference_dynamics import check_dynamics

from hrp_model.body import JointType
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


@settings(max_examples=30, deadline=None)
@given(SEEDS)
def test_poses_follow_the_joint_rule(seed):
    state = random_state(seed)
    for i, pose in enumerate(slow_poses(state).values()):
        np.testing.assert_allclose(state.p[i], pose.p, atol=1e-12)
        np.testing.assert_allclose(state.R[i], pose.R, atol=1e-12)


@settings(max_examples=20, deadline=None)
@given(SEEDS)
def test_velocities_and_accelerations_are_derivatives(seed):
    state = random_state(seed)
    h = 1e-5
    before, after = advanced(state, -h), advanced(state, h)
    np.testing.assert_allclose((after.p - before.p) / (2 * h), state.v, atol=1e-6)
    np.testing.assert_allclose((after.v - before.v) / (2 * h), state.dv, atol=1e-5)
    np.testing.assert_allclose((after.w - before.w) / (2 * h), state.dw, atol=1e-5)
    spin = (after.R - before.R) / (2 * h) @ state.R.transpose(0, 2, 1)
    np.testing.assert_allclose(spin[:, [2, 0, 1], [1, 2, 0]], state.w, atol=1e-6)


@settings(max_examples=30, deadline=None)
@given(SEEDS)
def test_mass_matrix_gives_the_kinetic_energy(seed):
    state = random_state(seed)
    M = state.calc_mass_matrix()
    motion = np.concatenate([state.v[0], state.w[0], state.dq])
    np.testing.assert_allclose(M, M.T, atol=1e-10)
    assert motion @ M @ motion / 2 == pytest.approx(kinetic_energy(state), rel=1e-10)


@settings(max_examples=30, deadline=None)
@given(SEEDS)
def test_inverse_dynamics_and_mass_matrix_are_one_equation(seed):
    """u(ddq) - u(0) = M ddq, for the root's wrench about its own origin as well."""
    state = random_state(seed)
    M = state.calc_mass_matrix()
    acceleration = np.concatenate([state.dv[0], state.dw[0], state.ddq])

    def efforts():
        force, moment = state.calc_inverse_dynamics()
        return np.concatenate([force, moment - np.cross(state.p[0], force), state.u])

    moving = efforts()
    state.ddq[:] = state.dv[0] = state.dw[0] = 0.0
    np.testing.assert_allclose(moving - efforts(), M @ acceleration, atol=1e-9, rtol=1e-9)


@settings(max_examples=20, deadline=None)
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


def test_a_fixed_root_has_no_rows():
    free, fixed = (random_state(3, root=kind) for kind in (JointType.FREE, JointType.FIXED))
    np.testing.assert_allclose(fixed.calc_mass_matrix(), free.calc_mass_matrix()[6:, 6:])


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
