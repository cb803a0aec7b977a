"""A run that waits for its controllers: when it does, what it takes, and that it repeats."""

import random
import threading
import time
from contextlib import contextmanager
from math import inf

import numpy as np
import pytest
from paths import MODELS
from runner_tools import Clock, Counter

from hrp_sim import Simulation, load_world
from hrp_sim.control import JointCommand
from hrp_sim.lockstep import SETTLED, TELL_AGAIN, LockStep
from hrp_sim.runner import Runner

PATIENCE = 30.0  # seconds after which a test that would hang fails instead
MS = 1_000_000


class Waiting:
    """A lock-step of 500 Hz without a runner, and what it told."""

    def __init__(self, *sources, timeout=0.0, rate=500.0, by_arrival=()):
        self.timeouts, self.told, self.woken = [], 0, 0
        self.lock_step = LockStep(
            sources or ("a",),
            rate,
            timeout,
            by_arrival=by_arrival,
            on_timeout=lambda missing, now_ns: self.timeouts.append((missing, now_ns)),
            tell_again=self._tell,
            wake=self._wake,
        )
        self.lock_step.start(0)
        self.taken = []

    def _tell(self):
        self.told += 1

    def _wake(self):
        self.woken += 1

    def step_to(self, now_ns):
        self.lock_step.stepped(now_ns)
        return self.lock_step.closed(now_ns)

    def give(self, source, stamp_ns, what=None):
        self.lock_step.take(source, stamp_ns, lambda: self.taken.append(what or source))


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
            assert waiting.lock_step.closed(k * MS) == 0.0
    assert closed == boundaries
    assert len(waiting.taken) == len(boundaries)


def test_commands_have_their_effect_together_and_in_the_order_of_their_sources():
    waiting = Waiting("b", "c", "a")
    assert waiting.step_to(2 * MS) > 0.0
    for source in ("c", "a", "b"):
        assert waiting.taken == []
        waiting.give(source, 2 * MS)
    assert waiting.woken == 1
    assert waiting.lock_step.closed(2 * MS) == 0.0
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
    assert waiting.lock_step.closed(2 * MS) == 0.0
    waiting.give("a", 2 * MS, "late")
    assert waiting.taken == ["first", "b"]
    assert waiting.lock_step.counts.dropped == 5


def test_after_a_time_out_the_run_goes_on_with_what_there_is(monkeypatch):
    clock = Clock(monkeypatch)
    waiting = Waiting("a", "b", timeout=0.5)
    assert waiting.step_to(2 * MS) == pytest.approx(0.5)
    waiting.give("b", 0)
    clock.now += 0.3
    assert waiting.lock_step.closed(2 * MS) == pytest.approx(0.2)
    clock.now += 0.2
    assert waiting.lock_step.closed(2 * MS) == 0.0
    assert waiting.taken == ["b"]
    assert waiting.timeouts == [(["a"], 2 * MS)]
    counts = waiting.lock_step.counts
    assert (counts.boundaries, counts.timeouts) == (1, 1)
    assert (counts.waited, counts.longest) == pytest.approx((0.5, 0.5))


def test_without_a_time_out_it_waits_on_and_tells_the_readings_again(monkeypatch):
    clock = Clock(monkeypatch)
    waiting = Waiting()
    assert waiting.step_to(2 * MS) == TELL_AGAIN
    for k in range(1, 4):
        clock.now += TELL_AGAIN
        assert waiting.lock_step.closed(2 * MS) == pytest.approx(TELL_AGAIN)
        assert waiting.told == k
    assert waiting.timeouts == []


def test_a_pause_does_not_count_as_waiting_and_the_boundary_stays(monkeypatch):
    clock = Clock(monkeypatch)
    waiting = Waiting(timeout=0.5)
    assert waiting.step_to(2 * MS) > 0.0
    clock.now += 100.0  # nobody asks meanwhile
    waiting.lock_step.start(2 * MS)
    assert waiting.lock_step.closed(2 * MS) == pytest.approx(0.5)
    waiting.give("a", 2 * MS)
    assert waiting.lock_step.closed(2 * MS) == 0.0
    assert waiting.taken == ["a"]


