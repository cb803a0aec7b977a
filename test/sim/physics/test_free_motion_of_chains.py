"""Free motion of branched chains against MuJoCo, and what it conserves."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from paths import MODELS
from sim.physics.bodies import chain
from sim.physics.measures import energy, momentum, separation
from sim.physics.mujoco_peer import free_motion
from sim.physics.scenes import (
    PRISMATIC,
    REVOLUTE,
    Y,
    Z,
    at,
    child,
    fixed,
    moving,
    one_joint,
    root,
    world,
)

from hrp_model import load_body
from hrp_model.body import Body
from hrp_sim.engine.engine import Solver

SOLVERS = pytest.mark.parametrize("solver", list(Solver))
WEIGHTLESS = (0.0, 0.0, 0.0)
Q = np.array([0.3, -0.5, 0.1, 0.4, -0.2])
DQ = np.array([1.0, -2.0, 0.5, 1.5, -1.0])
V, W = np.array([0.3, -0.2, 0.5]), np.array([1.0, 2.0, -1.5])
STEPS = 1000, 2000, 4000  # in a second


def is_second_order(errors, rel=0.1):
    """Whether halving the step quarters the error, by and large."""
    return all(b == pytest.approx(a / 4.0, rel=rel) for a, b in pairwise(errors))


@pytest.mark.parametrize("rotors", [False, True])
def test_a_chain_with_rotors_moves_as_in_mujoco(rotors):
    body = chain(rotors=rotors)
    exact, _ = free_motion(body, 1.0, q=Q, dq=DQ)
    errors, drifts = [], []
    for steps in STEPS:
        engine, simulated = world(fixed(body, q=Q, dq=DQ), time_step=1.0 / steps)
        before = energy(simulated)
        engine.step(steps)
        errors.append(np.abs(simulated.motion.q - exact).max())
        drifts.append(abs(energy(simulated) - before))
        assert separation(simulated) < 2e-5
    assert errors[0] < 3e-4
    assert is_second_order(errors)
    assert drifts[0] < 1e-4 * abs(before)
    assert is_second_order(drifts, rel=0.25)


@pytest.mark.parametrize("rotors", [False, True])
def test_iterations_follow_a_chain_nearly_as_well(rotors):
    body = chain(rotors=rotors)
    exact, _ = free_motion(body, 1.0, q=Q, dq=DQ)
    engine, simulated = world(fixed(body, q=Q, dq=DQ), solver=Solver.QUICK)
    engine.step(1000)
    np.testing.assert_allclose(simulated.motion.q, exact, atol=5e-3)
    assert separation(simulated) < 2e-4


@SOLVERS
def test_a_tumbling_chain_keeps_its_momentum_and_its_energy_to_second_order(solver):
    body = chain(free=True, rotors=False)
    exact, place = free_motion(body, 1.0, q=Q, dq=DQ, root=(V, W), gravity=WEIGHTLESS)
    errors, turns, drifts = [], [], []
    for steps in STEPS:
        engine, simulated = world(
            moving(body, q=Q, dq=DQ, v=V, w=W),
            gravity=WEIGHTLESS,
            time_step=1.0 / steps,
            solver=solver,
        )
        P, L = momentum(simulated)
        E = energy(simulated, gravity=0.0)
        engine.step(steps)
        P_end, L_end = momentum(simulated)
        np.testing.assert_allclose(P_end, P, atol=1e-12)
        errors.append(np.abs(simulated.motion.q - exact).max())
        turns.append(np.linalg.norm(L_end - L) / np.linalg.norm(L))
        drifts.append(abs(energy(simulated, gravity=0.0) - E) / E)
        np.testing.assert_allclose(simulated.motion.p[0], place, atol=0.2 / steps)
        assert separation(simulated) < 5e-6
    assert errors[0] < 5e-5
    assert turns[0] < 5e-6
    assert drifts[0] < 5e-5
    assert is_second_order(errors)
    assert is_second_order(turns)
    assert is_second_order(drifts)


@SOLVERS
@pytest.mark.parametrize("offset", [0.0, 0.3])
def test_the_rotor_of_a_slider_on_a_turning_base_resists_the_centrifugal_force(offset, solver):
    """A rotor resists what the rate of its joint does, not what the velocity along an axis does."""
    body = one_joint(PRISMATIC, Y, free=True, X_PL=at(offset), rotor=0.5)
    w, dq = 1.5 * Z, np.array([0.3])
    exact, _ = free_motion(
        body, 0.5, q=np.zeros(1), dq=dq, root=(np.zeros(3), w), gravity=WEIGHTLESS
    )
    engine, simulated = world(moving(body, w=w, dq=dq), gravity=WEIGHTLESS, solver=solver)
    engine.step(500)
    np.testing.assert_allclose(simulated.motion.q, exact, atol=3e-5)


@SOLVERS
def test_a_servo_holds_a_slider_on_a_turning_base_where_the_force_balances(solver):
    """k x = m w^2 (x0 + x), on a base so heavy that it turns on as before."""
    kp, speed, arm = 100.0, 3.0, 0.2
    links = (
        root(),
        child("TABLE", "BASE", REVOLUTE, Z, mass=1e3, inertia=np.eye(3) * 1e3),
        child("ARM", "TABLE", PRISMATIC, Y, X_PL=at(y=arm)),
    )
    engine, simulated = world(
        fixed(Body(name="table", links=links), dq=np.array([speed, 0.0])),
        gravity=WEIGHTLESS,
        solver=solver,
    )
    simulated.drive.kp[1], simulated.drive.kd[1] = kp, 3.0
    engine.step(8000)
    rate = simulated.motion.dq[0]
    assert rate == pytest.approx(speed, rel=1e-3)
    # Steps along the tangent are made up for by a rate of -h w^2 r / 2, which kd feels.
    assert simulated.motion.q[1] == pytest.approx(rate**2 * arm / (kp - rate**2), rel=2e-3)
    assert simulated.motion.effort[1] == pytest.approx(-kp * simulated.motion.q[1], rel=2e-3)


def test_iterations_take_up_rotors_that_outweigh_their_links_slowly():
    arm = load_body(MODELS / "arm" / "arm.body")
    arm = replace(arm, links=tuple(replace(link, collision=()) for link in arm.links))
    start = np.linspace(0.3, -0.3, len(arm.moving_links))
    exact, _ = free_motion(arm, 1.0, q=start)
    errors = []
    for iterations in (50, 200, 500):
        engine, simulated = world(
            fixed(arm, q=start), solver=Solver.QUICK, iterations=iterations, joint_limits=False
        )
        engine.step(1000)
        errors.append(np.abs(simulated.motion.q - exact).max())
    assert errors[2] < errors[1] < errors[0]
    assert errors[2] < 5e-3
