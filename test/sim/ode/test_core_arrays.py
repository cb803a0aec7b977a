"""What the extension refuses of arrays that no Articulation made by ``flatten`` has."""

import threading
from dataclasses import replace

import numpy as np
import pytest
from sim.ode.menagerie import placements
from sim.physics.scenes import REVOLUTE, at, fixed, floor, lone, moving, one_joint, placed, world

from hrp_model.geometry import Sphere
from hrp_sim.articulation.flatten import flatten
from hrp_sim.physics.engine import PhysicsSettings
from hrp_sim.physics.state import SimulatedBody


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
        ("parent", 0, "connects a group to itself"),
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
    thread = threading.Thread(target=engine.step, args=(20_000,))
    thread.start()
    problem = None
    while thread.is_alive() and problem is None:
        problem = problem_of(lambda: core.contact_memory)
    thread.join()
    assert problem == "the world is being used by another thread"
    assert len(core.contact_memory) >= 3 * 20
