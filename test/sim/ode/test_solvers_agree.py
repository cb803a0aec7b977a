"""From the same state the solvers `world` and `dense` take the same step, up to rounding.

`dense` is ODE's own dWorldStep. Motion is compared always, forces where they are unique: of
redundant contacts only the sum for each pair of links. States are random, but the same in
every run. A step in which ODE's solver gives up is no reference.

ODE bounds friction by normal forces that it computes before there is any friction. They depend
on which other contacts are predicted to stick and which efforts are bounded, so where some
contacts slide and others stick, the step is unique without prediction only.
"""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from paths import MODELS
from sim.ode.agreement import (
    assert_agree,
    differences,
    drive_randomly,
    make_world,
    push_randomly,
    random_tree,
    randomly,
    step_from,
)
from sim.ode.menagerie import drive as drive_menagerie
from sim.ode.menagerie import placements as menagerie
from sim.ode.test_extra_joints import closing_tangle
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
    placed,
    root,
)

from hrp_model import load_body
from hrp_model.body import Body, ExtraJointType, Range
from hrp_model.geometry import Box, Cylinder, Sphere
from hrp_model.rigid import rpy_matrix
from hrp_sim import Simulation, load_world
from hrp_sim.physics.engine import Solver
from hrp_sim.physics.materials import ContactMaterial, MaterialTable, material_pair

WORLD, DENSE = Solver.WORLD, Solver.__members__.get("DENSE")
pytestmark = pytest.mark.skipif(DENSE is None, reason="there is no solver 'dense'")
predicted_or_not = pytest.mark.parametrize("predict", [True, False])
SIZE = np.array([0.3, 0.2, 0.1])
BRICK = lone(placed(Box(SIZE)), name="brick", inertia=box_inertia(1.0, SIZE))
BALL = lone(placed(Sphere(0.1)), name="ball", inertia=np.eye(3) * 0.004)
# One corner, so that the force of every contact is unique.
SKID = lone(placed(Sphere(0.05), at(0.1, 0.02, -0.05)), name="skid", inertia=np.eye(3) * 0.02)


def both(placements, drive=lambda _engine: None, **settings):
    """Return two engines of equal worlds, with the solvers `dense` and `world`."""
    return [make_world(placements, solver, drive, **settings) for solver in (DENSE, WORLD)]


def assert_steps_agree(engines, *, each=False, **tolerances):
    """Step both from the state of the first; return the step of the first."""
    saved = engines[0].save()
    dense, ours = (step_from(saved, engine, each=each) for engine in engines)
    assert not ours.messages
    if not dense.messages:
        assert_agree(ours, dense, **tolerances)
    return dense


def close(engines):
    for engine in engines:
        engine.close()


@pytest.mark.parametrize("seed", range(40))
def test_random_trees(seed):
    """Sliders, rotors, damping, Coulomb friction, ranges, efforts, force sensors; no contacts."""
    rng = np.random.default_rng(seed)
    placement = randomly(rng, random_tree(rng))
    engines = both([placement], lambda engine: drive_randomly(np.random.default_rng(seed), engine))
    push_randomly(rng, engines[0])
    for _ in range(5):
        assert_steps_agree(engines, motion=1e-10, forces=1e-10)
        engines[0].step(5)
    close(engines)


@pytest.mark.parametrize("seed", range(10))
def test_ranges_of_efforts_that_do_not_bind_change_nothing(seed):
    """Of any joint, however far from symmetric: `world` bounds them one by one."""
    rng = np.random.default_rng(seed)
    tree = random_tree(rng)
    placement = randomly(rng, tree)

    def with_range(link):
        efforts = Range(-rng.uniform(1e5, 1e6), rng.uniform(1e6, 1e7))
        return replace(link, joint=replace(link.joint, effort=efforts))

    ranged = replace(tree, links=(tree.root, *map(with_range, tree.links[1:])))
    free = replace(
        tree, links=tuple(replace(x, joint=replace(x.joint, effort=Range())) for x in tree.links)
    )
    engines = [make_world([replace(placement, body=body)], WORLD) for body in (ranged, free)]
    for engine in engines:
        drive_randomly(np.random.default_rng(seed), engine)
        engine.step(30)
    one, other = (engine.state.bodies["tree"].motion for engine in engines)
    for quantity in ("q", "dq", "p", "R", "effort", "a", "alpha"):
        a, b = getattr(one, quantity), getattr(other, quantity)
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9 * np.abs(b).max())
    close(engines)


