"""The runner, with a simulation that only counts and a clock that only sleeping moves."""

import os
import signal
import threading
from contextlib import suppress

import numpy as np
import pytest
from run_tools import Clock, Counter, OnStep

from hrp_model.program.command import StopSignals
from hrp_sim.run.pace import CATCH_UP, MAX_LAG
from hrp_sim.run.run import Run

PATIENCE = 300.0  # seconds after which a test that would hang fails instead


@pytest.fixture
def clock(monkeypatch):
    return Clock(monkeypatch)


def run(simulation, consumer=None, **options):
    runner = Run(simulation, [consumer or OnStep()], **options)
    runner.run()
    return runner


@pytest.mark.parametrize(
    ("duration", "time_step", "steps"),
    [
        (1.0, 0.001, 1000),
        (0.3, 0.1, 3),
        (0.7, 0.0001, 7000),
        (0.0015, 0.001, 1),
        (0.0, 0.001, 0),
        (0.0005, 0.001, 0),
    ],
)
def test_a_duration_is_a_number_of_whole_steps(duration, time_step, steps):
    simulation = Counter(time_step)
    run(simulation, real_time_factor=0.0, duration=duration)
    assert simulation.steps == steps


def test_a_duration_counts_from_where_the_run_begins():
    simulation = Counter()
    for _ in range(3):
        run(simulation, real_time_factor=0.0, duration=0.1)
    assert simulation.steps == 300


def test_every_step_is_told_with_its_time_and_readings():
    heard = []
    simulation = Counter()
    Run(
        simulation, [OnStep(lambda *told: heard.append(told))], real_time_factor=0.0, duration=0.003
    ).run()
    assert heard == [(k * 1_000_000, {"imu": k}) for k in (1, 2, 3)]