def test_a_jump_in_time_forgets_what_was_waited_for_and_what_came():
    waiting = Waiting("a", "b")
    assert waiting.step_to(2 * MS) > 0.0
    waiting.give("a", 2 * MS)
    waiting.lock_step.start(0)
    assert waiting.lock_step.closed(0) == 0.0
    assert waiting.step_to(1 * MS) == 0.0
    assert waiting.step_to(2 * MS) > 0.0
    assert waiting.lock_step.missing == ["a", "b"]
    assert waiting.taken == []


def test_a_world_that_begins_anew_at_a_boundary_is_told_nothing_of_the_one_before():
    waiting = Waiting("a", "b")
    assert waiting.step_to(2 * MS) > 0.0
    waiting.give("a", 2 * MS, "an answer to the world before")
    waiting.lock_step.start(2 * MS, anew=True)
    assert waiting.lock_step.closed(2 * MS) == 0.0
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
    assert waiting.lock_step.strays == {"a": 7}
    waiting.give("a", 2 * MS)
    assert waiting.lock_step.strays == {}


def test_a_boundary_is_known_as_one_until_it_is_passed():
    waiting = Waiting("a")
    seen = []
    for k in range(1, 5):
        waiting.lock_step.stepped(k * MS)
        seen.append(waiting.lock_step.is_boundary(k * MS))
        waiting.give("a", 0)
        assert waiting.lock_step.closed(k * MS) == 0.0
        assert not waiting.lock_step.is_boundary(k * MS)
    assert seen == [False, True, False, True]


@pytest.mark.parametrize(("sources", "rate", "timeout"), [((), 1, 1), ("a", 0, 1), ("a", 1, -1)])
def test_a_lock_step_that_makes_no_sense_is_refused(sources, rate, timeout):
    with pytest.raises(ValueError, match=r"lock-step needs|rate must be"):
        Waiting(*sources, rate=rate, timeout=timeout).step_to(1) if sources else LockStep(
            (), rate, timeout, on_timeout=print, tell_again=print, wake=print
        )


def test_a_source_by_arrival_is_free_until_its_first_command_and_its_stamps_do_not_count():
    waiting = Waiting(by_arrival=["a"])
    assert waiting.lock_step.paces_clock
    assert waiting.step_to(2 * MS) == 0.0
    assert waiting.lock_step.free == ["a"]
    waiting.give("a", 7, "at once")
    assert waiting.taken == ["at once"]
    assert waiting.lock_step.free == []
    assert waiting.step_to(4 * MS) > 0.0
    waiting.give("a", 2 * MS, "an answer")
    waiting.give("a", 2 * MS, "too many")
    assert waiting.lock_step.closed(4 * MS) == 0.0
    waiting.give("a", 4 * MS, "between boundaries")
    assert waiting.taken == ["at once", "an answer"]
    assert waiting.lock_step.counts.dropped == 2
    assert waiting.lock_step.counts.boundaries == 1


def test_the_first_command_by_arrival_answers_a_boundary_that_the_run_is_at():
    waiting = Waiting(by_arrival=["a"])
    waiting.lock_step.stepped(2 * MS)  # and is not yet due by its pace
    waiting.give("a", 0)
    assert waiting.taken == []
    assert waiting.lock_step.closed(2 * MS) == 0.0
    assert waiting.taken == ["a"]


def test_a_source_by_arrival_that_leaves_out_boundaries_is_waited_for_ever_more_rarely(monkeypatch):
    clock = Clock(monkeypatch)
    waiting = Waiting(timeout=10.0, by_arrival=["a"])
    given = []
    for k in range(1, 40):
        if waiting.step_to(2 * k * MS) > 0.0:
            clock.now += TELL_AGAIN
            assert waiting.lock_step.closed(2 * k * MS) == 0.0
            given.append(k)
        waiting.give("a", 0)
    assert given == [2, 3, 5, 9, 17, 33]
    assert waiting.told == 0
    assert [missing for missing, _ in waiting.timeouts] == [["a"]] * len(given)


def test_a_settled_source_by_arrival_has_the_whole_time_out(monkeypatch):
    clock = Clock(monkeypatch)
    waiting = Waiting(timeout=10.0, by_arrival=["a"])
    waiting.give("a", 0)
    for k in range(1, SETTLED + 1):
        assert waiting.step_to(2 * k * MS) == TELL_AGAIN
        waiting.give("a", 0)
        assert waiting.lock_step.closed(2 * k * MS) == 0.0
    now_ns = 2 * (SETTLED + 1) * MS
    waiting.step_to(now_ns)
    clock.now += 9.5
    assert waiting.lock_step.closed(now_ns) == pytest.approx(0.5)
    waiting.give("a", 0)
    assert waiting.lock_step.closed(now_ns) == 0.0
    assert waiting.timeouts == []
    # Who has answered so late may have been started anew, with another period.
    assert waiting.step_to(now_ns + 2 * MS) > 0.0
    clock.now += TELL_AGAIN
    assert waiting.lock_step.closed(now_ns + 2 * MS) == 0.0


