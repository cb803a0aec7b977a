"""The PyODE engine approaches what the C engine computes, as the time step decreases.

PyODE steps by ODE's own means, which are of first order in the time step: a tenth of the step is
a tenth of the difference.
"""

from dataclasses import replace

import numpy as np
import pytest
from each_case import mostly_slow
from paths import MODELS
from sim.physics.scenes import (
    REVOLUTE,
    TRACK,
    G,
    X,
    Y,
    Z,
    at,
    box_inertia,
    child,
    fixed,
    floor,
    lone,
    moving,
    one_joint,
    placed,
    root,
)

from hrp_model.body import Body, ExtraJoint, ExtraJointType, Range
from hrp_model.devices import ForceSensor
from hrp_model.geometry import Box, Capsule, Cylinder, Sphere
from hrp_model.rigid import axis_angle_matrix
from hrp_sim import Simulation, load_world
from hrp_sim.engine.engine import ENGINES, make_engine
from hrp_sim.engine.materials import ContactMaterial, Material, MaterialTable, material_pair

pytest.importorskip("ode", reason="PyODE is not installed (python3-pyode)")

from sim.pyode.worlds import difference, drive, in_both, pile, robot_in_motion

CLOSE = 1e-3  # [rad] or [m]
SIZE = np.array([0.4, 0.3, 0.2])
BLOCK = lone(placed(Box(SIZE)), mass=2.5, inertia=box_inertia(2.5, SIZE))


def step(engines, count=1):
    for engine in engines:
        engine.step(count)


@pytest.mark.parametrize("seed", mostly_slow(range(4), 1))
@pytest.mark.parametrize("is_fixed", [True, False])
def test_robots_of_random_joints_move_alike(seed, is_fixed):
    """Drives, friction, rotors, limited efforts, pushes and force sensors are in them."""
    names, found = ("q", "p", "R", "effort", "force", "torque"), []
    for time_step in (1e-3, 2e-4):
        rng = np.random.default_rng(seed)
        engines = in_both(robot_in_motion(rng, is_fixed=is_fixed), time_step=time_step)
        drive(rng, engines)
        step(engines, round(0.1 / time_step))
        found.append(difference(engines, *names))
    assert found[0] < 0.02
    assert found[1] < found[0] / 4.0


@pytest.mark.parametrize("world", mostly_slow(["arm", "humanoid_in_room", "rover"], 1))
def test_the_worlds_of_this_package_move_alike(world):
    config = load_world(MODELS / "worlds" / f"{world}.yaml")
    engines = []
    for name in ENGINES:
        with Simulation(config, engine=make_engine(name, config.physics), defer_images=True) as sim:
            sim.wanted = lambda _: False
            sim.run(0.1)
            engines.append(sim.engine)
    assert difference(engines, "q", "p", "R") < CLOSE


@pytest.mark.parametrize(
    "shape",
    mostly_slow([Box(SIZE), Sphere(0.1), Capsule(0.1, 0.3), Cylinder(0.1, 0.3)], 1),
    ids=lambda s: type(s).__name__,
)
def test_shapes_fall_and_come_to_rest_alike(shape):
    body = lone(placed(shape), inertia=box_inertia(1.0, SIZE))
    engines = in_both(floor(), moving(body, at(z=0.2, R=axis_angle_matrix(Z, 0.3))))
    step(engines, 500)
    assert difference(engines, "p", "R") < 5 * CLOSE
    assert engines[1].contacts > 0


@pytest.mark.parametrize("angle", mostly_slow([0.6, 0.0], 1))
def test_contact_points_of_a_sliding_block_carry_the_same_forces(angle):
    start = moving(BLOCK, at(z=0.0999), v=np.array([np.cos(angle), np.sin(angle), 0.0]))
    engines = in_both(start, floor(), friction=0.3)
    for engine in engines:
        engine.record_contacts = True
    step(engines, 10)
    one, other = (engine.contact_points() for engine in engines)
    assert {frozenset(pair) for pair in other.bodies} == {frozenset(["thing", "floor"])}
    assert len(one) == len(other) == 4
    order = [np.lexsort(points.position.round(4).T) for points in (one, other)]
    for name in ("position", "normal", "depth"):
        a, b = (getattr(p, name)[k] for p, k in zip((one, other), order, strict=True))
        np.testing.assert_allclose(b, a, atol=1e-3)
    np.testing.assert_allclose(other.force_on("thing"), one.force_on("thing"), atol=0.05)
    assert difference(engines, "p", "v") < CLOSE


@pytest.mark.parametrize("tilt", [0.25, 0.35])
def test_a_block_on_a_slope_sticks_or_slides_alike(tilt):
    table = MaterialTable(pairs={material_pair("Default", "Default"): ContactMaterial(0.3)})
    gravity = (G * np.sin(tilt), 0.0, -G * np.cos(tilt))
    engines = in_both(floor(), moving(BLOCK, at(z=0.0999)), gravity=gravity, materials=table)
    step(engines, 300)
    speed = engines[1].state.bodies["thing"].motion.v[0, 0]
    assert speed == pytest.approx(0.3 * G * max(0.0, np.sin(tilt) - 0.3 * np.cos(tilt)), abs=0.01)
    assert difference(engines, "v") < 0.01


def test_materials_bounce_alike():
    table = MaterialTable(materials={"Default": Material(roughness=0.4, viscosity=0.2)})
    ball = moving(lone(placed(Sphere(0.1))), at(z=0.5), v=0.5 * X)
    engines = in_both(floor(), ball, materials=table, time_step=2e-4)
    step(engines, 2500)
    assert difference(engines, "p", "v") < 10 * CLOSE