def test_random_trees_have_what_they_should_have():
    """Some joint is at its stop, some effort at its bound, some joint held by friction."""
    stopped = bounded = stuck = watched = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        placement = randomly(rng, random_tree(rng))
        engine = make_world([placement], WORLD)
        drive_randomly(np.random.default_rng(seed), engine)
        engine.step(15)
        (body,) = engine.state.bodies.values()
        motion = body.motion
        for link, q, dq, effort in zip(
            body.body.moving_links, motion.q, motion.dq, motion.effort, strict=True
        ):
            joint = link.joint
            stopped += not joint.position.lower < q < joint.position.upper
            bounded += min(abs(effort - bound) for bound in joint.effort) < 1e-9
            stuck += joint.friction > 0.0 and abs(dq) < 1e-3
        watched += int(np.count_nonzero(np.abs(body.motion.force).max(axis=1)))
        engine.close()
    assert min(stopped, bounded, stuck, watched) >= 3, (stopped, bounded, stuck, watched)


def test_joints_held_by_coulomb_friction():
    links = [root()]
    for i in range(4):
        parent = links[-1].name
        links.append(child(f"L{i}", parent, REVOLUTE, Y, X_PL=at(0.2), friction=0.4 * 4.0**i))
    engines = both([fixed(Body(name="rusty", links=tuple(links)))])
    held = set()
    for _ in range(20):
        step = assert_steps_agree(engines)
        held |= {i for i, dq in enumerate(step.motions["rusty"].dq) if abs(dq) < 1e-12}
    assert 0 < len(held) < 4
    close(engines)


@pytest.mark.parametrize("kind", list(ExtraJointType))
@pytest.mark.parametrize("seed", range(3))
def test_extra_joints(kind, seed):
    rng = np.random.default_rng(seed)
    body = closing_tangle(kind, turned=True)
    engines = both([randomly(rng, body, spread=0.05)])
    drive_randomly(rng, engines[0])
    for _ in range(5):
        assert_steps_agree(engines)
        engines[0].step(20)
    close(engines)


@pytest.mark.parametrize("seed", range(5))
def test_a_press_with_a_redundant_loop(seed):
    """A planar loop of hinges: its motion is unique, its inner forces are not."""
    rng = np.random.default_rng(seed)
    body = load_body(MODELS / "press" / "press.body")
    engines = both([replace(randomly(rng, body, spread=0.0), fixed=True)])
    drive_randomly(rng, engines[0])
    for _ in range(5):
        assert_steps_agree(engines, forces=1e-6)
        engines[0].step(20)
    close(engines)


@pytest.mark.parametrize("model", ["humanoid/humanoid.body", "arm/arm.body", "rover/rover.body"])
@pytest.mark.parametrize("seed", range(5))
def test_own_robots_in_the_air(model, seed):
    rng = np.random.default_rng(seed)
    body = load_body(MODELS / model)
    engines = both([randomly(rng, body, z=3.0)], self_collision=False)
    drive_randomly(rng, engines[0])
    push_randomly(rng, engines[0])
    for _ in range(4):
        assert_steps_agree(engines)
        engines[0].step(10)
    close(engines)


@predicted_or_not
@pytest.mark.parametrize("seed", range(6))
def test_single_contacts_that_slide_roll_stick_and_leave(seed, predict):
    """One contact for each body, so that every force is unique."""
    rng = np.random.default_rng(seed)
    places = [floor()]
    for k in range(6):
        thing, height = ((SKID, 0.1), (BALL, 0.1))[k % 2]
        v = np.array([*rng.normal(size=2) * 3.0**-k, rng.choice([-0.3, 0.0, 0.1])])
        w = rng.normal(size=3) * 3.0**-k
        pose = at(float(k), z=height - 2e-4)
        places.append(moving(thing, pose, f"thing{k}", v=v, w=w))
    engines = both(places, friction=rng.uniform(0.1, 1.5), predict_sticking=predict)
    touching = 0
    for _ in range(10):
        touching += len(assert_steps_agree(engines, each=True).contacts)
        engines[0].step(5)
    assert touching > 20
    close(engines)


@pytest.mark.parametrize(
    ("pull", "predict"),
    [*product([0.0, 0.5, 3.0], [True, False]), (0.9, False), (1.1, False)],
)
@pytest.mark.parametrize("heading", [0.0, 0.4])
def test_bricks_that_are_pulled(pull, heading, predict):
    """Four redundant contacts, within and beyond their friction."""
    mu = 0.4
    gravity = (pull * mu * G * np.cos(heading), pull * mu * G * np.sin(heading), -G)
    brick = moving(BRICK, at(z=SIZE[2] / 2.0, R=rpy_matrix(0.0, 0.0, 0.3)))
    engines = both([floor(), brick], gravity=gravity, friction=mu, predict_sticking=predict)
    for _ in range(10):
        assert_steps_agree(engines, forces=1e-6)
        engines[0].step(10)
    close(engines)


