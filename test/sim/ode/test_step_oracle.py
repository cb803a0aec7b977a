"""Every step of the exact solver is the solution of its problem, as scipy finds it.

States are random, but the same in every run. Nothing is remembered of contacts but the loads that
bound friction: several steps would find them, so the same step is repeated until they settle.
"""

from dataclasses import replace

import numpy as np
import pytest
from each_case import mostly_slow
from paths import MODELS
from sim.ode.agreement import (
    drive_randomly,
    make_world,
    push_randomly,
    random_tree,
    randomly,
    transfer,
)
from sim.physics.grippers import Gripper, gripping
from sim.physics.scenes import (
    PRISMATIC,
    REVOLUTE,
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
)
from step_oracle import momentum_of, solve_step

from hrp_model import load_body
from hrp_model.body import Body, ExtraJoint, ExtraJointType, Mimic, Range
from hrp_model.geometry import Box, Sphere
from hrp_model.rigid import axis_angle_matrix
from hrp_sim.engine.engine import Solver

LOADS = 8
IMPULSES = slice(8, 16)  # of the numbers of a ContactMemory: the last impulse and slip
BALL = lone(placed(Sphere(0.1)), name="ball", inertia=np.eye(3) * 0.004)


def assert_step_agrees(engine, *, tolerance=1e-7, forces=1e-5):
    """Step from the state of an engine, without what it remembers; compare with the oracle."""
    saved = engine.save()
    transfer(saved, engine)
    engine.step()
    for _ in range(LOADS if engine.contacts and engine.settings.friction else 0):
        habits = engine.save()["habits"]
        habits[:, IMPULSES] = 0
        engine.restore(saved | {"habits": habits})
        engine.step()
    points, found, expected = (
        engine.contact_points(),
        momentum_of(engine),
        solve_step(engine, saved),
    )
    scale = max(float(np.abs(m).max(initial=0.3)) for m in expected.momentum.values())
    for name, momentum in expected.momentum.items():
        np.testing.assert_allclose(found[name], momentum, rtol=0.0, atol=tolerance * scale)
    pairs = list(zip(points.bodies, points.links.tolist(), strict=True))
    for pair in {str(pair): pair for pair in pairs}.values():
        of_pair = [other == pair for other in pairs]
        ours, theirs = (x[of_pair].sum(axis=0) for x in (points.force, expected.contacts))
        np.testing.assert_allclose(ours, theirs, atol=forces * max(np.abs(theirs).max(), 1.0))
    for name, efforts in expected.efforts.items():
        motion = engine.state.bodies[name].motion
        for i, effort in efforts.items():
            assert motion.effort[i] == pytest.approx(effort, rel=1e-4, abs=1e-4)
    return points


def boxes(rng, count, apart=0.0):
    """Return boxes above each other, turned at random, and a floor."""
    places = [floor()]
    for k in range(count):
        size = rng.uniform(0.1, 0.3, 3)
        body = lone(placed(Box(size)), name=f"b{k}", inertia=box_inertia(1.0, size))
        turned = axis_angle_matrix(Z, rng.uniform(0.0, 3.0))
        places.append(moving(body, at(*rng.uniform(-apart, apart, 2), 0.15 + 0.3 * k, turned)))
    return places


def steps_agree(places, *, before=0, every=7, count=5, drive=lambda _engine: None, **tolerances):
    """Compare some of the steps of a world, from the given number of steps on."""
    options = {k: tolerances.pop(k) for k in ("tolerance", "forces") if k in tolerances}
    engine = make_world(places, Solver.WORLD, drive, **tolerances)
    engine.step(before)
    found = 0
    for _ in range(count):
        found += len(assert_step_agrees(engine, **options))
        engine.step(every)
    engine.close()
    return found


@pytest.mark.parametrize("seed", mostly_slow(range(10), 4))
def test_random_trees_with_everything_that_a_joint_may_have(seed):
    rng = np.random.default_rng(seed)
    engine = make_world([randomly(rng, random_tree(rng))], Solver.WORLD, self_collision=False)
    for _ in range(4):
        drive_randomly(rng, engine)
        push_randomly(rng, engine)
        assert_step_agrees(engine, tolerance=1e-5)
        engine.step(20)
    engine.close()


