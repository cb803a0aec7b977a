"""Spinning bodies against closed forms, and wheels in a satellite."""

from itertools import pairwise

import numpy as np
import pytest
from sim.physics.bodies import top
from sim.physics.measures import energy, momentum, separation
from sim.physics.scenes import REVOLUTE, G, X, Y, Z, at, child, fixed, lone, moving, root, world

from hrp_model.body import Body
from hrp_model.rigid import axis_angle_matrix
from hrp_sim.engine.engine import Solver

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
    turned, leaned = precess(tilt, rate, spin, 1000, solver)
    assert turned == pytest.approx(rate, rel=2e-3)
    assert leaned == pytest.approx(0.0, abs=1e-3 if solver is Solver.WORLD else 5e-3)


def test_a_top_leans_over_by_an_error_of_second_order():
    rate, tilt = 2.0, 0.6
    spin = (ABOUT_TIP * rate**2 * np.cos(tilt) + WEIGHT) / (ALONG * rate)
    leans = [precess(tilt, rate, spin, steps)[1] for steps in (2000, 4000, 8000)]
    assert 0.0 < leans[0] < 1e-4
    for whole, half in pairwise(leans):
        assert half == pytest.approx(whole / 4.0, rel=0.15)


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
    engine, thing = world(moving(lone(inertia=inertia), w=spin), gravity=(0, 0, 0))
    engine.step(500)
    expected = axis_angle_matrix(momentum / np.linalg.norm(momentum), rate / 2.0) @ Z
    np.testing.assert_allclose(thing.motion.R[0] @ Z, expected, atol=1e-11)


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
    assert errors[0] < 2e-4
    assert errors[2] < errors[1] < errors[0]


TURNED = axis_angle_matrix(np.array([0.6, 0.0, 0.8]), 0.7)


@pytest.mark.parametrize("moments", [(1.0, 2.0, 2.9), (1.0, 1.001, 2.0), (1e-6, 1.0, 1.0)])
@pytest.mark.parametrize("speed", [3.0, 500.0])
def test_a_free_body_keeps_its_momentum_and_its_energy_however_fast_it_tumbles(moments, speed):
    inertia = 0.01 * TURNED @ np.diag(moments) @ TURNED.T
    w = speed * np.array([0.3, 0.5, 0.8])
    engine, thing = world(moving(lone(inertia=inertia), w=w), gravity=(0, 0, 0))
    L, energies = inertia @ w, []
    for _ in range(10):
        engine.step(500)
        R, w = thing.motion.R[0], thing.motion.w[0]
        np.testing.assert_allclose(R @ inertia @ R.T @ w, L, atol=1e-10 * np.linalg.norm(L))
        energies.append(w @ L)
    # The error is of second order in the angle of a step, and does not grow with time.
    np.testing.assert_allclose(energies, energies[0], rtol=4e-3 * (speed * 1e-3) ** 2 + 1e-10)


def satellite(*moments):
    """A body, and a wheel off its centre that turns about X."""
    base = root(free=True, mass=20.0, inertia=np.diag([1.0, 1.5, 2.0]))
    wheel = {"mass": 2.0, "inertia": np.diag(moments), "X_PL": at(0.1, 0.2, 0.3)}
    return Body(name="satellite", links=(base, child("WHEEL", "BASE", REVOLUTE, X, **wheel)))


@pytest.mark.parametrize(
    "moments", [(0.004, 0.002, 0.002), (0.002, 0.02, 0.02), (0.004, 3e-3, 2e-3)]
)
@pytest.mark.parametrize("spin", [100.0, 2000.0])
def test_a_reaction_wheel_keeps_the_momentum_of_its_satellite(moments, spin):
    thrown = moving(satellite(*moments), w=np.array([0.3, 0.4, 0.2]), dq=np.array([spin]))
    engine, simulated = world(thrown, gravity=(0, 0, 0))
    (P, L), E = momentum(simulated), energy(simulated, gravity=0.0)
    engine.step(2000)
    np.testing.assert_allclose(momentum(simulated)[0], P, atol=1e-10)
    np.testing.assert_allclose(momentum(simulated)[1], L, atol=1e-7 * np.linalg.norm(L))
    assert energy(simulated, gravity=0.0) == pytest.approx(E, rel=2e-4)
    assert separation(simulated) < 1e-6
    R = simulated.motion.R
    np.testing.assert_allclose(R[1] @ X, R[0] @ X, atol=5e-3)
