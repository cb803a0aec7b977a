"""Steps that take long are given up on request and leave no trace."""

import signal
from contextlib import contextmanager
from threading import Event, Thread

import pytest
from sim.hostile.hard_worlds import crowd
from sim.physics.scenes import floor, world

from hrp_sim.engine.engine import StepInterrupted

TICK = 0.02  # [s]
# Cubes in one point, and steps before: the first world takes long to find contacts, the second one
# to solve them.
FINDING, SOLVING = (60, 0), (80, 4)


class Alarm(BaseException):
    """Raised by a signal handler, as KeyboardInterrupt is."""


class Flag:
    """An Event without a lock, on which a signal handler in its own thread would wait forever."""

    is_on = False

    def set(self):
        self.is_on = True

    def clear(self):
        self.is_on = False

    def is_set(self):
        return self.is_on


@contextmanager
def alarms(is_stepping, tick=TICK):
    """Raise Alarm during steps, at the next tick of a timer, in [s]."""

    def ring(*_):
        if is_stepping.is_set():
            is_stepping.clear()
            raise Alarm

    previous = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, tick, tick)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, previous)


@contextmanager
def interruptions(engine):
    """Interrupt an engine at every tick, from another thread."""
    ended = Event()

    def work():
        while not ended.wait(TICK):
            engine.interrupt()

    thread = Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def crowded(count, before):
    engine, *_ = world(*crowd(count))
    engine.record_contacts = True
    engine.step(before)
    return engine


def assert_goes_on(engine, twin, before):
    """The engine is where it was before the interrupted step, and goes on like one that was not."""
    assert engine.state.time_ns == before.time_ns
    assert engine.state.digest() == before.digest
    assert len(engine.contact_points()) == 0
    for one in (engine, twin):
        one.step()
    assert engine.state.digest() == twin.state.digest()
    engine.close()
    twin.close()


class Before:
    """State before a step."""

    def __init__(self, engine):
        self.time_ns, self.digest = engine.state.time_ns, engine.state.digest()


def steps(engine, twin, is_stepping=None):
    """Step until a step is given up; the twin takes the steps before."""
    for _ in range(100):
        before = Before(engine)
        try:
            if is_stepping is not None:
                is_stepping.set()
            engine.step()
            if is_stepping is not None:
                is_stepping.clear()
        except (StepInterrupted, Alarm) as error:
            if engine.state.time_ns == before.time_ns:
                return before, error
            # The signal came when the step had just ended.
        twin.step()
    raise AssertionError("no step was given up")


@pytest.mark.parametrize(
    ("count", "before"), [SOLVING, pytest.param(*FINDING, marks=pytest.mark.slow)]
)
def test_what_a_signal_handler_raises_ends_a_step(count, before):
    engine, twin, is_stepping = crowded(count, before), crowded(count, before), Flag()
    with alarms(is_stepping):
        start, error = steps(engine, twin, is_stepping)
    assert isinstance(error, Alarm)
    assert_goes_on(engine, twin, start)


@pytest.mark.parametrize(
    ("count", "before"), [FINDING, pytest.param(*SOLVING, marks=pytest.mark.slow)]
)
def test_another_thread_interrupts_a_step(count, before):
    engine, twin = crowded(count, before), crowded(count, before)
    with interruptions(engine):
        start, error = steps(engine, twin)
    assert isinstance(error, StepInterrupted)
    assert_goes_on(engine, twin, start)


def test_the_steps_before_the_one_that_is_given_up_stay():
    """Of a call that takes many."""
    engine, twin, is_stepping = crowded(40, 0), crowded(40, 0), Flag()
    with alarms(is_stepping), pytest.raises(Alarm):  # noqa: PT012 (it may ring before the step)
        is_stepping.set()
        engine.step(10_000)
    twin.step(engine.state.time_ns // engine.settings.step_ns)
    assert_goes_on(engine, twin, Before(twin))


def test_an_exception_right_after_the_steps_leaves_time_and_state_consistent():
    """Steps too short to look for signals: their handlers are called when the call returns."""
    engine, twin = crowded(2, 0), crowded(2, 0)
    is_stepping, count = Flag(), 0
    with alarms(is_stepping, 1e-3):
        while count < 20:
            try:
                is_stepping.set()
                engine.step(20)
                is_stepping.clear()
            except Alarm:  # noqa: PERF203
                count += 1
                twin.step((engine.time_ns - twin.time_ns) // engine.settings.step_ns)
                assert engine.state.digest() == twin.state.digest()
    engine.close()
    twin.close()


def test_between_steps_there_is_nothing_to_interrupt():
    engine, *_ = world(floor())
    engine.interrupt()
    engine.step(3)
    assert engine.state.time_ns == 3_000_000
    engine.close()
