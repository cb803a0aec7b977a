"""A run in lock-step with controllers that sleep by its clock, as ros2_control's do."""

import random
from math import inf

import pytest
from lockstep_tools import MS, Waiting
from run_tools import Clock

from hrp_sim.run.lock_step import REPUBLISH_PERIOD, SETTLED


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
    assert waiting.lock_step.wait_time(4 * MS) == 0.0
    waiting.give("a", 4 * MS, "between boundaries")
    assert waiting.taken == ["at once", "an answer"]
    assert waiting.lock_step.counts.dropped == 2
    assert waiting.lock_step.counts.boundaries == 1


def test_the_first_command_by_arrival_answers_a_boundary_that_the_run_is_at():
    waiting = Waiting(by_arrival=["a"])
    waiting.lock_step.stepped(2 * MS)  # and is not yet due by its pace
    waiting.give("a", 0)
    assert waiting.taken == []
    assert waiting.lock_step.wait_time(2 * MS) == 0.0
    assert waiting.taken == ["a"]


def test_a_source_by_arrival_that_leaves_out_boundaries_is_waited_for_ever_more_rarely(monkeypatch):
    clock = Clock(monkeypatch)
    waiting = Waiting(timeout=10.0, by_arrival=["a"])
    given = []
    for k in range(1, 40):
        if waiting.step_to(2 * k * MS) > 0.0:
            clock.now += REPUBLISH_PERIOD
            assert waiting.lock_step.wait_time(2 * k * MS) == 0.0
            given.append(k)
        waiting.give("a", 0)
    assert given == [2, 3, 5, 9, 17, 33]
    assert waiting.republished == 0
    assert [missing for missing, _ in waiting.timeouts] == [["a"]] * len(given)


def test_a_settled_source_by_arrival_has_the_whole_time_out(monkeypatch):
    clock = Clock(monkeypatch)
    waiting = Waiting(timeout=10.0, by_arrival=["a"])
    waiting.give("a", 0)
    for k in range(1, SETTLED + 1):
        assert waiting.step_to(2 * k * MS) == REPUBLISH_PERIOD
        waiting.give("a", 0)
        assert waiting.lock_step.wait_time(2 * k * MS) == 0.0
    now_ns = 2 * (SETTLED + 1) * MS
    waiting.step_to(now_ns)
    clock.now += 9.5
    assert waiting.lock_step.wait_time(now_ns) == pytest.approx(0.5)
    waiting.give("a", 0)
    assert waiting.lock_step.wait_time(now_ns) == 0.0
    assert waiting.timeouts == []
    # Who has answered so late may have been started anew, with another period.
    assert waiting.step_to(now_ns + 2 * MS) > 0.0
    clock.now += REPUBLISH_PERIOD
    assert waiting.lock_step.wait_time(now_ns + 2 * MS) == 0.0


def test_boundaries_of_a_source_by_arrival_are_at_least_a_whole_period_apart():
    waiting = Waiting(rate=300.0, by_arrival=["a"])
    boundaries = []
    for k in range(1, 15):
        waiting.lock_step.stepped(k * MS)
        if waiting.lock_step.is_boundary(k * MS):
            boundaries.append(k)
            waiting.give("a", 0)
        assert waiting.lock_step.wait_time(k * MS) == 0.0
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
        while (wait := lock_step.wait_time(time_ns)) > 0.0:
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