@predicted_or_not
def test_what_bounces(predict):
    rubber = [replace(BODY.links[0], contact_material="Rubber") for BODY in (BALL, BRICK)]
    pairs = {material_pair("Rubber", "Default"): ContactMaterial(friction=0.3, restitution=0.8)}
    things = [
        moving(Body(name=f"rubber{k}", links=(link,)), at(float(k), z=0.12), v=-Z + 0.2 * X)
        for k, link in enumerate(rubber)
    ]
    physics = {"materials": MaterialTable(pairs=pairs), "predict_sticking": predict}
    engines = both([floor(), *things], **physics)
    speeds = []
    for _ in range(60):
        step = assert_steps_agree(engines, forces=1e-6)
        speeds.append(step.motions["rubber0"].v[0, 2])
    assert max(speeds) > 0.5
    close(engines)


@predicted_or_not
def test_a_rover_that_turns_on_its_tracks(predict):
    body = load_body(MODELS / "rover" / "rover.body")

    def drive(engine):
        tracks = [i for i, x in enumerate(body.links) if x.joint.type is TRACK]
        engine.state.bodies[body.name].drive.track_speed[tracks] = 0.5, 0.1

    engines = both([floor(), moving(body, body.root.X_PL)], drive, predict_sticking=predict)
    for _ in range(20):
        assert_steps_agree(engines, forces=1e-6)
        engines[0].step(10)
    assert np.linalg.norm(engines[0].state.bodies[body.name].motion.v[0]) > 0.1
    close(engines)


@pytest.mark.parametrize("seed", range(3))
def test_a_humanoid_that_stands_and_is_pushed(seed):
    rng = np.random.default_rng(seed)
    engines = standing_humanoids(predict_sticking=False)
    for _ in range(8):
        assert_steps_agree(engines, forces=1e-6)
        push_randomly(rng, engines[0], force=8.0)  # within the effort of all joints
        engines[0].step(15)
    close(engines)


@pytest.mark.parametrize("seed", range(4))
def test_a_limp_humanoid_that_falls(seed):
    """Joints at their stops, contacts of all kinds, among its own links, too."""
    rng = np.random.default_rng(seed)
    body = load_body(MODELS / "humanoid" / "humanoid.body")
    engines = both(
        [floor(), randomly(rng, body, z=0.9, spread=0.2, speed=0.5)], predict_sticking=False
    )
    engines[0].step(500)
    touching = 0
    for _ in range(8):
        touching += len(assert_steps_agree(engines, forces=1e-6).contacts)
        engines[0].step(50)
    assert touching > 4
    close(engines)


@predicted_or_not
def test_a_stack_of_bricks(predict):
    places = [moving(BRICK, at(z=SIZE[2] * (k + 0.5)), f"brick{k}") for k in range(10)]
    engines = both([floor(), *places], predict_sticking=predict)
    for _ in range(5):
        assert_steps_agree(engines, forces=1e-5)
        engines[0].step(40)
    close(engines)


def heap(seed):
    """Return placements of what tumbles onto a floor, in one island."""
    rng = np.random.default_rng(seed)
    shapes = (Box(SIZE), Sphere(0.1), Cylinder(0.1, 0.2))
    places = [floor()]
    for k in range(12):
        thing = lone(placed(shapes[k % 3]), name=f"t{k}", mass=rng.uniform(0.2, 5.0))
        pose = at(*rng.uniform(-0.15, 0.15, 2), 0.2 + 0.15 * k)
        places.append(replace(randomly(rng, thing, speed=0.5), X_WL=pose))
    return places


@pytest.mark.parametrize("seed", range(3))
def test_a_heap_that_tumbles(seed):
    engines = both(heap(seed), friction=0.5, predict_sticking=False)
    for _ in range(15):
        assert_steps_agree(engines, forces=1e-5)
        engines[0].step(60)
    close(engines)


def test_the_solution_depends_on_no_memory_of_contacts():
    """It only starts where the last one ended: wrong memories cost iterations alone."""
    rng = np.random.default_rng(1)
    engine = make_world(heap(1), WORLD, friction=0.5, predict_sticking=False)
    for _ in range(8):
        engine.step(100)
        saved = engine.save()
        habits = saved["habits"]
        shuffled = habits.copy()
        shuffled[:, 3:] = rng.permutation(habits[:, 3:])
        wrong = habits.copy()
        wrong[:, 2] = rng.integers(0, 128, len(habits))
        engine.step()
        motions = [body.motion.copy() for body in engine.state.bodies.values()]
        for other in (habits[:0], shuffled, wrong):
            engine.restore(saved | {"habits": other})
            engine.step()
            for motion, body in zip(motions, engine.state.bodies.values(), strict=True):
                np.testing.assert_allclose(body.motion.v, motion.v, rtol=1e-9, atol=1e-9)
                np.testing.assert_allclose(body.motion.w, motion.w, rtol=1e-9, atol=1e-8)
    assert len(habits) > 20
    close([engine])


