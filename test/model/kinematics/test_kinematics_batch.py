"""Many postures at once are what they are one at a time."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kinematics_samples import move_randomly, random_body

from hrp_model.kinematics import BodyState, state, tree

LINK_ARRAYS = ("p", "R", "v", "w", "dv", "dw")
VECTORS = ("q", "dq", "ddq")
COUNT = 11


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    """So that a few postures are computed in several blocks, the last one incomplete."""
    monkeypatch.setattr(tree, "BLOCK", 8)
    monkeypatch.setattr(state, "_POSTURES_AT_A_TIME", 5)


def singles_and_batch(seed, **kwargs):
    """The same random postures one at a time, and as a batch that is yet to be computed."""
    body = random_body(seed, **kwargs)
    singles = [BodyState(body) for _ in range(COUNT)]
    for i, single in enumerate(singles):
        move_randomly(single, seed + i)
    batch = BodyState(body, batch=COUNT)
    for name in VECTORS:
        getattr(batch, name)[...] = [getattr(single, name) for single in singles]
    for name in LINK_ARRAYS:
        getattr(batch, name)[:, 0] = [getattr(single, name)[0] for single in singles]
    return singles, batch


def close(found, expected):
    expected = np.array(expected)
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-11)


FUNCTIONS = {
    "cm": lambda s: s.calc_cm(),
    "mass matrix": lambda s: s.calc_mass_matrix(),
    "force": lambda s: s.calc_inverse_dynamics()[0],
    "moment": lambda s: s.calc_inverse_dynamics()[1],
    "moment of a branch": lambda s: s.calc_inverse_dynamics(4)[1],
    "gravity": lambda s: s.gravity_torque(),
    "P": lambda s: s.calc_total_momentum()[0],
    "L": lambda s: s.calc_total_momentum(about=[1.0, 2.0, 3.0])[1],
    "L about the centre": lambda s: s.calc_total_momentum(about=s.calc_cm())[1],
    "CM Jacobian": lambda s: s.calc_cm_jacobian(),
    "CM Jacobian on a link": lambda s: s.calc_cm_jacobian("L4"),
    "H": lambda s: s.calc_angular_momentum_jacobian(),
    "Jacobian": lambda s: s.joint_path(3, 8).calc_jacobian(),
    "Jacobian of a point": lambda s: s.joint_path(8, 3).calc_jacobian([0.1, 0.2, 0.3]),
    "vo": lambda s: s.vo,
    "dvo": lambda s: s.dvo,
    "wc": lambda s: s.link(5).wc,
}


@settings(max_examples=15)
@given(st.integers(0, 2**20))
def test_kinematics(seed):
    singles, batch = singles_and_batch(seed)
    batch.calc_forward_kinematics(velocity=True, acceleration=True)
    for name in LINK_ARRAYS:
        close(getattr(batch, name), [getattr(single, name) for single in singles])


@settings(max_examples=10)
@given(st.integers(0, 2**20))
def test_velocities_alone(seed):
    singles, batch = singles_and_batch(seed)
    batch.calc_forward_kinematics(velocity=True)
    for name in ("v", "w"):
        close(getattr(batch, name), [getattr(single, name) for single in singles])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_result_has_a_leading_axis(name):
    for seed in range(4):
        singles, batch = singles_and_batch(seed)
        batch.calc_forward_kinematics(velocity=True, acceleration=True)
        close(FUNCTIONS[name](batch), [FUNCTIONS[name](single) for single in singles])


def test_inverse_dynamics_writes_all_torques():
    singles, batch = singles_and_batch(5)
    batch.calc_inverse_dynamics()
    for single in singles:
        single.calc_inverse_dynamics()
    close(batch.u, [single.u for single in singles])


def test_a_path_that_climbs_holds_its_base():
    singles, batch = singles_and_batch(6)
    batch.calc_forward_kinematics(velocity=True, acceleration=True)
    for each in (*singles, batch):
        each.q[...] += 0.1
        each.joint_path(8, 2).calc_forward_kinematics(velocity=True, acceleration=True)
    for name in LINK_ARRAYS:
        close(getattr(batch, name), [getattr(single, name) for single in singles])


@pytest.mark.parametrize("turns", [1.0, np.pi, -np.pi, 1e3, 1e-9])
def test_any_angle_will_do(turns):
    body = random_body(1)
    angles = turns * np.linspace(-1.0, 1.0, COUNT)[:, None] * np.ones(len(body.moving_links))
    batch = BodyState(body)
    batch.q = angles
    batch.calc_forward_kinematics()
    one = BodyState(body)
    for i, q in enumerate(angles):
        one.q = q
        one.calc_forward_kinematics()
        np.testing.assert_allclose(batch.R[i], one.R, atol=1e-13)
        np.testing.assert_allclose(batch.p[i], one.p, atol=1e-12)


def test_the_shape_of_q_tells_how_many():
    one = BodyState(random_body(2))
    n, k = len(one.q), one.num_links
    one.p[0], one.dq = [1.0, 2.0, 3.0], 0.5
    assert one.batch is None
    one.q = np.zeros((5, n))
    assert one.batch == 5
    assert (one.p.shape, one.R.shape, one.u.shape) == ((5, k, 3), (5, k, 3, 3), (5, n))
    np.testing.assert_array_equal(one.p[:, 0], [[1.0, 2.0, 3.0]] * 5)
    np.testing.assert_array_equal(one.dq, np.full((5, n), 0.5))
    kept, one.p[0, 0] = one.q, 7.0
    one.q = np.ones((5, n))
    assert kept is one.q
    one.q = np.zeros((2, n))
    np.testing.assert_array_equal(one.p[:, 0], np.full((2, 3), 7.0))
    one.q = np.zeros(n)
    assert one.batch is None
    assert one.p.shape == (k, 3)
    np.testing.assert_array_equal(one.p[0], [7.0, 7.0, 7.0])


def test_an_empty_batch_is_refused():
    body = random_body(2)
    with pytest.raises(ValueError, match="at least one posture, got 0"):
        BodyState(body, batch=0)
    one = BodyState(body)
    with pytest.raises(ValueError, match="at least one posture"):
        one.q = np.zeros((0, len(one.q)))
    assert one.batch is None