def test_as_fast_as_possible_steps_up_to_the_next_that_must_be_told():
    heard, simulation = [], Counter(most=100)
    due = iter([5, 5, 8, 20])
    Run(
        simulation,
        [
            OnStep(
                lambda time_ns, _: heard.append(time_ns // 1_000_000), lambda: next(due) * 1_000_000
            )
        ],
        real_time_factor=0.0,
        duration=0.012,
    ).run()
    assert heard == [5, 6, 8, 12]


def test_in_real_time_each_step_waits_for_its_time(clock):
    heard = []
    Run(
        Counter(clock=clock, most=100),
        [OnStep(lambda time_ns, _: heard.append((time_ns // 1_000_000, clock.now)), lambda: 10**9)],
        duration=0.003,
    ).run()
    assert heard == [(k, pytest.approx(1000.0 + 0.001 * (k - 1))) for k in (1, 2, 3)]


def test_slow_steps_are_not_taken_many_at_once(clock):
    heard = []
    Run(
        Counter(clock=clock, cost=0.003, most=2),
        [OnStep(lambda time_ns, _: heard.append(time_ns // 1_000_000), lambda: 10**9)],
        real_time_factor=0.0,
        duration=0.006,
    ).run()
    assert heard == [2, 4, 6]
    heard.clear()
    Run(
        Counter(clock=clock, cost=0.02, most=2),
        [OnStep(lambda time_ns, _: heard.append(time_ns // 1_000_000), lambda: 10**9)],
        real_time_factor=0.0,
        duration=0.006,
    ).run()
    assert heard == [2, 3, 4, 5, 6]


def test_hashes_are_of_whole_seconds_also_with_many_steps_at_once():
    simulation = Counter(most=10**6)
    runner = run(simulation, OnStep(due=lambda: 10**12), real_time_factor=0.0, duration=2.5)
    assert [time_ns for time_ns, _ in runner.states.take()] == [10**9, 2 * 10**9]
    assert simulation.steps == 2500


def test_a_callback_can_stop_the_run():
    simulation = Counter()
    runner = Run(simulation, [OnStep(lambda time_ns, _: time_ns == 5_000_000 and runner.stop())])
    runner.run()
    assert simulation.steps == 5


def test_another_thread_can_stop_the_run():
    started = threading.Event()
    runner = Run(Counter(), [OnStep(lambda *_: started.set())], real_time_factor=0.0)
    thread = threading.Thread(target=runner.run, daemon=True)
    thread.start()
    assert started.wait(PATIENCE)
    runner.stop()
    thread.join(PATIENCE)
    assert not thread.is_alive()


def test_a_long_sleep_ends_when_the_run_is_stopped():
    stepped = threading.Event()
    simulation = Counter(0.1)
    runner = Run(simulation, [OnStep(lambda *_: stepped.set())], real_time_factor=1e-6)
    thread = threading.Thread(target=runner.run, daemon=True)
    thread.start()
    runner.call(lambda: None)  # it has begun, and has more than a day to wait
    runner.stop()
    thread.join(PATIENCE)
    assert not thread.is_alive()
    assert simulation.steps <= 1


def test_the_pace_can_be_changed_while_it_runs(clock):
    simulation = Counter(clock=clock)
    factors = iter([4.0, 0.0, 0.5])

    def on_step(*_):
        if simulation.steps % 1000 == 0:
            times.append(clock.now)
            runner.real_time_factor = next(factors)

    times = [clock.now]
    runner = Run(simulation, [OnStep(on_step)], duration=3.5)
    runner.run()
    times.append(clock.now)
    np.testing.assert_allclose(np.diff(times), [1.0, 0.25, 0.0, 1.0], atol=0.003)


def test_lag_and_lost_time_are_told(clock):
    cost = {100: 0.9 * MAX_LAG, 500: 2.0}
    simulation = Counter(clock=clock, cost=lambda step: cost.get(step, 0.0))
    lags = []
    runner = Run(simulation, [OnStep(lambda *_: lags.append(runner.lag))], duration=1.0)
    runner.run()
    assert lags[99] == pytest.approx(0.0, abs=1e-9)
    made_up = 0.001 * (1.0 - 1.0 / CATCH_UP)  # by each step
    expected = [max(0.0, 0.9 * MAX_LAG - 0.001 - made_up * k) for k in range(350)]
    assert lags[101:451] == pytest.approx(expected, abs=1e-9)
    assert lags[450] == 0.0
    assert runner.pace.lost == pytest.approx(2.0 - 0.001)


def test_the_times_of_steps_are_told_for_each_period(clock):
    cost = iter([0.002, 0.004, 0.006, 0.010])
    simulation = Counter(clock=clock, cost=lambda _: next(cost))
    runner = Run(simulation, [OnStep()], real_time_factor=0.0, duration=0.003)
    runner.run()
    times = runner.pace.take_step_times()
    assert (times.count, times.mean, times.longest) == pytest.approx((3, 0.004, 0.006))
    runner = Run(simulation, [OnStep()], real_time_factor=0.0, duration=0.001)
    runner.run()
    assert runner.pace.take_step_times().mean == pytest.approx(0.010)
    assert runner.pace.take_step_times().mean == 0.0


def test_a_failure_of_the_physics_ends_the_run_and_is_kept():
    simulation = Counter(fails_at=7)
    runner = run(simulation, real_time_factor=0.0, duration=1.0)
    assert str(runner.error) == "link ARM is nowhere"
    assert simulation.steps == 7


def test_other_errors_are_not_swallowed():
    def broken(*_):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        Run(Counter(), [OnStep(broken)], real_time_factor=0.0).run()


@pytest.mark.parametrize("factor", [0.5, 1.0, 4.0])
def test_steps_keep_pace_with_the_clock_and_do_not_drift(clock, factor):
    simulation = Counter(0.001, clock=clock, cost=0.0001)
    runner = run(simulation, real_time_factor=factor, duration=10.0)
    assert clock.now - 1000.0 == pytest.approx(10.0 / factor, abs=1e-6)
    assert runner.measured_factor == pytest.approx(factor, rel=1e-3)


def test_as_fast_as_possible_never_sleeps(clock):
    runner = run(Counter(clock=clock, cost=0.0002), real_time_factor=0.0, duration=5.0)
    assert clock.naps == []
    assert runner.measured_factor == pytest.approx(5.0)


def test_a_machine_that_is_too_slow_runs_at_what_it_can(clock):
    runner = run(Counter(clock=clock, cost=0.002), real_time_factor=1.0, duration=2.0)
    assert clock.naps == []
    assert runner.measured_factor == pytest.approx(0.5)


def test_a_short_lag_is_made_up_for_and_a_long_hitch_is_not(clock):
    def lag(seconds):
        return Counter(clock=clock, cost=lambda step: seconds if step == 100 else 0.0)

    start = clock.now
    run(lag(0.9 * MAX_LAG), real_time_factor=1.0, duration=1.0)
    assert clock.now - start == pytest.approx(1.0, abs=1e-6)
    start = clock.now
    run(lag(2.0), real_time_factor=1.0, duration=1.0)
    assert clock.now - start == pytest.approx(1.0 + 2.0 - 0.001, abs=1e-6)


def test_going_back_to_time_zero_does_not_disturb_the_pace(clock):
    simulation = Counter()
    seen = []

    def reset_once(time_ns, _):
        seen.append(time_ns)
        if len(seen) == 700:
            simulation.engine.time_ns = 0
        elif len(seen) == 1000:
            runner.stop()

    runner = Run(simulation, [OnStep(reset_once)])
    runner.run()
    assert seen[-1] == 300_000_000
    assert clock.now - 1000.0 == pytest.approx(1.0, abs=0.01)


@pytest.fixture(params=StopSignals.NUMBERS)
def number(request):
    before = {number: signal.getsignal(number) for number in StopSignals.NUMBERS}
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # which nohup ignores
    yield request.param
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", [signal.SIGHUP], indirect=True)
def test_with_nohup_a_closed_terminal_stops_nothing(number):
    signal.signal(number, signal.SIG_IGN)
    with StopSignals():
        signal.raise_signal(number)
    assert signal.getsignal(number) is signal.SIG_IGN


def test_signals_stop_the_run_however_often_they_come(number):
    def interrupt(*_):
        signal.raise_signal(number)
        signal.raise_signal(number)

    simulation = Counter()
    runner = Run(simulation, [OnStep(interrupt)], real_time_factor=0.0)
    with StopSignals() as signals:
        signals.stop(runner.stop)
        runner.run()
    assert simulation.steps == 1
    assert runner.stopped


def to_the_process(number):
    os.kill(os.getpid(), number)


def to_another_thread(number):
    signal.pthread_kill(threading.get_ident(), number)


@pytest.mark.parametrize("send", [to_the_process, to_another_thread])
def test_a_signal_ends_a_run_that_stands_still(number, send):
    def interrupt():
        runner.call(lambda: None)  # it stands, and sleeps for as long as nobody asks
        send(number)

    runner = Run(Counter(), [OnStep()])
    runner.pause()
    thread = threading.Thread(target=interrupt, daemon=True)
    with StopSignals() as signals:
        signals.stop(runner.stop)
        thread.start()
        runner.run()
    thread.join(PATIENCE)
    assert runner.stopped


def test_each_signal_ends_a_wait_that_may_have_no_end(number):
    """As for the reader of a pipe, after the signal that ended the run."""
    with StopSignals() as signals:
        signals.stop()
        signal.raise_signal(number)
        for _ in range(2):
            with pytest.raises(KeyboardInterrupt), signals.interrupting():
                signal.raise_signal(number)
        signal.raise_signal(number)


def test_without_a_signal_everything_is_as_before(number):
    before = signal.getsignal(number)
    with StopSignals() as signals:
        assert signal.getsignal(number) != before
        signals.stop(Run(Counter(), [OnStep()]).stop)
    assert signal.getsignal(number) is before


def test_while_there_is_no_runner_the_first_signal_interrupts_and_no_other(number):
    tidied_up = []

    def interrupted():
        with StopSignals():
            try:
                signal.raise_signal(number)
            finally:
                signal.raise_signal(number)
                tidied_up.append(True)

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert tidied_up
    signal.raise_signal(number)  # the end of the process is not disturbed either


def test_a_signal_whose_exception_got_lost_still_stops_the_run(number):
    simulation = Counter()
    runner = Run(simulation, [OnStep()])
    with StopSignals() as signals:
        with suppress(KeyboardInterrupt):
            signal.raise_signal(number)
        signals.stop(runner.stop)
        runner.run()
    assert simulation.steps == 0
