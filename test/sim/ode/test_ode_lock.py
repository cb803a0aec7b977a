"""One thread of a process is in ODE at a time, whatever each of them does with its worlds."""

import gc
import os
import sys
from dataclasses import replace
from threading import Barrier, Event, Thread

import numpy as np
import pytest
from sim.ode.menagerie import placements
from sim.physics.scenes import (
    REVOLUTE,
    at,
    fixed,
    floor,
    lone,
    moving,
    one_joint,
    placed,
    world,
)

from hrp_model.geometry import Mesh, Sphere
from hrp_sim.engine.articulation.flatten import flatten
from hrp_sim.engine.engine import PhysicsSettings
from hrp_sim.engine.ode import OdeEngine, faults
from hrp_sim.engine.state import SimulatedBody

LIMIT = 300.0  # [s], for what takes milliseconds


def rays(engine):
    return engine.cast_rays(np.zeros((1, 3)), np.array([[0.0, 0.0, 1.0]]), 1.0)


def rebase(engine):
    core = engine._world
    articulation = flatten(fixed(one_joint(REVOLUTE)), engine.settings)
    core.rebase_body(engine._entries["one"].number, articulation)


CALLS = {
    "World": lambda _: OdeEngine(PhysicsSettings()),
    "add_body": lambda engine: engine.add_body(moving(lone())),
    "remove_body": lambda engine: engine.remove_body("one"),
    "rebase_body": rebase,
    "move_body": lambda engine: engine.move_body(engine._entries["one"].initial.placement),
    "save": lambda engine: engine.save(),
    "restore": lambda engine: engine.restore(engine.save()),
    "reset": lambda engine: engine._world.reset(),
    "step": lambda engine: engine.step(),
    "cast_rays": rays,
    "close": lambda engine: engine.close(),
}


@pytest.mark.parametrize("name", [*CALLS, "del"])
def test_a_call_waits_for_the_thread_that_is_in_ode(name):
    engines = [world(fixed(one_joint(REVOLUTE)))[0]]
    order, inside, ended = [], Event(), Event()

    def stay_in_ode():
        inside.set()
        ended.wait(0.02)  # time enough for a call that does not wait
        order.append("left")

    def call():
        inside.wait(LIMIT)
        engine = engines.pop()
        CALLS.get(name, lambda _: None)(engine)
        del engine
        order.append("called")
        ended.set()

    threads = [Thread(target=faults.guarded, args=(stay_in_ode,)), Thread(target=call)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LIMIT)
    assert order == ["left", "called"]


def test_a_world_may_be_freed_by_a_thread_that_is_in_ode():
    engines = [world(floor())[0]]
    thread = Thread(target=faults.guarded, args=(engines.clear,), daemon=True)
    thread.start()
    thread.join(LIMIT)
    assert not thread.is_alive()


def cone():
    corners = [[np.cos(a), np.sin(a), 0.0] for a in np.linspace(0.0, 2 * np.pi, 12)]
    triangles = [[0, k, k + 1] for k in range(1, 12)]
    return placed(Mesh(np.array([[0, 0, 1.0], *corners]), np.array(triangles, dtype=np.int32)))


def test_worlds_come_and_go_while_others_step():
    begin, problems = Barrier(4), []

    def run(work):
        try:
            begin.wait(LIMIT)
            work()
        except Exception as error:
            problems.append(error)

    def step():
        engine, *_ = world(floor(), moving(lone(cone()), at(z=0.5)))
        for _ in range(100):
            engine.step(2)

    def make_and_close():
        for _ in range(40):
            engine, *_ = world(floor(), moving(lone(cone()), at(z=0.5)))
            engine.step()
            engine.close()

    def add_and_remove():
        engine, *_ = world(floor())
        for _ in range(80):
            engine.add_body(moving(lone(cone(), name="come"), at(z=0.5)))
            engine.step()
            engine.remove_body("come")

    threads = [
        Thread(target=run, args=(work,)) for work in (step, step, make_and_close, add_and_remove)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LIMIT)
    assert not any(thread.is_alive() for thread in threads)
    assert problems == []


def resident_kib():
    with open("/proc/self/statm", encoding="ascii") as statm:
        return int(statm.read().split()[1]) * 4


def crank():
    """Return a body with an extra joint, and the same with a joint frame that is no rotation."""
    good = flatten(next(p for p in placements().values() if p.body.extra_joints), PhysicsSettings())
    loops = replace(good.loops, R_b=np.zeros_like(good.loops.R_b))
    return good, replace(good, loops=loops)


def weightless():
    """Return a body whose inertia ODE refuses."""
    body = flatten(moving(lone(placed(Sphere(0.1)), cone())), PhysicsSettings())
    return replace(body, groups=replace(body.groups, inertia=-body.groups.inertia))


def add(engine, articulation):
    simulated = SimulatedBody.at_rest("body", articulation.placement.body)
    arrays = simulated.motion, simulated.drive, simulated.wrench
    return engine._world.add_body(articulation, *arrays)[0]


def fail(good, bad):
    """Try to add a body that ODE refuses, or to move a good one there, in a world of its own."""
    engine = OdeEngine(PhysicsSettings())
    if good is None:
        with pytest.raises((ValueError, RuntimeError)):
            add(engine, bad)
    else:
        number = add(engine, good)
        with pytest.raises((ValueError, RuntimeError)):
            engine._world.rebase_body(number, bad)
    broken = engine._world.broken
    engine.close()
    return broken


@pytest.mark.parametrize(
    ("good", "bad"),
    [(None, weightless()), (None, crank()[1]), crank()],
    ids=["add", "add a loop", "rebase"],
)
def test_bodies_that_are_refused_leave_nothing_behind(good, bad):
    references = sys.getrefcount(bad.links.group)
    for _ in range(20):
        assert not fail(good, bad), "the world is lost"
    before = resident_kib()
    for _ in range(150):
        fail(good, bad)
    gc.collect()  # tracebacks of what was raised
    left = sys.getrefcount(bad.links.group) - references
    assert left == 0
    if "libasan" not in os.environ.get("LD_PRELOAD", ""):  # which keeps what was freed
        assert resident_kib() - before < 300  # of 5 to 20 KiB each, had they stayed
