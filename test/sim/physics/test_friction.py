"""Coulomb friction against closed forms, whatever the direction."""

import numpy as np
import pytest
from sim.physics.scenes import (
    PRISMATIC,
    G,
    X,
    Z,
    at,
    box_inertia,
    child,
    fixed,
    floor,
    lone,
    moving,
    placed,
    root,
    world,
)

from hrp_model.body import Body
from hrp_model.geometry import Box
from hrp_model.rigid import Pose, axis_angle_matrix
from hrp_sim.engine.engine import Solver

SOLVERS = pytest.mark.parametrize("solver", list(Solver))
HEADINGS = pytest.mark.parametrize("heading", [0.0, 0.4, 2.2])
BLOCK = np.array([0.3, 0.3, 0.05])
MU = 0.5


def towards(heading):
    return np.array([np.cos(heading), np.sin(heading), 0.0])


def block():
    return lone(placed(Box(BLOCK)), inertia=box_inertia(1.0, BLOCK))


def on_slope(angle, heading, solver, **motion):
    """A block on a slope that falls towards a heading, and the direction downhill."""
    down = towards(heading)
    R = axis_angle_matrix(np.cross(Z, down), angle)
    engine, thing, _ = world(
        moving(block(), Pose(R, R @ [0.0, 0.0, 0.0249]), **motion),
        floor(R=R),
        friction=MU,
        solver=solver,
    )
    return engine, thing, R @ down


@SOLVERS
@HEADINGS
def test_a_block_sticks_just_below_the_angle_of_friction(heading, solver):
    engine, thing, _ = on_slope(0.99 * np.arctan(MU), heading, solver)
    engine.step(100)
    before = thing.motion.p[0].copy()
    engine.step(1000)
    np.testing.assert_allclose(thing.motion.p[0], before, atol=1e-7)


@SOLVERS
@HEADINGS
@pytest.mark.parametrize("share", [1.01, 1.5])
def test_a_block_slides_straight_down_above_the_angle_of_friction(share, heading, solver):
    angle = share * np.arctan(MU)
    engine, thing, down = on_slope(angle, heading, solver)
    engine.step(100)
    before = thing.motion.v[0].copy()
    engine.step(500)
    acceleration = (thing.motion.v[0] - before) / 0.5
    expected = G * (np.sin(angle) - MU * np.cos(angle))
    np.testing.assert_allclose(acceleration, expected * down, atol=2e-3)


@SOLVERS
@HEADINGS
def test_a_pushed_block_slides_straight_and_stops_after_its_distance(heading, solver):
    speed, mu = 1.5, 0.3
    engine, thing, _ = world(
        moving(block(), at(z=0.0249), v=speed * towards(heading)),
        floor(),
        friction=mu,
        solver=solver,
    )
    engine.step(400)
    np.testing.assert_allclose(
        thing.motion.v[0], (speed - mu * G * 0.4) * towards(heading), atol=1e-3
    )
    engine.step(400)
    way = speed**2 / (2.0 * mu * G)
    np.testing.assert_allclose(thing.motion.p[0, :2], way * towards(heading)[:2], atol=5e-4)
    np.testing.assert_allclose(thing.motion.v[0], 0.0, atol=1e-6)


@SOLVERS
def test_a_block_that_spins_is_braked_about_its_axis_alone(solver):
    """With `world` the face bears the load evenly, with the others four corners a quarter each."""
    engine, thing, _ = world(
        moving(block(), at(z=0.0249), w=6.0 * Z), floor(), friction=0.2, solver=solver
    )
    engine.step(50)
    np.testing.assert_allclose(thing.motion.p[0, :2], 0.0, atol=5e-5)
    arm = 0.15 * np.sqrt(2.0)
    if solver is Solver.WORLD:
        arm = 0.3 * (np.sqrt(2.0) + np.arcsinh(1.0)) / 6.0  # mean distance from the middle
    assert thing.motion.w[0, 2] == pytest.approx(
        6.0 - 0.2 * G * arm / box_inertia(1.0, BLOCK)[2, 2] * 0.05, rel=3e-3
    )


@SOLVERS
@HEADINGS
@pytest.mark.parametrize("share", [0.98, 1.02])
def test_a_driven_block_moves_when_the_push_exceeds_friction(share, heading, solver):
    """A light lift leaves the weight to the floor, and the drive pushes the block along."""
    links = (
        root(),
        child("LIFT", "BASE", PRISMATIC, Z, mass=1e-4),
        child(
            "BLOCK",
            "LIFT",
            PRISMATIC,
            towards(heading),
            X_PL=at(z=0.0249),
            collision=(placed(Box(BLOCK)),),
        ),
    )
    engine, sledge, _ = world(
        fixed(Body(name="sledge", links=links)), floor(), friction=MU, solver=solver
    )
    sledge.drive.effort[1] = share * MU * G
    engine.step(500)
    expected = max(share - 1.0, 0.0) * MU * G * 0.5
    assert sledge.motion.dq[1] == pytest.approx(expected, abs=5e-4)


@SOLVERS
@pytest.mark.parametrize("angle", [0.2, 0.5])
def test_a_block_thrown_across_a_slope_turns_downhill(angle, solver):
    across = np.array([0.0, 1.0, 0.0])
    engine, thing, down = on_slope(angle, 0.0, solver, v=2.0 * across)
    h, v = 0.001, np.array([0.0, 2.0])  # downhill, across
    for _ in range(300):
        v += h * G * np.array([np.sin(angle), 0.0]) - h * MU * G * np.cos(
            angle
        ) * v / np.linalg.norm(v)
    engine.step(300)
    assert thing.motion.v[0] @ down == pytest.approx(v[0], abs=0.01)
    assert thing.motion.v[0] @ across == pytest.approx(v[1], abs=0.01)


@SOLVERS
def test_friction_acts_along_the_slip_of_what_moves_on_what_moves(solver):
    """A block slides obliquely on a carriage that rolls along X without friction."""
    mu, carriage_mass, h = 0.3, 2.0, 0.001
    top = (placed(Box(np.array([2.0, 2.0, 0.1]))),)
    links = (root(), child("TOP", "BASE", PRISMATIC, X, mass=carriage_mass, collision=top))
    start = 1.2 * towards(0.8)
    engine, carriage, thing = world(
        fixed(Body(name="carriage", links=links)),
        moving(block(), at(z=0.0749), v=start),
        friction=mu,
        solver=solver,
    )
    engine.step(250)
    v, u = start[:2].copy(), 0.0
    for _ in range(250):
        slip = v - [u, 0.0]
        force = -mu * G * slip / np.linalg.norm(slip)
        v += h * force
        u -= h * force[0] / carriage_mass
    np.testing.assert_allclose(thing.motion.v[0, :2], v, atol=2e-3)
    assert carriage.motion.dq[0] == pytest.approx(u, abs=2e-3)
