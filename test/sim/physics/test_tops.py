"""Spinning bodies against closed forms.

ODE integrates the gyroscopic torque implicitly: stable at any speed and of first order, with an
error that grows with the angle of a step. At 1 ms a top of 100 rad/s precesses at its rate but
leans over by some tenths of a radian in a second; the tests say so, and that it halves with the
step.
"""

from itertools import pairwise

import numpy as np
import pytest
from sim.physics.bodies import top
from sim.physics.scenes import REVOLUTE, G, X, Y, Z, child, fixed, lone, moving, root, world

from hrp_model.body import Body
from hrp_model.rigid import axis_angle_matrix
from hrp_sim.physics.engine import Solver

SOLVERS = pytest.mark.parametrize("solver", list(Solver))
MASS, LENGTH, ACROSS, ALONG = 1.0, 0.1, 0.002, 0.004
ABOUT_TIP = ACROSS + MASS * LENGTH**2
WEIGHT = MASS * G * LENGTH
TOP = top(mass=MASS, length=LENGTH, across=ACROSS, along=ALONG)


def precess(tilt, rate, spin, steps, solver=Solver.WORLD, seconds=1.0):
    """Return how far a top came round, and how much it leaned over."""
    start = np.array([0.0, tilt, 0.0])
    rates = np.array([rate, 0.0, spin - rate * np.cos(tilt)])
    engine, simulated = world(fixed(TOP, q=start, dq=rates), time_step=1.0 / steps, solver=solver)
    engine.step(round(seconds * steps))
    return simulated.motion.q[0], simulated.motion.q[1] - tilt


@SOLVERS
@pytest.mark.parametrize("tilt", [0.6, np.pi / 2.0, 2.2])
def test_a_top_precesses_steadily_at_its_rate(tilt, solver):
    rate = 2.0
    # I1 W^2 cos(tilt) - I3 w3 W + m g l = 0
    spin = (ABOUT_TIP * rate**2 * np.cos(tilt) + WEIGHT) / (ALONG * rate)
    turned, _ = precess(tilt, rate, spin, 1000, solver)
    assert turned == pytest.approx(rate, rel=0.01)


def test_a_top_leans_over_by_an_error_of_first_order():
    rate, tilt = 2.0, 0.6
    spin = (ABOUT_TIP * rate**2 * np.cos(tilt) + WEIGHT) / (ALONG * rate)
    leans = [precess(tilt, rate, spin, steps)[1] for steps in (1000, 2000, 4000, 8000)]
    assert 0.0 < leans[0] < 0.25
    for whole, half in pairwise(leans):
        assert half == pytest.approx(whole / 2.0, rel=0.1)


def test_a_fast_top_precesses_as_its_weight_over_its_spin():
    # m g l / (I3 w3), to which the steady rate tends as the spin grows.
    spin = 200.0
    rate = WEIGHT / (ALONG * spin)
    errors = [precess(0.5, rate, spin, steps)[0] / rate - 1.0 for steps in (2000, 8000)]
    assert abs(errors[0]) < 0.03
    assert abs(errors[1]) < abs(errors[0])


@pytest.mark.parametrize(("solver", "loss"), [(Solver.WORLD, 0.02), (Solver.QUICK, 0.06)])
def test_a_top_that_does_not_spin_falls_as_a_pendulum(solver, loss):
    engine, simulated = world(fixed(TOP, q=np.array([0.0, 0.3, 0.0])), solver=solver)
    for _ in range(3):
        engine.step(100)
        fallen, rate = simulated.motion.q[1], simulated.motion.dq[1]
        gained = WEIGHT * (np.cos(0.3) - np.cos(fallen))
        assert ABOUT_TIP * rate**2 / 2.0 == pytest.approx(gained, rel=loss)
    assert simulated.motion.q[0] == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize("along", [0.03, 0.005])
def test_the_axis_of_a_free_body_goes_round_its_momentum(along):
    """At |L| / I1, whether the body is flat or long."""
    inertia = np.diag([0.01, 0.01, along])
    spin = np.array([2.0, 0.0, 10.0])
    momentum = inertia @ spin
    rate = np.linalg.norm(momentum) / 0.01
    errors = []
    for steps in (1000, 2000, 4000):
        engine, thing = world(
            moving(lone(inertia=inertia), w=spin), gravity=(0, 0, 0), time_step=1.0 / steps
        )
        engine.step(steps // 2)
        expected = axis_angle_matrix(momentum / np.linalg.norm(momentum), rate / 2.0) @ Z
        errors.append(np.linalg.norm(thing.motion.R[0] @ Z - expected))
    assert errors[0] < 0.02
    for whole, half in pairwise(errors):
        assert half == pytest.approx(whole / 2.0, rel=0.15)


@SOLVERS
def test_a_gyroscope_on_hinges_pushes_back_across_its_spin(solver):
    """Turning a wheel of momentum H at a rate W takes a torque H W about the third axis."""
    links = (
        root(),
        child("YAW", "BASE", REVOLUTE, Z),
        child("PITCH", "YAW", REVOLUTE, Y),
        child("WHEEL", "PITCH", REVOLUTE, X, inertia=np.diag([0.01, 0.005, 0.005])),
    )
    rate, spin = 0.5, 80.0
    errors = []
    for steps in (1000, 2000, 4000):
        engine, gyro = world(
            fixed(Body(name="gyro", links=links), dq=np.array([rate, 0.0, spin])),
            gravity=(0, 0, 0),
            time_step=1.0 / steps,
            solver=solver,
        )
        drive = gyro.drive
        drive.kd[0], drive.dq[0] = 1e4, rate
        drive.kp[1], drive.kd[1] = 1e4, 100.0
        engine.step(steps // 2)
        errors.append(abs(gyro.motion.effort[1] / (0.01 * spin * rate) - 1.0))
        assert gyro.motion.dq[2] == pytest.approx(spin, rel=1e-4)
    assert errors[0] < 0.02
    assert errors[2] < errors[1] < errors[0]
