"""Pausing, going on and starting again, as std_srvs ask for them."""

from __future__ import annotations

import threading

import pytest
from simulator_tools import refused, simulating

from hrp_sim.simulator.results import Code, Scope, State, StateCode
from hrp_sim.simulator.simulator import check_steps


@pytest.fixture
def run():
    with simulating() as harness:
        yield harness


def test_a_shortcut_pauses_and_goes_on_whether_it_is_so_already(run):
    simulator = run.simulator
    for _ in range(2):
        simulator.resume()
        assert simulator.state is State.PLAYING
    for _ in range(2):
        simulator.pause()
        assert simulator.state is State.PAUSED
    run.step(1)
    simulator.restart()
    assert (simulator.state, run.time_ns) == (State.PAUSED, 0)


def test_a_pause_ends_the_steps_that_are_taken(run):
    begun = threading.Event()
    stepping = run.simulator.step(10**9, lambda _done: begun.set())
    assert begun.wait(30.0)
    assert run.simulator.state is State.PLAYING
    run.simulator.pause()
    assert run.simulator.state is State.PAUSED
    assert stepping.cancelled
    at = run.time_ns
    with refused(Code.OPERATION_FAILED, "they were cancelled"):
        check_steps(stepping)
    assert run.time_ns == at


def test_what_quits_cannot_be_asked_to_go_on(run):
    run.simulator.set_state(State.QUITTING)
    for target in (State.PLAYING, State.PAUSED, State.STOPPED):
        with refused(StateCode.INCORRECT_TRANSITION, "QUITTING; start it again"):
            run.simulator.set_state(target)
    with refused(Code.INCORRECT_STATE, "QUITTING; start it again"):
        run.simulator.resume()


@pytest.fixture
def hardware(run):
    """A simulator whose controllers sleep by the clock, five steps after its start."""
    run.start = run.hash()
    run.simulator.keeps_time = True
    run.step(5)
    return run


def test_a_restart_keeps_time_where_controllers_sleep_by_the_clock(hardware, caplog):
    before_ns = hardware.time_ns
    hardware.simulator.restart()
    assert hardware.time_ns == before_ns > 0
    hardware.simulator.reset(Scope.TIME)
    assert hardware.hash() == hardware.start  # nothing else was left as it was
    assert len(caplog.messages) == 1


@pytest.mark.parametrize("scope", [Scope.TIME, Scope.TIME | Scope.STATE, Scope.ALL, Scope.DEFAULT])
def test_a_reset_of_time_warns_where_controllers_sleep_by_the_clock(hardware, scope, caplog):
    before = hardware.time_ns / 1e9
    warning = hardware.simulator.reset(scope)
    assert hardware.time_ns == 0
    assert warning.startswith(f"time was reset from {before:g} s to 0 s: ros2_control controllers")
    assert caplog.messages == [warning]
    assert hardware.simulator.reset(scope) == ""  # it is at zero already


def test_another_world_warns_where_controllers_sleep_by_the_clock(hardware, caplog):
    hardware.simulator.unload_world()
    assert [message[:15] for message in caplog.messages] == ["time was reset "]


def test_without_such_controllers_nobody_is_warned(run, caplog):
    run.step(5)
    assert run.simulator.reset(Scope.ALL) == ""
    assert run.time_ns == 0
    assert caplog.messages == []
