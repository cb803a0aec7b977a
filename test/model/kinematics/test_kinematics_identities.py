"""BodyState, against the laws of mechanics."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kinematics_samples import kinetic_energy, momentum, random_body, random_state, rate

from hrp_model.body import Body, JointType
from hrp_model.kinematics import BodyState

SEEDS = st.integers(0, 2**20)


def rates(state):
    """In the order of the momentum Jacobians' columns."""
    return np.concatenate([state.dq, state.v[0], state.w[0]])


@settings(max_examples=20)
@given(SEEDS)
def test_power_goes_into_kinetic_energy(seed):
    state = random_state(seed)
    force, moment = state.calc_inverse_dynamics()
    about_root = moment - np.cross(state.p[0], force)
    power = state.u @ state.dq + force @ state.v[0] + about_root @ state.w[0]
    assert rate(state, kinetic_energy) == pytest.approx(power, rel=1e-5, abs=1e-4)


@settings(max_examples=20)
@given(SEEDS)
def test_the_wrench_is_the_rate_of_momentum(seed):
    state = random_state(seed)
    wrench = np.concatenate(state.calc_inverse_dynamics())
    changing = rate(state, lambda s: np.concatenate(s.calc_total_momentum()))
    np.testing.assert_allclose(changing, wrench, rtol=1e-5, atol=1e-4)


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
@given(SEEDS)
def test_momentum_is_the_sum_of_the_links(seed):
    state = random_state(seed)
    for about in (np.zeros(3), state.p[0], state.calc_cm()):
        found = np.concatenate(state.calc_total_momentum(about))
        np.testing.assert_allclose(found, momentum(state, about), atol=1e-9)


@settings(max_examples=30)
@given(SEEDS)
def test_momentum_jacobians_give_the_momentum(seed):
    state = random_state(seed)
    P, L = state.calc_total_momentum(about=state.calc_cm())
    J, H = state.calc_cm_jacobian(), state.calc_angular_momentum_jacobian()
    assert J.shape == H.shape == (3, len(state.q) + 6)
    np.testing.assert_allclose(J @ rates(state), P / state.total_mass, atol=1e-10)
    np.testing.assert_allclose(H @ rates(state), L, atol=1e-9)
    np.testing.assert_allclose(rate(state, lambda s: s.calc_cm()), P / state.total_mass, atol=1e-6)


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


@settings(max_examples=30)
@given(SEEDS)
def test_the_mass_matrix_is_symmetric_and_positive(seed):
    M = random_state(seed).calc_mass_matrix()
    np.testing.assert_array_equal(M, M.T)
    assert np.linalg.eigvalsh(M)[0] > 0.0


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
