"""Forces and torques from outside, against closed forms."""

import numpy as np
import pytest
from sim.physics.scenes import (
    FIXED,
    PRISMATIC,
    REVOLUTE,
    X,
    Z,
    at,
    child,
    fixed,
    floor,
    lone,
    moving,
    one_joint,
    root,
)

from hrp_model.body import Body, Range
from hrp_model.rigid import rpy_matrix
from hrp_sim.engine.engine import PhysicsError
from hrp_sim.engine.state import MAX_DRIVE_VALUE

STILL = {"gravity": (0.0, 0.0, 0.0)}


def test_a_force_gives_its_impulse_and_a_torque_its_angular_momentum(world):
    inertia = np.diag([0.1, 0.1, 0.1])  # of a ball: no gyroscopic terms
    engine, ball = world(moving(lone(mass=2.5, inertia=inertia)), **STILL)
    ball.wrench.force[0] = force = np.array([1.0, -2.0, 3.0])
    ball.wrench.torque[0] = torque = np.array([0.02, 0.03, -0.01])
    engine.step(400)
    np.testing.assert_allclose(2.5 * ball.motion.v[0], force * 0.4, rtol=1e-12)
    np.testing.assert_allclose(0.1 * ball.motion.w[0], torque * 0.4, rtol=1e-12)


def test_a_force_acts_at_the_origin_of_its_link(world):
    """HAND is welded to BASE: one rigid group, whose centre of mass is not its origin."""
    R = rpy_matrix(0.3, -0.5, 1.1)
    inertia = np.diag([0.02, 0.03, 0.04])
    links = (
        root(free=True, mass=1.0, inertia=inertia),
        child("HAND", "BASE", FIXED, X_PL=at(0.4, 0.1), mass=3.0, inertia=inertia),
    )
    start = at(1.0, 2.0, 3.0, R=R)
    engine, thing = world(moving(Body(name="t", links=links), start), time_step=1e-5, **STILL)
    thing.wrench.force[1] = force = np.array([0.7, 1.1, -0.4])
    engine.step()
    center = (1.0 * thing.motion.p[0] + 3.0 * thing.motion.p[1]) / 4.0
    arms = [np.array([-0.3, -0.075, 0.0]), np.array([0.1, 0.025, 0.0])]  # of the two, about it
    parts = zip((1.0, 3.0), arms, strict=True)
    whole = sum(inertia + m * (a @ a * np.eye(3) - np.outer(a, a)) for m, a in parts)
    moment = np.cross(R @ arms[1], force) * 1e-5
    np.testing.assert_allclose(R @ whole @ R.T @ thing.motion.w[0], moment, atol=1e-13)
    v = thing.motion.v[0] + np.cross(thing.motion.w[0], center - thing.motion.p[0])
    np.testing.assert_allclose(4.0 * v, force * 1e-5, atol=1e-13)


@pytest.mark.parametrize("kind", [REVOLUTE, PRISMATIC])
def test_it_acts_in_steps_that_are_taken_again_with_bounded_efforts(world, kind):
    """A servo that wants far more than its 2 N m may: what moves the link is 2 + 0.5."""
    body = one_joint(kind, Z, effort=Range(-2.0, 2.0), inertia=np.eye(3), mass=1.0)
    engine, arm = world(fixed(body), **STILL)
    arm.drive.kp[0], arm.drive.q[0] = 1e4, 50.0
    (arm.wrench.torque if kind is REVOLUTE else arm.wrench.force)[1] = 0.5 * Z
    engine.step(100)
    assert arm.motion.effort[0] == 2.0
    assert arm.motion.dq[0] == pytest.approx(2.5 * 0.1, rel=1e-6)


def test_links_that_cannot_move_ignore_it_and_a_reset_ends_it(world):
    engine, base, ball = world(floor(), moving(lone(), at(z=5.0)), **STILL)
    base.wrench.force[:] = 1e9
    ball.wrench.force[:] = X
    engine.step(10)
    np.testing.assert_array_equal(base.motion.p[0], 0.0)
    assert ball.motion.v[0, 0] > 0.0
    assert ball.wrench.force[0, 0] == 1.0
    engine.reset()
    for simulated in (base, ball):
        np.testing.assert_array_equal(simulated.wrench.force, 0.0)
        np.testing.assert_array_equal(simulated.wrench.torque, 0.0)
    engine.step(10)
    np.testing.assert_array_equal(ball.motion.v, 0.0)


@pytest.mark.parametrize("name", ["force", "torque"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -1e300, MAX_DRIVE_VALUE])
def test_a_bad_one_is_one_error_that_names_the_link_and_changes_nothing(world, name, value):
    engine, arm = world(fixed(one_joint(REVOLUTE, X)))
    engine.step(10)
    getattr(arm.wrench, name)[1, 2] = value
    with pytest.raises(PhysicsError, match=r"body 'one', link 'ARM': the external force .*0\.01 s"):
        engine.step(5)
    assert engine.state.time_ns == 10_000_000
    getattr(arm.wrench, name)[1, 2] = 0.0
    engine.step(5)
    assert engine.state.time_ns == 15_000_000
