"""Range sensors on simulated robots, against distances worked out on paper."""

from dataclasses import replace

import numpy as np
import pytest
from ray_oracle import distances
from sim.physics.scenes import at, lone, moving, placed, root
from sim.sensors.handmade import random_pose
from sim.sensors.robot_in_room import (
    DEGREE,
    MESHES,
    OWN,
    THINGS,
    WALLS,
    X_SC,
    directions_of,
    engine_with,
    rays_in_room,
    sensor,
    solids_of,
)

from hrp_model import Body, Pose, devices
from hrp_model.geometry import Sphere
from hrp_sim.control import LIMP
from hrp_sim.engine.engine import PhysicsSettings, Placement
from hrp_sim.sensors import RangeSensor3D
from hrp_sim.simulation import Simulation
from hrp_sim.world.config import BodyEntry, WorldConfig

MOUNTINGS = [random_pose(np.random.default_rng(seed)) for seed in range(3)]


@pytest.mark.parametrize(("link", "X_LS"), enumerate(MOUNTINGS), ids=["base", "arm", "lid"])
def test_a_scan_from_a_moving_robot_tells_the_exact_distances(link, X_LS):
    things = THINGS | MESHES
    engine = engine_with(things)
    X_LS = Pose(X_LS.R, 0.3 * X_LS.p)
    for _ in range(2):
        engine.step(150)
        for own in (False, True):
            scan = sensor(engine, link=link, X_LS=X_LS, sees_own_body=own).read(engine.state)
            others = [name for k, name in enumerate(OWN) if own and k != link]
            rays = rays_in_room(engine, link, X_LS, directions_of(scan))
            expected = distances(solids_of(engine, things, others), *rays)
            np.testing.assert_allclose(scan.ranges, expected, rtol=1e-9)
            assert len(scan.ranges) == 120


def test_layers_tell_the_exact_distances():
    things = THINGS | MESHES
    engine = engine_with(things)
    engine.step(150)
    layers = {"pitch_range": 50 * DEGREE, "pitch_step": 10 * DEGREE, "yaw_step": 6 * DEGREE}
    scan = sensor(engine, RangeSensor3D, X_LS=MOUNTINGS[0], **layers).read(engine.state)
    rays = rays_in_room(engine, 1, MOUNTINGS[0], scan.directions)
    expected = distances(solids_of(engine, things), *rays).reshape(6, 60)
    np.testing.assert_allclose(scan.ranges, expected, rtol=1e-9)
    seen = scan.points.reshape(-1, 3)
    np.testing.assert_allclose(np.linalg.norm(seen, axis=1), scan.ranges.ravel(), rtol=1e-12)


@pytest.mark.parametrize("link", [0, 1, 2])
def test_only_the_link_that_carries_the_sensor_stays_unseen(link):
    engine = engine_with({})
    layers = {"pitch_range": 150 * DEGREE, "pitch_step": 10 * DEGREE, "link": link}
    unseen = sensor(engine, RangeSensor3D, **layers).read(engine.state).ranges
    seen = sensor(engine, RangeSensor3D, sees_own_body=True, **layers).read(engine.state).ranges
    nearer = seen < unseen - 1e-9
    assert 20 < nearer.sum() < nearer.size / 2
    np.testing.assert_array_equal(seen[~nearer], unseen[~nearer])


def lone_scanner():
    device = devices.RangeSensor(
        name="laser", link="BASE", yaw_range=4.0, yaw_step=1.0, max_distance=20.0
    )
    return replace(lone(placed(Sphere(0.1)), name="scanner"), devices=(device,))


def entry(placement):
    return BodyEntry(placement=placement, control=LIMP)


def test_bodies_are_seen_from_when_they_come_until_they_go():
    wall = Body(name="wall", links=(root(mass=0.0, collision=(placed(WALLS[0][0]),)),))
    config = WorldConfig(
        physics=PhysicsSettings(gravity=(0.0, 0.0, 0.0)),
        bodies=(entry(moving(lone_scanner(), Pose(X_SC.R.T))),),
    )
    sim = Simulation(config)

    def ahead():
        for _ in range(100):
            readings = sim.step()
        return readings["laser"].ranges[2]

    assert ahead() == np.inf
    sim.spawn(entry(Placement(name="far", body=wall, X_WL=at(5.1), fixed=True)))
    assert ahead() == pytest.approx(5.0, rel=1e-9)
    sim.spawn(entry(Placement(name="near", body=wall, X_WL=at(3.1), fixed=True)))
    assert ahead() == pytest.approx(3.0, rel=1e-9)
    sim.move(Placement(name="near", body=wall, X_WL=at(4.1), fixed=True))
    assert ahead() == pytest.approx(4.0, rel=1e-9)
    sim.remove("near")
    assert ahead() == pytest.approx(5.0, rel=1e-9)
    sim.reset()
    assert ahead() == pytest.approx(5.0, rel=1e-9)
    sim.close()
