"""A runner that stands still: after a failure, in a pause, and what it does meanwhile."""

import threading

import numpy as np
import pytest
from run_tools import Clock, Counter, OnStep

from hrp_sim.run.run import Change, NotRunningError, Run

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
            assert asked.wait(60.0)

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