@pytest.mark.parametrize("kind", ExtraJointType)
def test_loops_of_each_kind(kind):
    links = [root(), child("A", "BASE", REVOLUTE, Z), child("B", "A", REVOLUTE, X, X_PL=at(0.3))]
    links += [child("C", "BASE", REVOLUTE, [0.6, 0.0, 0.8], X_PL=at(0.0, 0.4, 0.1))]
    tie = ExtraJoint(
        type=kind, links=("B", "C"), X_AJ=at(-0.1, 0.3, 0.1), X_BJ=at(0.2, -0.1), axis=Z, name="tie"
    )
    body = Body(name="loop", links=tuple(links), extra_joints=(tie,))
    steps_agree([fixed(body)], self_collision=False)


@pytest.mark.parametrize("kind", [REVOLUTE, PRISMATIC])
def test_geared_fingers_that_are_driven_against_a_stop(kind):
    links = [root(free=True), child("A", "BASE", REVOLUTE, Z, position=Range(-0.1, 0.05))]
    links += [child("B", "A", kind, X, X_PL=at(0.1), rotor=0.1)]
    links[2] = replace(links[2], joint=replace(links[2].joint, mimic=Mimic("A", -0.7, 0.02)))

    def drive(engine):
        engine.state.bodies["gear"].drive.effort[0] = 20.0

    body = moving(Body(name="gear", links=tuple(links)), q=np.array([0.0, 0.02]))
    steps_agree([body], drive=drive, self_collision=False, count=8)


def test_an_arm_that_falls_into_its_limits():
    body = load_body(MODELS / "arm" / "arm.body")
    steps_agree([fixed(body)], before=200, every=100, count=8, self_collision=False)


@pytest.mark.parametrize(("apart", "mu"), [(0.5, 0.4), (0.19, 0.0)])
def test_balls_that_roll_or_meet(apart, mu):
    rng = np.random.default_rng(2)
    places = [moving(BALL, at(apart * k, z=0.0999), f"b{k}") for k in range(4)]
    places = [
        replace(p, v=rng.normal(size=3) * [1.0, 1.0, 0.0], w=5.0 * rng.normal(size=3))
        for p in places
    ]
    assert steps_agree([floor(), *places], friction=mu, tolerance=1e-6) > 10


@pytest.mark.parametrize("mu", [0.0, 0.4])
def test_a_box_that_slides(mu):
    rng = np.random.default_rng(3)
    places = boxes(rng, 1)
    places[1] = replace(places[1], v=X, X_WL=at(z=0.15))
    allowed = {"tolerance": 1e-5, "forces": 1e-3}
    assert steps_agree(places, before=100, friction=mu, count=3, **allowed) >= 6


@pytest.mark.parametrize("seed", mostly_slow(range(3), 1))
def test_boxes_without_friction_in_a_heap(seed):
    places = boxes(np.random.default_rng(seed), 5, apart=0.1)
    assert steps_agree(places, before=100, every=100, friction=0.0) > 20


@pytest.mark.parametrize("seed", mostly_slow([1, 2], 1))
def test_boxes_with_friction_in_a_heap(seed):
    """Where a patch turns, its pressure is not that of its contact points: hence the tolerance."""
    places = boxes(np.random.default_rng(seed), 3, apart=0.1)
    allowed = {"tolerance": 1e-3, "forces": 0.05}
    assert steps_agree(places, before=1000, every=100, count=3, friction=0.6, **allowed) > 15


def test_a_gripper_that_holds_a_cube():
    engine, *_ = gripping(Gripper())
    assert len(assert_step_agrees(engine)) == 8
    engine.close()


@pytest.mark.slow
def test_a_humanoid_that_stands():
    body = load_body(MODELS / "humanoid" / "humanoid.body")

    def hold(engine):
        drive = engine.state.bodies[body.name].drive
        drive.kp[:], drive.kd[:], drive.q[:] = 3000.0, 30.0, engine.state.bodies[body.name].motion.q

    assert steps_agree([floor(), moving(body, body.root.X_PL)], before=50, drive=hold, count=1) >= 8


def test_a_chain_of_thousands_of_links_falls():
    """Without a root that is fixed, all links fall alike."""
    links = [root("B0", free=True)]
    links += [child(f"B{k}", f"B{k - 1}", REVOLUTE, X, X_PL=at(z=0.01)) for k in range(1, 1500)]
    engine = make_world([moving(Body(name="chain", links=tuple(links)))], Solver.WORLD)
    engine.step(2)
    motion = engine.state.bodies["chain"].motion
    fall = np.broadcast_to([0.0, 0.0, -2 * G * engine.settings.time_step], motion.v.shape)
    np.testing.assert_allclose(motion.v, fall, atol=1e-9)
    np.testing.assert_allclose(motion.dq, 0.0, atol=1e-9)
