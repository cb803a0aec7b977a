"""Both engines compute the same states, to the last bit."""

import hashlib
from dataclasses import fields, replace

import numpy as np
import pytest
from paths import MODELS
from sim.ode.scenes import (
    FIXED,
    PRISMATIC,
    REVOLUTE,
    TRACK,
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
from hrp_sim.engines import ENGINES, make_engine
from hrp_sim.physics.engine import PhysicsError, PhysicsSettings, Solver
from hrp_sim.physics.materials import Material, MaterialTable

pytest.importorskip("ode", reason="PyODE is not installed (python3-pyode)")

SOLVERS = pytest.mark.parametrize("solver", list(Solver))


def digest(engine):
    sha = hashlib.sha256(str(engine.state.time_ns).encode())
    for simulated in engine.state.bodies.values():
        for f in fields(simulated.motion):
            sha.update(np.ascontiguousarray(getattr(simulated.motion, f.name)).tobytes())
    return sha.hexdigest()


def both(*placements, **settings):
    """Return the same scene in each engine."""
    engines = [make_engine(name, PhysicsSettings(**settings)) for name in ENGINES]
    for engine in engines:
        for placement in placements:
            engine.add_body(placement)
    return engines


def assert_same(engines, steps, *, every=100, change=None):
    """Step engines and compare all that they write; ``change`` may act on each before a step."""
    for done in range(0, steps, every):
        for engine in engines:
            if change:
                change(engine, done)
            engine.step(every - 1)
            engine.step()
        one, other = (digest(engine) for engine in engines)
        assert one == other, f"after {done + every} steps"


@SOLVERS
@pytest.mark.parametrize("world", ["arm", "humanoid_in_room", "rover"])
def test_the_package_s_worlds_after_ten_seconds(world, solver):
    config = load_world(MODELS / "worlds" / f"{world}.yaml").with_physics(solver=solver)
    simulations = [
        Simulation(config, engine=make_engine(name, config.physics), defer_images=True)
        for name in ENGINES
    ]
    for simulation in simulations:
        simulation.wanted = lambda name: False
        for _ in range(10_000):
            simulation.step()
    assert simulations[0].state_hash() == simulations[1].state_hash()


def pile():
    rng = np.random.default_rng(7)
    shapes = [
        Box(np.array([0.2, 0.15, 0.1])),
        Sphere(0.08),
        Cylinder(0.07, 0.2),
        Capsule(0.06, 0.15),
    ]
    for k in range(16):
        body = lone(placed(shapes[k % 4]), inertia=box_inertia(1.0, [0.2, 0.2, 0.2]))
        x, y = rng.uniform(-0.15, 0.15, size=2)
        R = axis_angle_matrix(np.array([0.6, 0.0, 0.8]), rng.uniform(0.0, 3.0))
        yield moving(body, at(x, y, 0.2 + 0.15 * k, R), name=f"thing{k}")


@SOLVERS
def test_a_pile_of_all_primitives(solver):
    assert_same(both(floor(), *pile(), solver=solver), 3000, every=1000)


@SOLVERS
def test_what_the_contacts_of_a_pile_exert(solver):
    engines = both(floor(), *pile(), moving(limb(), at(1.0, 0.0, 1.0)), solver=solver)
    for engine in engines:
        engine.tells_contacts = True
    seen = 0
    for _ in range(30):
        told = []
        for engine in engines:
            engine.step(50)
            told.append(engine.contact_points())
        one, other = told
        assert one.bodies == other.bodies
        for f in fields(one):
            assert np.array_equal(getattr(one, f.name), getattr(other, f.name)), f.name
        seen += len(one)
    assert seen > 500


def limb(watched=True):
    """A free chain with a slider, a force sensor, friction, damping, and bounded efforts."""
    bar = (placed(Box(np.array([0.05, 0.05, 0.3])), at(z=-0.2)),)
    ranges = {"effort": Range(-3.0, 5.0), "position": Range(-1.0, 1.0)}
    links = (
        root(free=True, mass=3.0, collision=(placed(Sphere(0.1)),)),
        child("HIP", "BASE", REVOLUTE, X, X_PL=at(z=-0.1), collision=bar, rotor=0.02, **ranges),
        child("SHIN", "HIP", PRISMATIC, Z, X_PL=at(z=-0.4), collision=bar, rotor=0.5, **ranges),
        child("TOE", "SHIN", REVOLUTE, Y, X_PL=at(z=-0.4), collision=bar, effort=Range(0.0, 1.0)),
    )
    sensors = [ForceSensor(name=n, link=n) for n in ("HIP", "SHIN", "TOE")]
    return Body(name="limb", links=links, devices=tuple(sensors) if watched else ())


@SOLVERS
def test_drives_at_their_bounds_stops_and_wrenches(solver):
    def change(engine, done):
        drive = engine.state.bodies["limb"].drive
        drive.kp[:] = 0.0 if done % 1500 == 0 else 50.0 * (done % 700)
        drive.kd[:] = (0.0, 5.0, 0.2)
        drive.q[:] = np.sin(done), 0.1, np.cos(done)
        drive.effort[:] = (done % 300) / 50.0 - 2.0
        wrench = engine.state.bodies["limb"].wrench
        wrench.force[2] = (1.0, 0.0, done % 400 / 40.0)
        wrench.torque[1] = (0.0, 0.3, 0.0)

    assert_same(both(moving(limb(), at(z=1.5)), floor(), solver=solver), 4000, change=change)


@SOLVERS
def test_a_base_that_is_weighed_on_a_floor_with_things_on_it(solver):
    slab = (placed(Box(np.array([1.0, 1.0, 0.1])), at(z=-0.05)),)
    bar = (placed(Box(np.array([0.05, 0.05, 0.3])), at(z=-0.2)),)
    links = (
        root(mass=5.0, collision=slab),
        child("POST", "BASE", FIXED, X_PL=at(y=0.3, z=0.1), collision=slab),
        child("ARM", "BASE", REVOLUTE, X, X_PL=at(0.6, 0.0, 0.5), collision=bar, rotor=0.02),
    )
    sensors = tuple(ForceSensor(name=link.name, link=link.name) for link in links)
    arm = Body(name="arm", links=links, devices=sensors)
    things = [moving(lone(placed(Box(np.full(3, 0.1)))), at(-0.2, 0.1, 0.3))]
    there = fixed(arm, at(0.1, 0.0, 0.2), q=np.array([0.4]))

    def change(engine, done):
        if done == 400:
            engine.move_body(there)

    engines = both(fixed(arm, at(z=0.05)), *things, floor(), solver=solver)
    assert_same(engines, 1000, change=change)
    for engine in engines:
        assert engine.state.bodies["arm"].motion.force[0, 2] > 40.0


@SOLVERS
def test_hinges_that_turn_on_and_on(solver):
    def change(engine, done):
        engine.state.bodies["one"].drive.effort[:] = 0.5 if done < 2000 else -0.7

    body = one_joint(REVOLUTE, Z, position=Range(-9.0, 20.0), watched=True)
    engines = both(fixed(body), solver=solver, gravity=(0.0, 0.0, 0.0))
    assert_same(engines, 5000, change=change)
    assert max(abs(e.state.bodies["one"].motion.q[0]) for e in engines) > np.pi


@SOLVERS
@pytest.mark.parametrize("kind", [ExtraJointType.BALL, ExtraJointType.HINGE, ExtraJointType.FIXED])
def test_extra_joints(kind, solver):
    links = (
        root(),
        child("A", "BASE", REVOLUTE, X, X_PL=at(y=0.2), center_of_mass=0.3 * Z),
        child("B", "BASE", REVOLUTE, X, X_PL=at(y=-0.2), center_of_mass=0.3 * Z),
    )
    loop = ExtraJoint(
        type=kind, links=("A", "B"), axis=X, X_AJ=at(y=-0.2, z=0.5), X_BJ=at(y=0.2, z=0.5)
    )
    body = Body(name="frame", links=links, extra_joints=(loop,))
    assert_same(both(fixed(body, q=np.array([0.3, 0.29])), solver=solver), 2000)


@SOLVERS
def test_tracks_on_ground_that_moves(solver):
    belt = (placed(Box(np.array([0.6, 0.1, 0.1]))),)
    links = (
        root(free=True, mass=10.0, inertia=np.eye(3) * 0.4),
        child("L", "BASE", TRACK, Y, X_PL=at(y=0.25), collision=belt),
        child("R", "BASE", TRACK, Y, X_PL=at(y=-0.25), collision=belt),
    )
    slab = lone(placed(Box(np.array([3.0, 3.0, 0.2]))), name="slab", mass=50.0, inertia=np.eye(3))

    def change(engine, done):
        engine.state.bodies["rover"].drive.track_speed[1:] = 0.3, (done % 500) / 1000.0

    rover = moving(Body(name="rover", links=links), at(z=0.36))
    engines = both(moving(slab, at(z=0.11)), rover, floor(), solver=solver)
    assert_same(engines, 3000, change=change)


@SOLVERS
def test_materials_that_bounce(solver):
    table = MaterialTable(materials={"Default": Material(roughness=0.4, viscosity=0.2)})
    assert_same(both(floor(), *pile(), solver=solver, materials=table), 1500)


def test_bodies_that_come_go_and_jump():
    ground, chain = floor(), moving(limb(), at(z=2.0))
    arm = fixed(one_joint(REVOLUTE, X, center_of_mass=0.2 * Y), at(1.0, z=1.0))
    engines = both(ground, *pile())
    assert_same(engines, 500)
    for engine in engines:
        engine.remove_body("thing3")
        engine.add_body(chain)
        engine.add_body(arm)
    assert_same(engines, 500)
    for engine in engines:
        engine.move_body(replace(chain, X_WL=at(0.5, z=1.0), q=np.array([0.4, 0.1, -0.2]), v=X))
        engine.move_body(replace(arm, X_WL=at(2.0, z=1.5)))
        engine.move_body(replace(ground, X_WL=at(R=axis_angle_matrix(Y, 0.1))))
    assert_same(engines, 500)
    for engine in engines:
        engine.reset()
    assert digest(engines[0]) == digest(engines[1])
    assert_same(engines, 500)


@SOLVERS
def test_one_engine_goes_on_where_the_other_was_saved(solver):
    ode, pyode = both(floor(), moving(limb(), at(z=1.0)), *pile(), solver=solver)
    ode.step(700)
    pyode.restore(ode.save())
    assert digest(ode) == digest(pyode)
    one, other = ode.save(), pyode.save()
    assert one.keys() == other.keys()
    for name, array in one.items():
        np.testing.assert_array_equal(other[name], array)
    pyode.step(300)
    again = make_engine("ode", ode.settings)
    for placement in (floor(), moving(limb(), at(z=1.0)), *pile()):
        again.add_body(placement)
    again.restore(one)
    again.step(300)
    assert digest(again) == digest(pyode)


def test_failed_steps_say_the_same_and_leave_the_same():
    engines = both(fixed(one_joint(REVOLUTE, X)), moving(lone(placed(Sphere(0.1)))), floor())
    said = []
    for engine in engines:
        engine.state.bodies["one"].drive.effort[:] = 5e4  # 5e6 rad/s^2
        with pytest.raises(PhysicsError, match="absurd") as error:
            engine.step(100)
        said.append(str(error.value))
    assert said[0] == said[1]
    assert digest(engines[0]) == digest(engines[1])


def test_rays():
    rng = np.random.default_rng(3)
    directions = rng.normal(size=(400, 3))
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    directions[:3] = X, -Z, Y
    origins = rng.uniform(-0.5, 0.5, size=(400, 3)) + Z
    engines = both(floor(), *pile(), moving(limb(), at(0.3, 0.3, 1.2)))
    for engine in engines:
        engine.step(200)
    answers = []
    for ignored in ((), ("thing2",), ("limb",), ("limb", 0), ("limb", 1), ("limb", 9)):
        one, other = (e.cast_rays(origins, directions, 4.0, *ignored) for e in engines)
        np.testing.assert_array_equal(one, other)
        assert 50 < np.isfinite(one).sum() < 400
        answers.append(one.tobytes())
    assert len(set(answers)) == 5
    assert answers[-1] == answers[0]
