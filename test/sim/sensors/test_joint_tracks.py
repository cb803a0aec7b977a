"""Tracks in joint states: how far their surfaces have run, and how fast."""

import numpy as np
import pytest
import vehicles
from fake_engine import FakeEngine
from paths import MODELS

from hrp_model import JointType
from hrp_sim import JointCommand, Simulation, load_world
from hrp_sim.engine.engine import Placement
from hrp_sim.sensors import JointReading
from hrp_sim.world.config import BodyEntry, WorldConfig

TRACKS = ["TRACK_L", "TRACK_R"]
SPEEDS = [0.3, -0.2]


@pytest.fixture
def rover():
    world = load_world(MODELS / "worlds" / "rover.yaml")
    simulation = Simulation(world, engine=FakeEngine(world.physics))
    simulation.wanted = lambda name: name == "joint_states"
    simulation.command("rover", JointCommand(TRACKS, velocity=SPEEDS))
    return simulation


def alone(body):
    entry = BodyEntry(placement=Placement(name="v", body=body))
    return Simulation(WorldConfig(bodies=(entry,)), engine=FakeEngine())


def run(simulation, steps):
    """Return the last joint states of some steps."""
    found = [r for _ in range(steps) for r in simulation.step().values()]
    return found[-1]


def test_tracks_have_their_places_among_the_joints_by_id(rover):
    reading = run(rover, 2)
    assert isinstance(reading, JointReading)
    assert reading.names == (*TRACKS, "MAST")
    motion = rover.bodies["rover"].motion
    motion.q[0], motion.dq[0], motion.effort[0] = 0.1, 0.2, 0.3
    reading = run(rover, 2)
    mast = [vector[2] for vector in (reading.position, reading.velocity, reading.effort)]
    assert mast == [0.1, 0.2, 0.3]


def test_a_track_without_an_id_comes_after_the_joints_with_one():
    track = vehicles.wheel("BELT", [0, 0.2, 0], type=JointType.TRACK)
    wheels = vehicles.wheel("A", [0, 0, 0]), vehicles.wheel("B", [0, 0, 0], id=4)
    simulation = alone(vehicles.vehicle(track, *wheels))
    simulation.command("v", JointCommand(["BELT"], velocity=[0.5]))
    simulation.bodies["v"].motion.q[:] = 1.0, 2.0
    simulation.wanted = lambda name: name == "joint_states"
    reading = run(simulation, 2)
    assert reading.names == ("B", "BELT", "A")
    assert reading.position.tolist() == [1.0, 0.001, 2.0]


def test_a_body_of_tracks_alone_tells_them():
    track = vehicles.wheel("BELT", [0, 0.2, 0], type=JointType.TRACK)
    simulation = alone(vehicles.vehicle(track))
    assert simulation.sensors["joint_states"].joints == ("BELT",)


def test_position_is_travelled_distance_velocity_the_speed_and_effort_unknown(rover):
    reading = run(rover, 2000)
    np.testing.assert_allclose(reading.position[:2], 2.0 * np.array(SPEEDS), rtol=1e-13)
    np.testing.assert_array_equal(reading.velocity[:2], SPEEDS)
    assert np.isnan(reading.effort[:2]).all()
    rover.command("rover", JointCommand(TRACKS[:1], velocity=[-0.3]))
    reading = run(rover, 2000)
    np.testing.assert_allclose(reading.position[:2], [0.0, -0.8], atol=1e-12)
    np.testing.assert_array_equal(reading.velocity[:2], [-0.3, -0.2])


def test_the_distance_is_right_after_nobody_listened(rover):
    run(rover, 500)
    rover.set_enabled("joint_states", False)
    for _ in range(500):
        assert rover.step() == {}
    rover.set_enabled("joint_states", True)
    reading = run(rover, 500)
    np.testing.assert_allclose(reading.position[:2], 1.5 * np.array(SPEEDS), rtol=1e-13)


def test_a_snapshot_keeps_the_distance():
    simulation = Simulation(load_world(MODELS / "worlds" / "rover.yaml"))
    simulation.wanted = lambda name: name == "joint_states"
    simulation.command("rover", JointCommand(TRACKS, velocity=SPEEDS))
    run(simulation, 100)
    saved = simulation.save()
    there = run(simulation, 100).position
    simulation.restore(saved)
    np.testing.assert_array_equal(run(simulation, 100).position, there)
