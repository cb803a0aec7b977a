"""A run that is halted: after a failure, in a pause, and what is asked of it meanwhile."""

import threading
from contextlib import contextmanager

import numpy as np
import pytest
from run_tools import Clock, Counter, OnStep

from hrp_sim.run import calls
from hrp_sim.run.run import Change, NotRunningError, Run, RunStateError

PATIENCE = 300.0  # seconds after which a test that would hang fails instead


@pytest.fixture
def clock(monkeypatch):
    return Clock(monkeypatch)


def standing(simulation, script, **options):
    """Run in another thread; ``script`` is called with the runner in this one, and then it ends."""
    runner = Run(simulation, [OnStep()], **options)
    thread = threading.Thread(target=runner.run, daemon=True)
    thread.start()
    try:
        script(runner)
    finally:
        runner.stop()
        thread.join(PATIENCE)
    assert not thread.is_alive()
    return runner


def test_a_failure_that_is_heard_makes_the_world_stand_still_until_it_is_reset():
    failed = threading.Event()
    simulation = Counter(fails_at=7)

    def script(runner):
        assert failed.wait(PATIENCE)
        assert runner.call(lambda: simulation.steps) == 7
        assert str(runner.error) == "link ARM is nowhere"
        runner.reset()
        assert runner.error is None
        while runner.call(lambda: simulation.steps) == 7:
            pass

    standing(simulation, script, real_time_factor=0.0, on_failure=lambda _: failed.set())
    assert simulation.steps > 7


def test_resuming_after_a_failure_whose_cause_is_still_there_fails_again():
    errors = []
    failed = threading.Semaphore(0)

    def failure(error):
        errors.append(str(error))
        failed.release()

    def script(runner):
        for _ in range(2):
            assert failed.acquire(timeout=PATIENCE)
            runner.resume()
        assert failed.acquire(timeout=PATIENCE)

    simulation = Counter(fails_at=3)
    standing(simulation, script, on_failure=failure)
    assert errors == ["link ARM is nowhere"] * 3
    assert simulation.steps == 3


def test_a_paused_world_takes_calls_but_no_steps_and_a_reset_leaves_it_paused():
    simulation = Counter()

    def script(runner):
        runner.pause()
        steps = runner.call(lambda: simulation.steps)
        runner.reset()
        assert [runner.call(lambda: simulation.steps) for _ in range(3)] == [steps] * 3
        assert simulation.state.time_ns == 0
        assert runner.paused
        runner.resume()
        while runner.call(lambda: simulation.steps) == steps:
            pass

    standing(simulation, script)


def test_a_reset_is_told_in_the_thread_that_runs_when_time_is_zero_again():
    simulation = Counter()
    told = []

    def script(runner):
        def hear(change):
            told.append((change, threading.get_ident(), simulation.state.time_ns))

        runner.add(OnStep(changed=hear))
        runner.reset()
        assert told == [(Change.RESET, runner.call(threading.get_ident), 0)]

    standing(simulation, script)


def test_a_pause_is_followed_by_no_burst_and_sleeps_until_it_ends(clock):
    simulation = Counter(clock=clock)
    seen = []

    def on_step(time_ns, _):
        seen.append(clock.now)
        if len(seen) == 100:
            runner.pause()
        elif len(seen) == 200:
            runner.stop()

    def sleep(seconds):
        clock.naps.append(seconds)
        if seconds is None:  # until somebody wakes it
            clock.now += 10.0
            runner.resume()
        else:
            clock.now += seconds

    clock.sleep = sleep
    runner = Run(simulation, [OnStep(on_step)])
    runner.run()
    assert seen[100] - seen[99] >= 10.0
    assert clock.naps.count(None) == 1
    np.testing.assert_allclose(np.diff(seen[100:]), 0.001, atol=1e-9)


def test_a_reset_keeps_the_pace_and_the_duration(clock):
    simulation = Counter(clock=clock)
    seen = []

    def on_step(time_ns, _):
        seen.append(time_ns)
        if len(seen) == 700:
            runner.reset()  # from the thread that runs

    runner = Run(simulation, [OnStep(on_step)], duration=1.0)
    runner.run()
    assert len(seen) == 1000
    assert seen[-1] == 300_000_000
    assert clock.now - 1000.0 == pytest.approx(1.0, abs=0.0015)