def test_hinges_turn_on_and_on_until_their_stops():
    body = one_joint(REVOLUTE, Z, position=Range(-9.0, 20.0), effort=Range(-0.7, 0.5))
    engines = in_both(fixed(body), gravity=(0.0, 0.0, 0.0))
    for engine in engines:
        engine.state.bodies["one"].drive.effort[:] = 1.0  # more than its range
    step(engines, 2000)
    q = engines[1].state.bodies["one"].motion.q[0]
    assert q == pytest.approx(20.0, abs=0.01)
    assert difference(engines, "q") < CLOSE


KINDS = ExtraJointType.HINGE, ExtraJointType.BALL, ExtraJointType.FIXED


@pytest.mark.parametrize("kind", mostly_slow(KINDS, 1))
def test_loops_that_start_open_close_alike(kind):
    links = (
        root(),
        child("A", "BASE", REVOLUTE, X, X_PL=at(y=0.2), center_of_mass=0.3 * Z),
        child("B", "BASE", REVOLUTE, X, X_PL=at(y=-0.2), center_of_mass=0.3 * Z),
    )
    loop = ExtraJoint(
        type=kind, links=("A", "B"), axis=X, X_AJ=at(y=-0.2, z=0.5), X_BJ=at(y=0.2, z=0.5)
    )
    body = Body(name="frame", links=links, extra_joints=(loop,))
    engines = in_both(fixed(body, q=np.array([0.3, 0.29])))
    step(engines, 300)
    assert difference(engines, "q") < 10 * CLOSE
    q = engines[1].state.bodies["frame"].motion.q
    assert q[0] == pytest.approx(q[1], abs=1e-4)


def test_tracks_drive_a_vehicle_alike():
    belt = (placed(Box(np.array([0.6, 0.1, 0.1]))),)
    links = (
        root(free=True, mass=10.0, inertia=np.eye(3) * 0.4),
        child("L", "BASE", TRACK, Y, X_PL=at(y=0.25), collision=belt),
        child("R", "BASE", TRACK, Y, X_PL=at(y=-0.25), collision=belt),
    )
    slab = lone(placed(Box(np.array([3.0, 3.0, 0.2]))), name="slab", mass=50.0, inertia=np.eye(3))
    engines = in_both(
        moving(slab, at(z=0.0999)), moving(Body(name="rover", links=links), at(z=0.2498)), floor()
    )
    for engine in engines:
        engine.state.bodies["rover"].drive.track_speed[1:] = 0.3
    step(engines, 500)
    assert difference(engines, "p", "R", "track_position") < CLOSE
    assert engines[1].state.bodies["rover"].motion.p[0, 0] > 0.1


def test_conveyors_carry_a_block_alike():
    engines = in_both(floor(R=axis_angle_matrix(Z, 0.5)), moving(BLOCK, at(z=0.0999)))
    for engine in engines:
        engine.state.bodies["floor"].drive.surface_velocity[0, 3:] = 0.5 * X
    step(engines, 300)
    assert difference(engines, "p", "v") < CLOSE
    v = engines[1].state.bodies["thing"].motion.v[0]
    np.testing.assert_allclose(v, [0.5 * np.cos(0.5), 0.5 * np.sin(0.5), 0.0], atol=1e-3)


def test_bodies_come_go_jump_and_are_reset_alike():
    ground, robot = floor(), robot_in_motion(np.random.default_rng(3), is_fixed=False)
    bar = (placed(Box(np.full(3, 0.1))),)
    base = Body(
        name="arm",
        links=(root(collision=bar), child("ARM", "BASE", REVOLUTE, X, center_of_mass=0.2 * Y)),
        devices=(ForceSensor(name="f", link="BASE"),),  # so that the base is a group of its own
    )
    arm = fixed(base, at(1.0, z=1.0))
    engines = in_both(ground, robot)
    step(engines, 20)
    for engine in engines:
        engine.add_body(arm)
    step(engines, 20)
    for engine in engines:
        engine.move_body(replace(arm, X_WL=at(2.0, z=1.5, R=axis_angle_matrix(Y, 0.4))))
        engine.move_body(replace(robot, X_WL=at(0.5, z=3.0)))
    assert difference(engines, "p", "R", "q", "v", "w", "dq") < 1e-9
    step(engines, 20)
    assert difference(engines, "p", "R", "q") < CLOSE
    for engine in engines:
        engine.remove_body("robot")
    step(engines, 100)
    assert difference(engines, "q", "p", "R") < 5 * CLOSE
    for engine in engines:
        engine.reset()
    assert difference(engines, "q", "p", "R") < 1e-12
    step(engines, 100)
    assert difference(engines, "q", "p", "R") < 5 * CLOSE


def test_rays_meet_the_same_shapes():
    rng = np.random.default_rng(3)
    directions = rng.normal(size=(300, 3))
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    directions[:3] = X, -Z, Y
    origins = rng.uniform(-0.5, 0.5, size=(300, 3)) + 1.5 * Z
    robot = robot_in_motion(rng, is_fixed=False, collision=True)
    engines = in_both(*pile(rng), robot)
    for ignored in ((), ("thing2",), ("robot",), ("robot", 1)):
        one, other = (e.cast_rays(origins, directions, 4.0, *ignored) for e in engines)
        np.testing.assert_allclose(other, one, atol=1e-9)
        assert 50 < np.isfinite(one).sum() < 300