def test_boundaries_of_a_source_by_arrival_are_at_least_a_whole_period_apart():
    waiting = Waiting(rate=300.0, by_arrival=["a"])
    boundaries = []
    for k in range(1, 15):
        waiting.lock_step.stepped(k * MS)
        if waiting.lock_step.is_boundary(k * MS):
            boundaries.append(k)
            waiting.give("a", 0)
        assert waiting.lock_step.closed(k * MS) == 0.0
    assert boundaries == [4, 8, 12]
    waiting.lock_step.start(14 * MS)  # a pause moves no boundary
    for k in range(15, 17):
        waiting.lock_step.stepped(k * MS)
    assert waiting.lock_step.is_boundary(16 * MS)


class Sleeper:
    """A controller manager: it works when its clock shows that its period is over.

    What it hears and sends takes a while, of wall time.
    """

    def __init__(self, waiting, clock, rng, rate, longest):
        self._waiting = waiting
        self._clock = clock
        self._rng = rng
        self._period_ns = 1_000_000_000 // rate
        self._longest = longest
        self._ticks = []  # when they are heard in wall time, and what they show
        self._commands = []  # when they arrive in wall time
        self._busy_until = -inf
        self._now_ns = self._due_ns = 0

    def show(self, time_ns):
        """Publish the clock; of several ticks that wait only the last is heard."""
        self._ticks = [(self._after(), time_ns)]

    def work(self):
        """Do what falls due until now."""
        wall = self._clock.now
        if self._ticks and self._ticks[0][0] <= wall:
            self._now_ns = max(self._now_ns, self._ticks.pop()[1])
        if wall >= self._busy_until and self._now_ns >= self._due_ns:
            self._due_ns = self._now_ns + self._period_ns
            self._busy_until = self._after()
            self._commands.append(self._busy_until + self._rng.uniform(0.0, self._longest))
        while self._commands and self._commands[0] <= wall:
            self._commands.pop(0)
            self._waiting.give("a", 0)

    def _after(self):
        return self._clock.now + self._rng.uniform(0.0, self._longest)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("rate", "update_rate", "is_in_step"),
    [
        (500, 500, True),
        (300, 300, True),  # of which no period is a whole number of steps
        (60, 60, True),
        (100, 250, True),  # wakes at boundaries, though it could more often
        (500, 300, False),
        (500, 100, False),
    ],
)
def test_a_run_and_a_manager_that_sleeps_by_its_clock_never_wait_for_each_other(
    monkeypatch, rate, update_rate, is_in_step, seed
):
    clock, rng = Clock(monkeypatch), random.Random(seed)
    waiting = Waiting(timeout=0.0, rate=float(rate), by_arrival=["a"])
    sleeper = Sleeper(waiting, clock, rng, update_rate, 0.02)
    lock_step, began = waiting.lock_step, clock.now
    for k in range(1, 2001):
        time_ns = k * MS
        lock_step.stepped(time_ns)
        if lock_step.is_boundary(time_ns) or rng.random() < 0.001:  # such as after a pause
            sleeper.show(time_ns)
        while (wait := lock_step.closed(time_ns)) > 0.0:
            clock.now += min(wait, 0.001)
            sleeper.work()
            assert clock.now - began < 300.0, "they wait for each other"
        clock.now += 0.001
        sleeper.work()
    if is_in_step:
        assert lock_step.counts.timeouts <= 1
        assert lock_step.free == []
    else:
        assert lock_step.counts.timeouts <= 12


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

    runner = Runner(simulation, on_step, real_time_factor=0.0, **options)
    lock_step = LockStep(
        ["controller"],
        500.0,
        timeout,
        on_timeout=lambda *_: None,
        tell_again=lambda: None,
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
        lock_step.take("controller", time_ns, lambda: simulation.command(body.name, command))

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
        lock_step.take("controller", 0, lambda: None)
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
