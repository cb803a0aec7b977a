"""Equal calls give equal states, to the last bit."""

import hashlib
import os
import subprocess
import sys
import threading
from dataclasses import replace

import numpy as np
import pytest
from paths import PYTHONPATH
from sim.ode.scenes import REVOLUTE, X, Y, at, child, floor, lone, moving, placed, root, world

from hrp_model.body import Body
from hrp_model.geometry import Box, Sphere
from hrp_sim.physics.engine import PhysicsError, Placement, Solver


def tumbling(solver=Solver.WORLD, **settings):
    """A jointed thing and some boxes and balls that fall on each other."""
    arm = (placed(Box(np.array([0.1, 0.3, 0.1])), at(y=0.2)),)
    links = (
        root(free=True, collision=(placed(Box(np.array([0.3, 0.2, 0.1]))),)),
        child("A", "BASE", REVOLUTE, X, X_PL=at(y=0.15), collision=arm, rotor=0.01),
        child("B", "A", REVOLUTE, Y, X_PL=at(y=0.4), collision=arm),
    )
    things = [moving(Body(name="arm", links=links), at(z=0.5))]
    for k in range(4):
        shape = placed(Sphere(0.1)) if k % 2 else placed(Box(np.full(3, 0.15)))
        things.append(moving(lone(shape), at(0.02 * k, 0.01 * k, 0.8 + 0.2 * k), name=f"t{k}"))
    engine, arm, *_ = world(floor(), *things, solver=solver, **settings)
    engine.state.bodies["arm"].drive.kp[:] = 5.0
    return engine


def digest(engine):
    sha = hashlib.sha256(str(engine.state.time_ns).encode())
    for simulated in engine.state.bodies.values():
        m = simulated.motion
        for array in (m.p, m.R, m.v, m.w, m.a, m.alpha, m.q, m.dq, m.effort):
            sha.update(array.tobytes())
    return sha.hexdigest()


@pytest.mark.parametrize("solver", list(Solver))
def test_a_reset_starts_the_same_run_again(solver):
    engine = tumbling(solver)
    start = digest(engine)
    engine.step(1000)
    first = digest(engine)
    engine.step(77)
    engine.reset()
    assert digest(engine) == start
    engine.step(1000)
    assert digest(engine) == first


@pytest.mark.parametrize("solver", list(Solver))
def test_many_steps_at_once_are_as_many_single_ones(solver):
    engine, other = tumbling(solver), tumbling(solver)
    engine.step(300)
    for _ in range(300):
        other.step()
    assert digest(engine) == digest(other)


def test_worlds_do_not_disturb_each_other():
    alone, one, two = (tumbling(Solver.QUICK) for _ in range(3))
    alone.step(300)
    for _ in range(300):
        one.step()
        two.step(2)
    assert digest(one) == digest(alone)


def test_the_seed_orders_the_constraints_of_the_quick_solver():
    runs = [tumbling(Solver.QUICK, seed=seed) for seed in (1, 1, 2)]
    for engine in runs:
        engine.step(600)
    assert digest(runs[0]) == digest(runs[1]) != digest(runs[2])


def test_another_process_computes_the_same():
    code = (
        "from sim.ode.test_repeatability import *\n"
        "for solver in Solver:\n"
        "    engine = tumbling(solver)\n"
        "    engine.step(1000)\n"
        "    print(digest(engine))\n"
    )
    env = {**os.environ, "PYTHONPATH": PYTHONPATH}
    command = [sys.executable, "-c", code]
    runs = [
        subprocess.run(command, env=env, capture_output=True, text=True, check=True) for _ in "ab"
    ]
    here = []
    for solver in Solver:
        engine = tumbling(solver)
        engine.step(1000)
        here.append(digest(engine))
    assert [run.stdout.split() for run in runs] == [here, here]


def test_a_failed_step_can_be_taken_again():
    engine, other = tumbling(), tumbling()
    engine.step(200)
    drive = engine.state.bodies["arm"].drive
    drive.effort[0] = 5e7
    with pytest.raises(PhysicsError, match="its motion has diverged"):
        engine.step(1)
    drive.effort[0] = 0.0
    engine.step(200)
    other.step(400)
    assert digest(engine) == digest(other)


def test_a_removed_body_is_gone():
    engine = tumbling()
    engine.step(500)
    engine.remove_body("arm")
    assert "arm" not in engine.state.bodies
    engine.step(500)
    engine.add_body(moving(lone(placed(Sphere(0.1))), at(z=3.0), name="arm"))
    engine.step(500)
    with pytest.raises(KeyError):
        engine.remove_body("nobody")


def test_bodies_come_and_go_without_growth():
    resource = pytest.importorskip("resource")
    shapes = (placed(Sphere(0.1)), placed(Box(np.full(3, 0.2))))
    links = (root(free=True, collision=shapes), child("A", "BASE", REVOLUTE, X, collision=shapes))
    thing = moving(Body(name="thing", links=links), at(z=1.0))
    # Moved, its hinge is made anew: it is tied to the world.
    base = Placement(name="base", body=Body(name="base", links=links), X_WL=at(y=5.0), fixed=True)
    engine, _ = world(floor())

    def cycle(count):
        for _ in range(count):
            engine.add_body(thing)
            engine.add_body(base)
            saved = engine.save()
            engine.move_body(replace(base, X_WL=at(0.0, 5.0, 2.0)))
            engine.step(2)
            engine.restore(saved)
            engine.reset()
            engine.remove_body("base")
            engine.remove_body("thing")
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    before = cycle(200)
    # In kilobytes. Python takes memory for small objects by the mebibyte, and one more may be due.
    assert cycle(1000) - before < 2048


def test_the_interpreter_runs_while_physics_steps():
    engine = tumbling()
    started, counted = threading.Event(), []

    def count():
        started.wait()
        while worker.is_alive():
            counted.append(1)

    def work():
        started.set()
        engine.step(2000)

    worker = threading.Thread(target=work)
    counter = threading.Thread(target=count)
    counter.start()
    worker.start()
    started.wait()
    refused = 0
    while worker.is_alive():
        refused += is_busy(engine)
    worker.join()
    counter.join()
    assert refused > 0
    assert len(counted) > 100


def is_busy(engine):
    try:
        engine.cast_rays(np.zeros((1, 3)), X[None], 1.0)
    except RuntimeError as error:
        return "another thread" in str(error)
    return False


def crowd():
    """Thirty boxes on four contacts each; ten of them slide."""
    shape = placed(Box(np.full(3, 0.1)))
    rng = np.random.default_rng(4)
    boxes = [
        moving(
            lone(shape, inertia=np.eye(3) / 600.0),
            at(0.2 * (k % 6), 0.2 * (k // 6), 0.0499),
            name=f"b{k}",
            v=np.append(rng.uniform(-0.4, 0.4, 2), 0.0) * (k < 10),
        )
        for k in range(30)
    ]
    engine, *_ = world(floor(), *boxes)
    return engine


def test_a_reset_forgets_how_many_contacts_there_were():
    engine, fresh = crowd(), crowd()
    engine.step(300)
    engine.reset()
    engine.step(100)
    fresh.step(100)
    assert digest(engine) == digest(fresh)


def test_a_crowd_of_contacts_goes_on_after_a_restore():
    engine, fresh = crowd(), crowd()
    engine.step(60)
    saved = engine.save()
    assert len(saved["habits"]) > 100
    engine.step(100)
    there = digest(engine)
    engine.restore(saved)
    engine.step(100)
    fresh.restore(saved)
    fresh.step(100)
    assert digest(engine) == digest(fresh) == there
