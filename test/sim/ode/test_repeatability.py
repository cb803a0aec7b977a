"""Equal calls give equal states, to the last bit."""

import threading
import time

import numpy as np
import pytest
from sim.ode.tumbling import digest, tumbling
from sim.physics.scenes import X, at, floor, lone, moving, placed, world

from hrp_model.geometry import Box, Sphere
from hrp_sim.engine.engine import PhysicsError, Solver


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


def test_the_seed_orders_the_constraints_of_the_quick_solver():
    runs = [tumbling(Solver.QUICK, seed=seed) for seed in (1, 1, 2)]
    for engine in runs:
        engine.step(600)
    assert digest(runs[0]) == digest(runs[1]) != digest(runs[2])


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


def test_others_move_as_if_a_body_that_is_removed_were_still_there():
    """The contacts of a stack that friction holds keep what they leave to the next step."""
    ends = []
    for removed in ((), ("far",)):
        cube = [lone(placed(Box(np.full(3, 0.2))), name=name) for name in ("far", *"abc")]
        places = at(5.0, 0.0, 0.1), at(z=0.1), at(z=0.3), at(z=0.5)
        bodies = [moving(body, place) for body, place in zip(cube, places, strict=True)]
        engine, _, *stack, _ = world(*bodies, floor())
        for box in stack:
            box.wrench.force[0, 0] = 0.6
        engine.step(300)
        for name in removed:
            engine.remove_body(name)
        engine.step(3)
        ends.append([np.hstack([b.motion.p[0], b.motion.v[0]]) for b in stack])
        engine.close()
    np.testing.assert_array_equal(*ends)


def test_the_interpreter_runs_while_physics_steps():
    engine = tumbling()
    started, counted, refused = threading.Event(), [], []

    def count():
        started.wait()
        while worker.is_alive():
            counted.append(1)

    def work():
        started.set()
        end = time.monotonic() + 300.0
        while (not refused or len(counted) <= 100) and time.monotonic() < end:
            engine.step(2000)

    worker = threading.Thread(target=work)
    counter = threading.Thread(target=count)
    counter.start()
    worker.start()
    started.wait()
    while worker.is_alive():
        if is_busy(engine):
            refused.append(1)
    worker.join()
    counter.join()
    assert refused
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
