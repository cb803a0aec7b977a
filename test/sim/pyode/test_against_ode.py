"""The PyODE engine computes what the C engine computes, within tolerances."""

from dataclasses import replace

import numpy as np
import pytest
from each_case import mostly_slow
from paths import MODELS
from sim.physics.bodies import chain
from sim.physics.scenes import (
    REVOLUTE,
    TRACK,
    G,
    X,
    Y,
    Z,
    at,
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
from hrp_model.geometry import Box, Sphere
from hrp_model.rigid import axis_angle_matrix
from hrp_sim import Simulation, load_world
from hrp_sim.engine.engine import Solver
from hrp_sim.engine.engines import ENGINES, make_engine
from hrp_sim.engine.materials import Material, MaterialTable

pytest.importorskip("ode", reason="PyODE is not installed (python3-pyode)")

from sim.pyode.worlds import difference, drive, in_both, pile, robot_in_motion

ONE_STEP = 1e-6  # of what differs after one step, relative to the largest number
ONE_SECOND = 1e-3  # [rad] or [m]
GRAZING = 1e-8  # [m], within which ODE finds a cylinder's contact points or does not

SEEDS = pytest.mark.parametrize("seed", mostly_slow(range(12), 1))
DENSE = Solver.DENSE
SOLVERS = pytest.mark.parametrize("solver", mostly_slow(Solver, 1))


def step(engines, count=1):
    for engine in engines:
        engine.step(count)


@SEEDS
@pytest.mark.parametrize("is_fixed", [True, False])
def test_robots_of_random_joints_accelerate_alike(seed, is_fixed):
    rng = np.random.default_rng(seed)
    engines = in_both(robot_in_motion(rng, is_fixed=is_fixed))
    drive(rng, engines)
    step(engines)
    assert difference(engines, "a", "alpha", "force", "torque", "q", "dq", "p", "R") < ONE_STEP
    # ODE's axes turn within a step: one engine infers efforts from rates, the other from forces.
    assert difference(engines, "effort") < 1e-3
    step(engines, 199)
    assert difference(engines, "q", "p", "R") < ONE_SECOND


@pytest.mark.parametrize("seed", mostly_slow(range(3), 1))
def test_robots_of_random_joints_are_in_the_same_place_after_a_second(seed):
    rng = np.random.default_rng(seed)
    engines = in_both(robot_in_motion(rng, is_fixed=False))
    drive(rng, engines)
    step(engines, 1000)
    assert difference(engines, "q", "p", "R") < ONE_SECOND


@SEEDS
@pytest.mark.parametrize("predict_sticking", [True, False])
def test_piles_of_boxes_and_round_shapes_accelerate_alike(seed, predict_sticking):
    """Of cylinders, and of friction with WORLD, the engine `ode` has laws of its own."""
    engines = in_both(
        *pile(np.random.default_rng(seed)), solver=DENSE, predict_sticking=predict_sticking
    )
    for engine in engines:
        engine.record_contacts = True
    step(engines)
    assert engines[0].contacts == engines[1].contacts > 0
    assert difference(engines, "a", "alpha") < 1e-3 * ONE_STEP
    for _ in range(50):
        if predict_sticking or any(grazing(engine) for engine in engines):
            break  # what sticks for whom makes differences that grow
        assert difference(engines, "p", "R") < 1e-9
        step(engines)
    else:
        assert engines[0].contacts == engines[1].contacts


def grazing(engine):
    """Return whether bodies barely touch somewhere, so that rounding decides whether they do."""
    return bool((engine.contact_points().depth < GRAZING).any())


def test_robots_on_the_floor_collide_with_it_and_with_themselves():
    rng = np.random.default_rng(1)
    robot = robot_in_motion(rng, is_fixed=False, collision=True)
    engines = in_both(replace(robot, X_WL=at(z=0.3)), floor(), solver=DENSE)
    touched = 0
    for _ in range(30):
        step(engines, 5)
        assert engines[0].contacts == engines[1].contacts
        touched += engines[0].contacts
    assert touched > 10
    assert difference(engines, "q", "p", "R") < ONE_SECOND


@SOLVERS
@pytest.mark.parametrize("world", mostly_slow(["arm", "humanoid_in_room", "rover"], 1))
def test_the_package_s_worlds_after_a_second(world, solver):
    config = load_world(MODELS / "worlds" / f"{world}.yaml").with_physics(solver=solver)
    simulations = [
        Simulation(config, engine=make_engine(name, config.physics), defer_images=True)
        for name in ENGINES
    ]
    for simulation in simulations:
        simulation.wanted = lambda name: False
        for _ in range(1000 if solver is Solver.WORLD else 200):
            simulation.step()
    # The errors of QUICK depend on its random order, which PyODE cannot seed.
    engines = [simulation.engine for simulation in simulations]
    assert difference(engines, "q", "p", "R") < ONE_SECOND * (1 if solver is Solver.WORLD else 10)


@SOLVERS
def test_chains_under_either_solver(solver):
    engines = in_both(fixed(chain(rotors=False)), solver=solver)
    step(engines, 500)
    assert difference(engines, "q", "dq") < ONE_SECOND


@pytest.mark.parametrize(
    ("solver", "count"),
    [(Solver.WORLD, 10), (DENSE, 50)],  # ODE's solver, with which pyode steps, slips a little later
)
def test_contact_points_carry_the_same_forces(solver, count):
    box = lone(placed(Box(np.array([0.4, 0.3, 0.2]))), mass=2.5)
    start = moving(box, at(z=0.0999), v=0.5 * X)
    engines = in_both(start, floor(), friction=0.3, predict_sticking=False, solver=solver)
    for engine in engines:
        engine.record_contacts = True
    step(engines, count)
    one, other = (engine.contact_points() for engine in engines)
    assert {frozenset(pair) for pair in other.bodies} == {frozenset(["thing", "floor"])}
    assert len(one) == len(other) == 4
    for name in ("position", "normal", "depth"):
        np.testing.assert_allclose(getattr(other, name), getattr(one, name), atol=1e-6)
    # Contact points of `world` yield to each other, so that they settle within some steps.
    atol = 5e-5 if solver is Solver.WORLD else 1e-6
    np.testing.assert_allclose(other.force_on("thing"), one.force_on("thing"), atol=atol)
    np.testing.assert_allclose(other.force[:, 2], one.force[:, 2], atol=atol)
    if solver is DENSE:
        np.testing.assert_allclose(other.force, one.force, atol=atol)


def test_a_block_slides_as_coulomb_says_where_ode_errs():
    """Four redundant contacts: ODE's solver loses the friction of a step now and then."""
    box = lone(placed(Box(np.array([0.4, 0.3, 0.2]))), mass=2.5)
    engines = in_both(moving(box, at(z=0.0999), v=0.5 * X), floor(), friction=0.3)
    step(engines, 50)
    errors = [
        abs(engine.state.bodies["thing"].motion.v[0, 0] - (0.5 - 0.3 * G * 0.05))
        for engine in engines
    ]
    assert errors[0] < 1e-7  # as normal forces settle within some steps
    assert 1e-4 < errors[1] < 2e-3


def test_hinges_turn_on_and_on_until_their_stops():
    body = one_joint(REVOLUTE, Z, position=Range(-9.0, 20.0), effort=Range(-0.7, 0.5))
    engines = in_both(fixed(body), gravity=(0.0, 0.0, 0.0))
    for engine in engines:
        engine.state.bodies["one"].drive.effort[:] = 1.0  # more than its range
    step(engines, 2000)
    q = engines[1].state.bodies["one"].motion.q[0]
    assert q == pytest.approx(20.0, abs=0.01)
    assert difference(engines, "q") < ONE_SECOND


@pytest.mark.parametrize("kind", [ExtraJointType.BALL, ExtraJointType.HINGE, ExtraJointType.FIXED])
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
    step(engines)
    assert difference(engines, "alpha") < ONE_STEP
    step(engines, 999)
    assert difference(engines, "q") < ONE_SECOND


def test_tracks_drive_a_vehicle_alike():
    """Straight on: in a turn the bounds of friction differ."""
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
    step(engines, 1000)
    assert difference(engines, "p", "R", "track_position") < ONE_SECOND
    assert engines[1].state.bodies["rover"].motion.p[0, 0] > 0.1


def test_materials_bounce_alike():
    table = MaterialTable(materials={"Default": Material(roughness=0.4, viscosity=0.2)})
    ball = moving(lone(placed(Sphere(0.1))), at(z=0.5), v=0.5 * X)
    engines = in_both(floor(), ball, materials=table)
    step(engines, 1000)
    assert difference(engines, "p", "v") < ONE_SECOND


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
    step(engines)
    assert difference(engines, "a", "alpha", "force", "torque") < ONE_STEP
    for engine in engines:
        engine.remove_body("robot")
    step(engines, 100)
    assert difference(engines, "q", "p", "R") < ONE_SECOND
    for engine in engines:
        engine.reset()
    assert difference(engines, "q", "p", "R") < 1e-12
    step(engines, 100)
    assert difference(engines, "q", "p", "R") < ONE_SECOND


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


def test_a_saved_state_goes_on_as_the_run_did():
    rng = np.random.default_rng(3)
    engine = in_both(robot_in_motion(rng, is_fixed=False), floor())[1]
    drive(rng, [engine])
    engine.step(100)
    saved = engine.save()
    engine.step(100)
    motion = engine.state.bodies["robot"].motion
    expected = motion.copy()
    engine.reset()
    engine.step(3)
    engine.restore(saved)
    assert engine.state.time_ns == 100_000_000
    engine.step(100)
    for name in ("q", "dq", "p", "R", "v", "effort"):
        np.testing.assert_allclose(getattr(motion, name), getattr(expected, name), atol=1e-9)
