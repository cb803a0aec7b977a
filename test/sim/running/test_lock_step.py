"""A run that waits for its controllers: when it does, what it takes, and that it repeats."""

import random
import threading
import time
from contextlib import contextmanager

import numpy as np
import pytest
from lockstep_tools import MS, Waiting
from paths import MODELS
from run_tools import Clock, Counter, OnStep

from hrp_sim import Simulation, load_world
from hrp_sim.control import JointCommand
from hrp_sim.run.lock_step import REPUBLISH_PERIOD, LockStep
from hrp_sim.run.run import Run

PATIENCE = 300.0  # seconds after which a test that would hang fails instead


@pytest.mark.parametrize(
    ("rate", "boundaries"),
    [(500.0, [2, 4, 6, 8, 10]), (1000.0, list(range(1, 11))), (300.0, [4, 7, 10])],
)
def test_a_boundary_is_the_first_step_at_or_after_the_end_of_each_period(rate, boundaries):
    waiting = Waiting(rate=rate)
    closed = []
    for k in range(1, 11):
        if waiting.step_to(k * MS) > 0.0:
            closed.append(k)
            waiting.give("a", k * MS)
            assert waiting.lock_step.wait_time(k * MS) == 0.0
    assert closed == boundaries
    assert len(waiting.taken) == len(boundaries)


def test_commands_have_their_effect_together_and_in_the_order_of_their_sources():
    waiting = Waiting("b", "c", "a")
    assert waiting.step_to(2 * MS) > 0.0
    for source in ("c", "a", "b"):
        assert waiting.taken == []
        waiting.give(source, 2 * MS)
    assert waiting.woken == 1
    assert waiting.lock_step.wait_time(2 * MS) == 0.0
    assert waiting.taken == ["a", "b", "c"]


def test_who_is_not_waited_for_is_heard_at_once():
    waiting = Waiting("a")
    waiting.give("other", 123)
    assert waiting.taken == ["other"]


def test_stale_early_and_doubled_commands_are_dropped_and_counted():
    waiting = Waiting("a", "b")
    waiting.give("a", 0, "before the first boundary")
    assert waiting.step_to(2 * MS) > 0.0
    waiting.give("a", 1 * MS, "stale")
    waiting.give("a", 4 * MS, "early")
    waiting.give("a", 2 * MS, "first")
    waiting.give("a", 2 * MS, "second")
    assert waiting.lock_step.missing == ["b"]
    waiting.give("b", 0)
    assert waiting.lock_step.wait_time(2 * MS) == 0.0
    waiting.give("a", 2 * MS, "late")
    assert waiting.taken == ["first", "b"]
    assert waiting.lock_step.counts.dropped == 5


def test_after_a_time_out_the_run_goes_on_with_what_there_is(monkeypatch):
    clock = Clock(monkeypatch)
    waiting = Waiting("a", "b", timeout=0.5)
    assert waiting.step_to(2 * MS) == pytest.approx(0.5)
    waiting.give("b", 0)
    clock.now += 0.3
    assert waiting.lock_step.wait_time(2 * MS) == pytest.approx(0.2)
    clock.now += 0.2
    assert waiting.lock_step.wait_time(2 * MS) == 0.0
    assert waiting.taken == ["b"]
    assert waiting.timeouts == [(["a"], 2 * MS)]
    counts = waiting.lock_step.counts
    assert (counts.boundaries, counts.timeouts) == (1, 1)
    assert (counts.waited, counts.longest) == pytest.approx((0.5, 0.5))


def test_without_a_time_out_it_waits_on_and_tells_the_readings_again(monkeypatch):
    clock = Clock(monkeypatch)
    waiting = Waiting()
    assert waiting.step_to(2 * MS) == REPUBLISH_PERIOD
    for k in range(1, 4):
        clock.now += REPUBLISH_PERIOD
        assert waiting.lock_step.wait_time(2 * MS) == pytest.approx(REPUBLISH_PERIOD)
        assert waiting.republished == k
    assert waiting.timeouts == []


def test_a_pause_does_not_count_as_waiting_and_the_boundary_stays(monkeypatch):
    clock = Clock(monkeypatch)
    waiting = Waiting(timeout=0.5)
    assert waiting.step_to(2 * MS) > 0.0
    clock.now += 100.0  # nobody asks meanwhile
    waiting.lock_step.start(2 * MS)
    assert waiting.lock_step.wait_time(2 * MS) == pytest.approx(0.5)
    waiting.give("a", 2 * MS)
    assert waiting.lock_step.wait_time(2 * MS) == 0.0
    assert waiting.taken == ["a"]


def test_a_jump_in_time_forgets_what_was_waited_for_and_what_came():
    waiting = Waiting("a", "b")
    assert waiting.step_to(2 * MS) > 0.0
    waiting.give("a", 2 * MS)
    waiting.lock_step.start(0)
    assert waiting.lock_step.wait_time(0) == 0.0
    assert waiting.step_to(1 * MS) == 0.0
    assert waiting.step_to(2 * MS) > 0.0
    assert waiting.lock_step.missing == ["a", "b"]
    assert waiting.taken == []


