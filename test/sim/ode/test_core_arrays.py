"""What the extension refuses of arrays that no Articulation made by ``flatten`` has."""

import threading
import time
from dataclasses import replace

import numpy as np
import pytest
from sim.ode.menagerie import placements
from sim.physics.scenes import (
    FIXED,
    REVOLUTE,
    at,
    child,
    fixed,
    floor,
    lone,
    moving,
    one_joint,
    placed,
    root,
    world,
)

from hrp_model.body import Body
from hrp_model.geometry import Box, Sphere
from hrp_sim.engine.articulation.articulation import Gears
from hrp_sim.engine.articulation.flatten import flatten
from hrp_sim.engine.engine import PhysicsSettings
from hrp_sim.engine.ode import _core
from hrp_sim.engine.state import SimulatedBody


def add(engine, articulation):
    body = articulation.placement.body
    simulated = SimulatedBody.at_rest("broken", body)
    return engine._world.add_body(articulation, simulated.motion, simulated.drive, simulated.wrench)


def looped():
    flat = (flatten(p, PhysicsSettings()) for p in placements().values())
    return next(a for a in flat if len(a.loops.kind))


@pytest.mark.parametrize(
    ("field", "value", "problem"),
    [
        ("coordinate", -1, "has no coordinate"),
        ("coordinate", 1, "out of range"),
        ("parent", 0, "not that of a tree"),
        ("child", 1, "out of range"),
        ("kind", 7, "out of range"),
    ],
)
def test_joints_that_make_no_sense(field, value, problem):
    engine, *_ = world(floor())
    articulation = flatten(fixed(one_joint(REVOLUTE)), PhysicsSettings())
    joints = replace(articulation.joints, **{field: np.full(1, value, dtype=np.int32)})
    with pytest.raises(ValueError, match=problem):
        add(engine, replace(articulation, joints=joints))
    engine.step()


@pytest.mark.parametrize("group", [-1, 0])
def test_extra_joints_between_a_group_and_itself(group):
    engine, *_ = world(floor())
    articulation = looped()
    same = np.full_like(articulation.loops.a, group)
    with pytest.raises(ValueError, match="connects a group to itself"):
        add(engine, replace(articulation, loops=replace(articulation.loops, a=same, b=same)))
    engine.step()


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"leader": 2}, "out of range"),
        ({"follower": -1}, "out of range"),
        ({"leader": 1}, "does not connect two moving joints"),
        ({"ratio": np.nan}, "not finite"),
    ],
)
def test_gears_that_make_no_sense(changes, problem):
    engine, *_ = world(floor())
    links = (root(), child("A", "BASE", REVOLUTE), child("B", "BASE", REVOLUTE))
    articulation = flatten(fixed(Body(name="pair", links=links)), PhysicsSettings())
    rows = {"follower": 1, "leader": 0, "ratio": 2.0, "offset": 0.0} | changes
    gears = Gears(
        **{
            k: np.full(1, x, np.float64 if k in ("ratio", "offset") else np.int32)
            for k, x in rows.items()
        }
    )
    with pytest.raises(ValueError, match=problem):
        add(engine, replace(articulation, gears=gears))
    engine.step()


def test_joints_in_a_ring():
    engine, *_ = world(floor())
    articulation = next(
        flat
        for flat in (flatten(p, PhysicsSettings()) for p in placements().values())
        if len(flat.joints.kind) > 2 and not len(flat.loops.kind)
    )
    joints = articulation.joints
    parents, children = joints.parent.copy(), joints.child
    parents[0] = children[-1] if children[-1] != children[0] else children[-2]
    with pytest.raises(ValueError, match=r"joints\[0\] is not that of a tree"):
        add(engine, replace(articulation, joints=replace(joints, parent=parents)))
    engine.step()


def test_links_of_one_group_never_collide():
    engine, *_ = world(floor())
    shapes = (placed(Box(np.full(3, 0.2))),)
    body = Body(
        name="lump",
        links=(
            root("A", free=True, collision=shapes),
            child("B", "A", FIXED, X_PL=at(0.1), collision=shapes),
        ),
    )
    articulation = flatten(moving(body, at(z=1.0)), PhysicsSettings())
    always = np.ones_like(articulation.contacts)
    add(engine, replace(articulation, contacts=always))
    engine._world.step(3)
    assert engine.contacts == 0


def problem_of(call):
    try:
        call()
    except RuntimeError as error:
        return str(error)
    return None


def test_a_world_that_steps_in_another_thread_is_not_looked_into():
    ball = lone(placed(Sphere(0.1)))
    balls = [moving(ball, at(0.3 * k, z=0.1), f"ball{k}") for k in range(20)]
    engine, *_ = world(*balls, floor())
    core = engine._world
    problems = []

    def step():
        while not problems:
            engine.step(2_000)

    thread = threading.Thread(target=step)
    thread.start()
    end = time.monotonic() + 300.0
    while not problems and time.monotonic() < end:
        if (problem := problem_of(lambda: core.contact_memory)) is not None:
            problems.append(problem)
    problems.append("none")
    thread.join()
    problem = problems[0]
    assert problem == "the world is being used by another thread"
    assert len(core.contact_memory) >= 4 * _core.MEMORY_NUMBERS * 20