def test_a_world_of_everything():
    engines = both(menagerie().values(), drive_menagerie, predict_sticking=False)
    for _ in range(30):
        assert_steps_agree(engines, forces=1e-5)
        engines[0].step(40)
    close(engines)


def test_a_second_of_an_arm_that_is_driven():
    body = load_body(MODELS / "arm" / "arm.body")
    engines = both([fixed(body)], self_collision=False)
    assert_runs_agree(engines, 1e-9)
    close(engines)


@pytest.mark.parametrize("seed", range(3))
def test_a_second_of_a_tree_that_is_driven(seed):
    rng = np.random.default_rng(seed)
    engines = both([fixed(random_tree(rng, free=False))])
    assert_runs_agree(engines, 1e-7)
    close(engines)


def test_a_second_of_a_brick_that_slides_to_rest():
    engines = both([floor(), moving(BRICK, at(z=SIZE[2] / 2.0), v=1.5 * X)], friction=0.3)
    assert_runs_agree(engines, 1e-3)  # ODE tilts the brick a little
    close(engines)


@predicted_or_not
def test_a_second_of_a_humanoid_that_sways_on_its_feet(predict):
    engines = standing_humanoids(predict_sticking=predict)
    assert_runs_agree(engines, 1e-9, amplitude=0.01)
    assert {engine.contacts for engine in engines} == {8}
    close(engines)


def test_a_second_of_a_humanoid_that_stumbles():
    """On edges and toes, which hit the floor and slide: without prediction this is unique, too."""
    engines = standing_humanoids(predict_sticking=False)
    assert_runs_agree(engines, 1e-9)
    assert max(engine.contacts for engine in engines) < 4
    close(engines)


def assert_runs_agree(engines, tolerance, amplitude=0.2):
    """Drive joints to and fro for a second; compare positions and rates along the way."""
    names = [n for n, s in engines[0].state.bodies.items() if len(s.motion.q)]
    rng = np.random.default_rng(7)
    swing = {
        n: amplitude * rng.uniform(-1.0, 1.0, len(engines[0].state.bodies[n].motion.q))
        for n in names
    }
    start = {n: engines[0].state.bodies[n].motion.q.copy() for n in names}
    for k in range(100):
        for engine in engines:
            for name in names:
                drive = engine.state.bodies[name].drive
                drive.kp[:], drive.kd[:] = 500.0, 5.0
                drive.q[:] = start[name] + swing[name] * np.sin(2e-2 * np.pi * k)
            engine.step(10)
        one, other = (list(e.state.bodies.values()) for e in engines[:2])
        for ours, theirs in zip(one, other, strict=True):
            for quantity in ("p", "q", "dq"):
                a, b = (getattr(body.motion, quantity) for body in (ours, theirs))
                np.testing.assert_allclose(a, b, rtol=0.0, atol=tolerance, err_msg=quantity)


def standing_humanoids(**settings):
    """Return two worlds in which the humanoid holds its posture."""
    config = load_world(MODELS / "humanoid" / "humanoid.body")
    simulation = Simulation(config)
    drives = {name: body.drive for name, body in simulation.bodies.items()}
    simulation.step()

    def drive(engine):
        for name, body in engine.state.bodies.items():
            for gain in ("q", "dq", "kp", "kd", "effort"):
                getattr(body.drive, gain)[:] = getattr(drives[name], gain)

    engines = both([entry.placement for entry in config.bodies], drive, **settings)
    simulation.close()
    return engines


def test_a_difference_is_noticed():
    """Half a per cent of friction is seen where something slides."""
    sliding = moving(BRICK, at(z=SIZE[2] / 2.0), v=X)
    engines = [
        make_world([floor(), sliding], solver, friction=friction)
        for solver, friction in ((DENSE, 0.4), (WORLD, 0.402))
    ]
    saved = engines[0].save()
    found = differences(*(step_from(saved, engine) for engine in engines))
    assert found["a"] > 1e-3
    assert found["contact force"] > 1e-3
    close(engines)


def test_a_chain_of_thousands_of_links_falls():
    """Without a root that is fixed, all links fall alike."""
    links = [root("B0", free=True)]
    links += [child(f"B{k}", f"B{k - 1}", REVOLUTE, X, X_PL=at(z=0.01)) for k in range(1, 2500)]
    engine = make_world([moving(Body(name="chain", links=tuple(links)))], WORLD)
    engine.step(2)
    motion = engine.state.bodies["chain"].motion
    fall = np.broadcast_to([0.0, 0.0, -2 * G * engine.settings.time_step], motion.v.shape)
    np.testing.assert_allclose(motion.v, fall, atol=1e-9)
    np.testing.assert_allclose(motion.dq, 0.0, atol=1e-9)
