"""What stands stays, and what drives goes where it is told, for long."""

from dataclasses import replace

import numpy as np
import pytest
from paths import MODELS
from sim.physics.scenes import (
    TRACK,
    Y,
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
from hrp_model.rigid import axis_angle_matrix
from hrp_sim import JointCommand, Simulation, load_world
from hrp_sim.engine.engine import Solver

SOLVERS = pytest.mark.parametrize("solver", list(Solver))
SIDE = 0.2


def stack(count, shift=0.0):
    """Cubes upon each other, each moved and turned a little at random."""
    rng = np.random.default_rng(4)
    cube = lone(placed(Box(np.full(3, SIDE))), inertia=box_inertia(1.0, np.full(3, SIDE)))
    return [
        moving(
            cube,
            at(
                *(shift * rng.uniform(-1.0, 1.0, 2)),
                SIDE * (k + 0.5),
                axis_angle_matrix(Z, 10.0 * shift * rng.uniform(-1.0, 1.0)),
            ),
            name=f"cube{k}",
        )
        for k in range(count)
    ]


@pytest.mark.parametrize("shift", [pytest.param(0.0, marks=pytest.mark.slow), 0.01])
def test_iterations_hold_a_stack_of_ten_cubes(shift):
    placements = stack(10, shift)
    engine, *cubes = world(*placements, floor(), solver=Solver.QUICK)
    for _ in range(20):
        engine.step(100)
        for k, (cube, placement) in enumerate(zip(cubes, placements, strict=False)):
            assert cube.motion.p[0, 2] == pytest.approx(SIDE * (k + 0.5), abs=2e-3)
            np.testing.assert_allclose(cube.motion.p[0, :2], placement.X_WL.p[:2], atol=5e-3)


def yaw(R0, R):
    turn = R0.T @ R
    return np.arctan2(turn[1, 0], turn[0, 0])


def test_a_humanoid_stands_without_drift():
    simulation = Simulation(load_world(MODELS / "humanoid" / "humanoid.body"))
    simulation.wanted = lambda name: False
    motion = simulation.bodies["Humanoid"].motion
    p, R, q = motion.p[0].copy(), motion.R[0].copy(), motion.q.copy()
    for _ in range(5):
        for _ in range(1000):
            simulation.step()
        np.testing.assert_allclose(motion.p[0], p, atol=4e-5)
    assert yaw(R, motion.R[0]) == pytest.approx(0.0, abs=1e-6)
    assert motion.R[0, 2, 2] == pytest.approx(1.0, abs=1e-8)
    np.testing.assert_allclose(motion.q, q, atol=1e-6)


def test_iterations_hold_a_humanoid_for_some_seconds_when_there_are_enough():
    """Fifty are too few for soles of 0.15 kg under 42 kg, that a force sensor keeps apart."""
    drifts = {}
    for iterations in (50, 150):
        config = load_world(MODELS / "humanoid" / "humanoid.body")
        physics = replace(config.physics, solver=Solver.QUICK, iterations=iterations)
        simulation = Simulation(replace(config, physics=physics))
        simulation.wanted = lambda name: False
        motion = simulation.bodies["Humanoid"].motion
        start = motion.p[0].copy()
        for _ in range(1500):
            simulation.step()
        drifts[iterations] = np.abs(motion.p[0] - start).max()
    assert drifts[150] < 1e-3 < drifts[50]


def test_the_rover_of_the_models_drives_at_its_commanded_speed():
    simulation = Simulation(load_world(MODELS / "rover" / "rover.body"))
    simulation.wanted = lambda name: False
    (rover,) = (b for b in simulation.bodies.values() if b.body.name.lower() == "rover")
    tracks = [x.joint.name for x in rover.body.links if x.joint.type is TRACK]
    for _ in range(500):
        simulation.step()
    simulation.command(rover.name, JointCommand(tracks, velocity=[0.3] * len(tracks)))
    for _ in range(1000):
        simulation.step()
    p = rover.motion.p[0].copy()
    for _ in range(1000):
        simulation.step()
    went = rover.motion.p[0] - p
    assert np.linalg.norm(went) == pytest.approx(0.3, rel=0.02)
    assert abs(went[1]) < 0.01


@SOLVERS
@pytest.mark.parametrize("heading", [0.0, 0.7])
def test_a_conveyor_carries_at_its_speed_along_its_belt(heading, solver):
    belt = Body(
        name="belt",
        links=(
            root(),
            child("BELT", "BASE", TRACK, Y, collision=(placed(Box(np.array([6.0, 1.0, 0.1]))),)),
        ),
    )
    R = axis_angle_matrix(Z, heading)
    parcel = lone(placed(Box(np.full(3, 0.2))), name="parcel", inertia=np.eye(3) / 150.0)
    engine, carried, conveyor = world(
        moving(parcel, at(z=0.1499, R=R)), fixed(belt, at(R=R)), solver=solver
    )
    conveyor.drive.track_speed[1] = 0.4
    engine.step(500)
    p = carried.motion.p[0].copy()
    engine.step(1500)
    np.testing.assert_allclose(carried.motion.p[0] - p, R @ [0.6, 0.0, 0.0], atol=0.01)
