"""Free motion, accelerations and extrapolation against what can be worked out."""

import numpy as np
import pytest
from scipy.special import ellipj, ellipk
from sim.physics.bodies import chain
from sim.physics.scenes import REVOLUTE, X, lone, one_joint

from hrp_model import Pose
from hrp_model.kinematics.state import STANDARD_GRAVITY
from hrp_model.rigid import axis_angle_matrix
from hrp_model.verify.motion import ForwardDynamics, MotionState, random_states
from hrp_sim.lab.certificate.engine_rows import engine_body
from hrp_sim.lab.certificate.motion import accelerations, exact_motion, limit

G = STANDARD_GRAVITY
ZERO = np.zeros(3)


def state(q=(), dq=(), effort=None, *, v=ZERO, w=ZERO, root=None):
    """Return a state of motion; its efforts are zero by default."""
    q, dq = np.array(q, dtype=float), np.array(dq, dtype=float)
    efforts = np.zeros_like(q) if effort is None else np.array(effort)
    return MotionState("", root or Pose(), np.array(v), np.array(w), q, dq, efforts)


def pendulum(**options):
    """A mass of 1 kg, 1 m below a hinge along X at q = 0, with 0.01 kg m^2 about itself."""
    return one_joint(REVOLUTE, X, center_of_mass=np.array([0, 0, -1.0]), **options)


INERTIA = 1.01  # of the pendulum about its hinge, in [kg m^2]


def test_a_pendulum_moves_as_an_elliptic_function():
    start, rate = 2.0, np.sqrt(G / INERTIA)
    k = np.sin(start / 2.0)
    # q = 2 arcsin(k sn(w t + K)), at rest at its largest angle.
    sn = ellipj(rate * 1.0 + ellipk(k**2), k**2)[0]
    (q,) = exact_motion(pendulum(), state([start], [0.0]))
    assert q == pytest.approx(2.0 * np.arcsin(k * sn), abs=1e-10)


def test_a_thrown_body_falls_and_turns_about_its_centre():
    com, w = np.array([0.3, 0.0, 0.0]), np.array([0.0, 0.0, 2.0])
    v = np.array([0.1, 0.2, 0.3])
    place = exact_motion(lone(com=com), state(v=v, w=w))
    R = axis_angle_matrix(np.array([0.0, 0.0, 1.0]), 2.0)
    center = com + v + np.cross(w, com) + [0.0, 0.0, -G / 2.0]
    np.testing.assert_allclose(place[3:].reshape(3, 3), R, atol=1e-11)
    np.testing.assert_allclose(place[:3], center - R @ com, atol=1e-11)


def test_accelerations_of_a_free_body_are_those_of_euler():
    inertia, w = np.diag([0.01, 0.02, 0.03]), np.array([1.0, -2.0, 3.0])
    R = axis_angle_matrix(np.array([0.6, 0.0, 0.8]), 0.7)
    body = lone(inertia=inertia)
    a = ForwardDynamics(body).accelerations(state(w=R @ w, root=Pose(R)))
    np.testing.assert_allclose(a[:3], [0.0, 0.0, -G], atol=1e-12)
    np.testing.assert_allclose(R.T @ a[3:], np.linalg.solve(inertia, -np.cross(w, inertia @ w)))


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_damping_and_friction_resist_a_joint_and_its_rotor(sign):
    body = pendulum(rotor=3.0, damping=0.5, friction=0.2)
    dq, effort = sign * 2.0, 1.5
    expected = (effort - 0.5 * dq - 0.2 * sign - G * np.sin(0.3)) / (INERTIA + 3.0)
    (a,) = ForwardDynamics(body).accelerations(state([0.3], [dq], [effort]))
    assert a == pytest.approx(expected, rel=1e-12)
    found = accelerations(engine_body(body), [state([0.3], [dq], [effort])], np.ones(1))
    assert found.value[0, 0] == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("free", [False, True])
def test_the_engine_accelerates_a_chain_by_its_equations_of_motion(free):
    body = engine_body(chain(free=free))
    states = list(random_states(body, 10, seed=3))
    expected = np.array([ForwardDynamics(body).accelerations(x) for x in states])
    scale = np.maximum(np.sqrt((expected**2).mean(axis=0)), 1.0)
    found = accelerations(body, states, scale)
    assert (abs(found.value - expected) / scale).max() < 1e-7
    assert found.error.max() < 1e-6


def test_random_states_are_within_limits_and_move_every_joint():
    body = chain(free=True)
    for x in random_states(body, 50, seed=0):
        for link, q, dq in zip(body.moving_links, x.q, x.dq, strict=True):
            lower, upper = link.joint.position_limits
            assert lower <= q <= upper
            assert 1.0 <= abs(dq) <= 2.0
    first, again = (next(random_states(body, 1, seed=7)) for _ in range(2))
    np.testing.assert_array_equal(first.q, again.q)


STEPS = [0.1 / 2**i for i in range(6)]


def sampled(function):
    """Return a function's values at the steps, as those of one case."""
    return [np.array([[function(h)]]) for h in STEPS]


@pytest.mark.parametrize(
    ("function", "order", "error"),
    [
        (lambda h: 3.0 + 2.0 * h - 5.0 * h**2, 1, 1e-13),
        (lambda h: 3.0 - 5.0 * h**2 + h**3, 2, 1e-13),
        (lambda h: 3.0 * np.exp(h), 1, 1e-10),
    ],
)
def test_a_smooth_error_vanishes(function, order, error):
    found = limit(sampled(function), np.ones(1), order)
    assert abs(found.value[0, 0] - 3.0) < error
    assert found.error[0] < 100.0 * error


def test_rounding_errors_of_short_steps_are_avoided():
    noise = iter(np.random.default_rng(1).uniform(-1.0, 1.0, len(STEPS)))
    values = sampled(lambda h: 3.0 + 2.0 * h + next(noise) * 1e-14 / h**4)
    found = limit(values, np.ones(1))
    assert abs(found.value[0, 0] - 3.0) < 1e-6 < abs(values[-1][0, 0] - 2.0 * STEPS[-1] - 3.0)
    assert abs(found.value[0, 0] - 3.0) < 10.0 * found.error[0]


def test_every_case_has_its_own_entry():
    values = [np.array([[1.0 + h], [2.0 + h**2]]) for h in STEPS]
    found = limit(values, np.ones(1))
    np.testing.assert_allclose(found.value[:, 0], [1.0, 2.0], atol=1e-13)
    assert found.error.shape == (2,)