def test_a_world_that_begins_anew_at_a_boundary_is_told_nothing_of_the_one_before():
    waiting = Waiting("a", "b")
    assert waiting.step_to(2 * MS) > 0.0
    waiting.give("a", 2 * MS, "an answer to the world before")
    waiting.lock_step.start(2 * MS, after_reset=True)
    assert waiting.lock_step.wait_time(2 * MS) == 0.0
    waiting.give("b", 2 * MS, "another one")
    assert waiting.step_to(4 * MS) > 0.0
    assert waiting.lock_step.missing == ["a", "b"]
    assert waiting.taken == []


def test_what_a_source_stamps_that_is_waited_for_is_known():
    waiting = Waiting("a", "b")
    assert waiting.step_to(2 * MS) > 0.0
    waiting.give("a", 7)
    waiting.give("b", 2 * MS)
    waiting.give("b", 2 * MS)
    assert waiting.lock_step.misstamped == {"a": 7}
    waiting.give("a", 2 * MS)
    assert waiting.lock_step.misstamped == {}


def test_a_boundary_is_known_as_one_until_it_is_passed():
    waiting = Waiting("a")
    seen = []
    for k in range(1, 5):
        waiting.lock_step.stepped(k * MS)
        seen.append(waiting.lock_step.is_boundary(k * MS))
        waiting.give("a", 0)
        assert waiting.lock_step.wait_time(k * MS) == 0.0
        assert not waiting.lock_step.is_boundary(k * MS)
    assert seen == [False, True, False, True]


@pytest.mark.parametrize(("sources", "rate", "timeout"), [((), 1, 1), ("a", 0, 1), ("a", 1, -1)])
def test_a_lock_step_that_makes_no_sense_is_refused(sources, rate, timeout):
    with pytest.raises(ValueError, match=r"lock-step needs|rate must be"):
        Waiting(*sources, rate=rate, timeout=timeout).step_to(1) if sources else LockStep(
            (), rate, timeout, on_timeout=print, republish=print, wake=print
        )


@contextmanager
def controlled(simulation, controller, *, timeout=0.0, **options):
    """A runner in lock-step with a controller, which is asked in a thread of its own."""
    readings_came = threading.Condition()
    inbox = []

    def on_step(time_ns, readings):
        with readings_came:
            inbox.append((time_ns, readings))
            readings_came.notify()

    def control():
        while True:
            with readings_came:
                while not inbox:
                    readings_came.wait()
                time_ns, readings = inbox.pop(0)
            if time_ns is None:
                return
            controller(lock_step, time_ns, readings)

    runner = Run(simulation, [OnStep(on_step)], real_time_factor=0.0, **options)
    lock_step = LockStep(
        ["controller"],
        500.0,
        timeout,
        on_timeout=lambda *_: None,
        republish=lambda: None,
        wake=runner.wake,
    )
    runner.gate = lock_step
    thread = threading.Thread(target=control, daemon=True)
    thread.start()
    try:
        yield runner, lock_step
    finally:
        on_step(None, {})
        thread.join(PATIENCE)


def swinging_arm_hash(delay, seconds=0.3):
    """Return the state's hash after a PD controller in another thread has moved an arm."""
    simulation = Simulation(load_world(MODELS / "worlds" / "arm.yaml"))
    body = simulation.bodies["arm"]
    names = [link.joint.name for link in body.body.moving_links]

    def control(lock_step, time_ns, readings):
        if (joints := readings.get("joint_states")) is None:
            return
        goal = 0.5 * np.sin(10.0 * time_ns * 1e-9)
        effort = 30.0 * (goal - joints.position) - 2.0 * joints.velocity
        command = JointCommand(names, effort=effort.tolist())
        time.sleep(delay())
        lock_step.submit("controller", time_ns, lambda: simulation.command(body.name, command))

    with controlled(simulation, control, duration=seconds) as (runner, lock_step):
        runner.run()
    assert lock_step.counts.boundaries == round(500 * seconds) - 1  # the last has no step behind it
    assert simulation.state.time_ns == round(seconds * 1e9)
    state = simulation.state_hash()
    assert float(np.abs(body.motion.q).max()) > 0.05
    simulation.close()
    return state


def test_a_slow_controller_gets_the_same_motion_to_the_last_bit():
    irregular = random.Random(4)
    slow = swinging_arm_hash(lambda: irregular.choice([0.0, 0.0, 0.001, 0.004]))
    assert slow == swinging_arm_hash(lambda: 0.0)


def test_a_run_that_waits_can_be_paused_stepped_reset_and_stopped():
    simulation = Counter()
    waited = threading.Event()
    with controlled(simulation, lambda *_: waited.set()) as (runner, lock_step):
        thread = threading.Thread(target=runner.run, daemon=True)
        thread.start()
        assert waited.wait(PATIENCE)
        while lock_step.missing != ["controller"]:
            runner.call(lambda: None)
        assert simulation.state.time_ns == 2 * MS
        runner.pause()
        stepping = runner.step(2)
        lock_step.submit("controller", 0, lambda: None)
        while runner.call(lambda: simulation.state.time_ns) != 4 * MS:
            pass  # the second step is the one to the next boundary
        assert stepping.wait(PATIENCE)
        runner.reset()
        runner.resume()
        while runner.call(lambda: simulation.state.time_ns) != 2 * MS:
            pass
        runner.stop()
        thread.join(PATIENCE)
        assert not thread.is_alive()