def test_what_a_call_raises_reaches_the_caller_and_nobody_else():
    def script(runner):
        with pytest.raises(ZeroDivisionError):
            runner.call(lambda: 1 // 0)
        assert runner.call(lambda: "still there") == "still there"

    standing(Counter(), script)


def test_a_call_to_a_run_that_is_over_is_refused_and_never_done():
    done = []
    runner = Run(Counter(), [OnStep()], real_time_factor=0.0, duration=0.01)
    runner.run()
    with pytest.raises(NotRunningError, match=r"^the simulation is not running any more$"):
        runner.call(lambda: done.append(1))
    with pytest.raises(NotRunningError):
        Run(Counter(), [OnStep()]).call(lambda: done.append(2), timeout=0.0)
    assert not done


def test_a_call_that_a_long_step_does_not_let_in_is_told_so_and_never_done():
    done, asked = [], threading.Event()
    words = []

    def ask():
        try:
            runner.call(lambda: done.append(1), timeout=0.01)
        except NotRunningError as error:
            words.append(str(error))
        asked.set()

    def long_step(time_ns, _):
        if not words:
            threading.Thread(target=ask).start()
            assert asked.wait(300.0)

    runner = Run(Counter(), [OnStep(long_step)], real_time_factor=0.0, duration=0.01)
    runner.run()
    assert "the request timed out after 0.01 s" in words[0]
    assert "a step takes longer" in words[0]
    assert not done


def test_the_end_of_the_run_lets_go_of_those_who_wait():
    refused = threading.Event()

    def ask():
        try:
            runner.call(lambda: None)
        except NotRunningError:
            refused.set()

    def on_step(*_):
        threading.Thread(target=ask, daemon=True).start()
        runner.stop()

    runner = Run(Counter(), [OnStep(on_step)])
    runner.run()
    assert refused.wait(PATIENCE)


@contextmanager
def running(simulation, *, paused=True, consumer=None, **options):
    """Run in another thread; the runner is given to the block, at whose end the run ends."""
    consumers = [consumer or OnStep()]
    runner = Run(simulation, consumers, real_time_factor=0.0, **options)
    if paused:
        runner.pause()
    thread = threading.Thread(target=runner.run, daemon=True)
    thread.start()
    try:
        runner.call(lambda: None)
        yield runner
    finally:
        runner.stop()
        thread.join(PATIENCE)
    assert not thread.is_alive()


def test_a_paused_world_takes_just_the_steps_that_are_asked_for():
    told, done = [], []
    simulation = Counter()
    consumer = OnStep(lambda time_ns, _: told.append(time_ns))
    with running(simulation, consumer=consumer) as runner:
        for count in (1, 5):
            stepping = runner.step(count, done.append)
            assert stepping.wait(PATIENCE)
            assert (stepping.done, stepping.cancelled, stepping.error) == (count, False, None)
            assert runner.paused
        assert runner.call(lambda: simulation.steps) == 6
    assert told == [k * 1_000_000 for k in range(1, 7)]
    assert done == [1, 1, 2, 3, 4, 5]


def test_steps_are_as_fast_as_possible_whatever_the_pace():
    with running(Counter(0.1)) as runner:
        runner.real_time_factor = 1e-6
        assert runner.step(100).wait(PATIENCE)


def test_the_end_of_the_steps_is_told_in_the_thread_that_runs():
    ends = []
    with running(Counter()) as runner:
        stepping = runner.step(3, on_end=lambda s: ends.append((s.done, threading.get_ident())))
        assert stepping.wait(PATIENCE)
        assert ends == [(3, runner.call(threading.get_ident))]


def test_steps_can_be_cancelled_and_then_be_asked_for_again():
    simulation = Counter()
    reached = threading.Event()
    with running(simulation) as runner:
        stepping = runner.step(10**12, lambda done: done == 100 and reached.set())
        assert reached.wait(PATIENCE)
        stepping.cancel()
        assert stepping.wait(PATIENCE)
        assert stepping.cancelled
        assert stepping.done == runner.call(lambda: simulation.steps) >= 100
        again = runner.step(1)
        assert again.wait(PATIENCE)
        assert again.done == 1


@pytest.mark.parametrize("end", ["resume", "reset", "replace", "stop"])
def test_whatever_else_is_done_with_the_run_ends_the_steps(end):
    ended = []
    reached = threading.Event()
    with running(Counter()) as runner:
        stepping = runner.step(10**12, lambda _: reached.set(), lambda s: ended.append(s))
        assert reached.wait(PATIENCE)
        runner.replace(Counter()) if end == "replace" else getattr(runner, end)()
        assert stepping.wait(PATIENCE)
        assert stepping.done < stepping.steps
    assert ended == [stepping]


def test_steps_of_a_world_that_goes_on_at_once_end_too():
    """Also where it has not been noticed yet that it stood."""

    def act():
        runner.pause()
        stepping = runner.step(10**12)
        runner.resume()
        return stepping

    with running(Counter(), paused=False) as runner:
        stepping = runner.call(act)
        assert stepping.wait(PATIENCE)
        assert stepping.done < stepping.steps


def test_steps_that_nobody_counts_are_taken_together():
    with running(Counter(most=100), consumer=OnStep(due=lambda: 10**12)) as runner:
        stepping = runner.step(7)
        assert stepping.wait(PATIENCE)
        assert (stepping.done, runner.simulation.steps) == (7, 7)
        counted = []
        assert runner.step(3, counted.append).wait(PATIENCE)
    assert counted == [1, 2, 3]


def test_a_gate_is_notified_of_a_reset():
    class Gate:
        next_ns = 0

        def start(self, now_ns, *, after_reset):
            starts.append((now_ns, after_reset))

        def stepped(self, now_ns):
            pass

        def wait_time(self, now_ns):
            return 0.0

    starts = []
    with running(Counter()) as runner:
        runner.gate = Gate()
        for act in (runner.pause, runner.reset, lambda: runner.replace(Counter())):
            act()
            assert runner.step(1).wait(PATIENCE)
    assert starts == [(0, True), (0, True), (0, True)]


def test_a_failure_of_the_physics_ends_the_steps_and_says_why():
    with running(Counter(fails_at=3), on_failure=lambda _: None) as runner:
        stepping = runner.step(5)
        assert stepping.wait(PATIENCE)
        assert stepping.done == 3
        assert str(stepping.error) == "link ARM is nowhere"
        with pytest.raises(RunStateError, match=r"link ARM is nowhere; reset"):
            runner.step(1)


def test_a_world_that_runs_takes_no_single_steps():
    refused = pytest.raises(RunStateError, match="pause it first")
    with running(Counter(), paused=False) as runner, refused:
        runner.step(1)


def test_steps_are_refused_while_others_are_taken_and_when_there_are_none():
    reached = threading.Event()
    with running(Counter()) as runner:
        with pytest.raises(ValueError, match="at least 1, not 0"):
            runner.step(0)
        runner.step(10**12, lambda _: reached.set())
        assert reached.wait(PATIENCE)
        with pytest.raises(RunStateError, match=r"of 1000000000000 steps are being taken"):
            runner.step(1)


def test_everything_that_happens_to_a_run_is_told_in_order():
    changes = []
    paused, running_again = threading.Event(), threading.Event()

    def hear(change):
        changes.append(change)
        {Change.PAUSE: paused, Change.RESUME: running_again}.get(change, threading.Event()).set()

    with running(Counter(), paused=False) as runner:
        runner.call(lambda: runner.add(OnStep(changed=hear)))
        runner.pause()
        assert paused.wait(PATIENCE)
        assert runner.step(2).wait(PATIENCE)
        runner.reset()
        runner.change(lambda: None)
        runner.replace(Counter())
        runner.resume()
        assert running_again.wait(PATIENCE)
    assert changes == [
        Change.PAUSE,
        Change.STEPS,
        Change.RESET,
        Change.WORLD,
        Change.REPLACE,
        Change.RESUME,
        Change.END,
    ]


def test_a_failure_is_told_as_standing_still_and_a_reset_as_going_on():
    changes = []
    failed = threading.Event()
    with running(Counter(), on_failure=lambda _: failed.set()) as runner:

        def wait_for(change):
            while runner.call(lambda: changes[-1]) is not change:
                pass

        runner.call(lambda: runner.add(OnStep(changed=changes.append)))
        runner.replace(Counter(fails_at=3))
        runner.resume()
        assert failed.wait(PATIENCE)
        wait_for(Change.PAUSE)
        runner.reset()
        wait_for(Change.RESUME)
        runner.pause()
        wait_for(Change.PAUSE)
    assert changes == [
        Change.REPLACE,
        Change.RESUME,
        Change.PAUSE,
        Change.RESET,
        Change.RESUME,
        Change.PAUSE,
        Change.END,
    ]


def test_another_simulation_goes_on_from_its_own_time_and_steps_as_long_as_its_own_steps():
    first, second = Counter(0.001), Counter(0.004)
    second.engine.time_ns = 500_000_000
    seen = []
    with running(first, consumer=OnStep(lambda time_ns, _: seen.append(time_ns))) as runner:
        assert runner.step(2).wait(PATIENCE)
        assert runner.replace(second) is first
        assert runner.simulation is second
        assert runner.step(2).wait(PATIENCE)
    assert seen == [1_000_000, 2_000_000, 504_000_000, 508_000_000]


def test_a_world_that_stands_still_costs_no_processor_time(monkeypatch):
    waits = []
    monkeypatch.setattr(calls, "MAX_WAIT", 60.0)
    with running(Counter()) as runner:
        wait = runner._mailbox.wait
        monkeypatch.setattr(runner._mailbox, "wait", lambda s: (waits.append(s), wait(s)))
        for _ in range(5):
            runner.call(lambda: None)
    assert set(waits) == {None}
    assert len(waits) <= 7
