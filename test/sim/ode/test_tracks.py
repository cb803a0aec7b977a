"""Vehicles on continuous tracks, made in code and as published."""

from dataclasses import replace

import numpy as np
import pytest
from paths import SHARED, needs_shared
from sim.physics.scenes import (
    TRACK,
    G,
    Y,
    at,
    child,
    fixed,
    floor,
    lone,
    moving,
    placed,
    root,
    world,
)

from hrp_model import Diagnostics
from hrp_model.body import Body, JointType
from hrp_model.geometry import Box
from hrp_model.shapes.tessellate import mesh_of
from hrp_sim.engine.engine import Solver
from hrp_sim.engine.materials import ContactMaterial, MaterialTable, material_pair
from hrp_sim.engine.ode import OdeEngine
from hrp_sim.world.load import load_world

MODELS = SHARED / "models"
PUBLISHED = {
    "crawler": "choreonoid__choreonoid/share/model/misc/crawler.body",
    "tank": "choreonoid__choreonoid/share/model/Tank/Tank.body",
    "spider": "choreonoid__choreonoid/share/model/AizuSpider/AizuSpiderNS.body",
    "openhrp": "fkanehiro__openhrp3/sample/model/crawler.wrl",
}


def rover(belt, material="", com=(0.0, 0.0, 0.0)):
    shapes = (placed(belt),)
    links = (
        root(free=True, mass=10.0, inertia=np.eye(3) * 0.4, center_of_mass=com),
        *(
            child(
                name,
                "BASE",
                TRACK,
                Y,
                X_PL=at(y=y),
                collision=shapes,
                mass=0.1,
                contact_material=material,
            )
            for name, y in (("L", 0.25), ("R", -0.25))
        ),
    )
    return Body(name="rover", links=links)


BELT = Box(np.array([0.6, 0.1, 0.1]))


@pytest.mark.parametrize("solver", list(Solver))
@pytest.mark.parametrize("belt", [BELT, mesh_of(BELT)], ids=["box", "mesh"])
@pytest.mark.parametrize("speed", [0.4, -0.4])
def test_a_vehicle_drives_straight_at_the_speed_of_its_tracks(belt, speed, solver):
    engine, thing, _ = world(moving(rover(belt), at(z=0.0499)), floor(), solver=solver)
    thing.drive.track_speed[1:] = speed
    engine.step(500)
    before = thing.motion.p[0].copy()
    engine.step(1000)
    moved = thing.motion.p[0] - before
    np.testing.assert_allclose(moved, [speed, 0.0, 0.0], atol=0.02 * abs(speed))
    assert np.abs(thing.motion.w[0]).max() < 1e-3


@pytest.mark.parametrize("solver", list(Solver))
@pytest.mark.parametrize("belt", [BELT, mesh_of(BELT)], ids=["box", "mesh"])
def test_a_vehicle_turns_on_the_spot_about_its_middle(belt, solver):
    engine, thing, _ = world(moving(rover(belt), at(z=0.0499)), floor(), solver=solver)
    thing.drive.track_speed[1:] = -0.2, 0.2
    engine.step(500)
    # Between the inner and the outer edge of the tracks lies what rolls without slip.
    assert 0.2 / 0.3 - 0.01 < thing.motion.w[0, 2] < 0.2 / 0.2 + 0.01
    centers = []
    for _ in range(20):
        engine.step(100)
        v, w = thing.motion.v[0], thing.motion.w[0, 2]
        centers.append(thing.motion.p[0, :2] + np.array([-v[1], v[0]]) / w)
    assert np.abs(centers).max() < 0.01


@pytest.mark.parametrize("ground_first", [False, True])
def test_a_vehicle_drives_the_same_way_on_ground_that_could_move(ground_first):
    slab = lone(
        placed(Box(np.array([9.0, 9.0, 1.0]))), name="slab", mass=1e4, inertia=1e4 * np.eye(3)
    )
    ground = moving(slab, at(z=-0.5)), replace(floor(), X_WL=at(z=-1.0))
    bodies = [moving(rover(BELT), at(z=0.0499)), *ground]
    engine, *simulated = world(*(reversed(bodies) if ground_first else bodies))
    thing = next(body for body in simulated if body.name == "rover")
    thing.drive.track_speed[1:] = 0.4
    engine.step(1000)
    np.testing.assert_allclose(thing.motion.v[0], [0.4, 0.0, 0.0], atol=0.02)


def test_tracks_count_how_far_their_surfaces_run_on_the_ground_or_not():
    """Speeds change at every step, then stay; a jump runs no surface."""
    body = rover(BELT)
    engine, thing = world(moving(body, at(z=5.0)), time_step=0.002)
    speeds = np.random.default_rng(5).normal(size=(500, 2))
    for speed in speeds:
        thing.drive.track_speed[1:] = speed
        engine.step()
    expected = 0.002 * speeds.sum(axis=0)
    np.testing.assert_allclose(thing.motion.track_position, [0.0, *expected], atol=1e-13)
    engine.move_body(moving(body, at(x=3.0, z=5.0)))
    engine.step(500)
    expected += speeds[-1]
    np.testing.assert_allclose(thing.motion.track_position, [0.0, *expected], atol=1e-12)
    engine.reset()
    assert not thing.motion.track_position.any()


def test_tracks_pull_no_harder_than_their_material_holds():
    ice = MaterialTable(pairs={material_pair("Rubber", ""): ContactMaterial(friction=0.1)})
    engine, thing, _ = world(
        moving(rover(BELT, "Rubber"), at(z=0.0499)), floor(), friction=0.9, materials=ice
    )
    thing.drive.track_speed[1:] = 2.0
    engine.step(1000)
    assert thing.motion.v[0, 0] == pytest.approx(0.1 * G, rel=0.02)


def test_a_conveyor_carries_at_its_speed_also_what_is_pressed_deep_into_it():
    shape = placed(Box(np.array([4.0, 1.0, 0.1])))
    belt = Body(name="belt", links=(root(), child("BELT", "BASE", TRACK, Y, collision=(shape,))))
    parcel = lone(placed(BELT), name="parcel")
    engine, carried, conveyor = world(moving(parcel, at(z=0.092)), fixed(belt))  # 8 mm deep
    conveyor.drive.track_speed[1] = 0.3
    engine.step(100)
    assert carried.motion.v[0, 0] == pytest.approx(0.3, rel=0.02)


@needs_shared
@pytest.mark.parametrize("name", PUBLISHED)
def test_published_vehicles_drive_straight(name):
    scene = load_world(MODELS / PUBLISHED[name], Diagnostics.silent())
    engine = OdeEngine(scene.physics)
    bodies = [engine.add_body(entry.placement) for entry in scene.bodies]
    vehicle = max(bodies, key=lambda body: len(body.body.links))
    for i, link in enumerate(vehicle.body.links):
        if link.joint.type is JointType.TRACK:
            vehicle.drive.track_speed[i] = 0.3
    vehicle.drive.kp[:], vehicle.drive.kd[:] = 1000.0, 100.0
    vehicle.drive.q[:] = vehicle.motion.q
    engine.step(1000)
    R, before = vehicle.motion.R[0].copy(), vehicle.motion.p[0].copy()
    engine.step(1000)
    ahead = R.T @ (vehicle.motion.p[0] - before)
    np.testing.assert_allclose(ahead, [0.3, 0.0, 0.0], atol=0.006)
