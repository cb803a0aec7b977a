"""What is told of how a run goes."""

import pytest
from paths import MODELS
from run_tools import Clock, Counter, OnStep

from hrp_sim import Simulation, load_world
from hrp_sim.control import JointCommand
from hrp_sim.run.health import (
    command_health,
    lock_step_health,
    run_health,
    start_message,
    state_health,
)
from hrp_sim.run.lock_step import LockStep
from hrp_sim.run.pace import StateRecord
from hrp_sim.run.run import Run

STACK = MODELS / "worlds" / "stack.yaml"


def run(simulation, seconds, **options):
    runner = Run(simulation, [OnStep()], duration=seconds, **options)
    runner.run()
    return runner


@pytest.fixture
def stack():
    simulation = Simulation(load_world(STACK))
    yield simulation
    simulation.close()


def test_states_are_recorded_at_every_whole_second_and_told_again():
    simulation = Counter(0.001)
    states = run(simulation, 3.5, real_time_factor=0.0).states
    expected = [(k * 10**9, f"after {1000 * k} steps") for k in (1, 2, 3)]
    assert states.take() == expected
    assert states.take() == expected


def test_a_state_is_that_of_the_first_step_after_a_second_where_steps_do_not_fit():
    states = run(Counter(0.3), 2.2, real_time_factor=0.0).states
    assert [time_ns for time_ns, _ in states.take()] == [1_200_000_000, 2_100_000_000]


def test_states_begin_anew_with_time():
    simulation = Counter(0.1)
    runner = Run(simulation, [OnStep(lambda time_ns, _: reset.pop(time_ns, print)())], duration=4.0)
    runner.real_time_factor = 0.0
    reset = {1_500_000_000: runner.reset}
    runner.run()
    times = [time_ns for time_ns, _ in runner.states.take()]
    assert times == [k * 10**9 for k in (1, 1, 2)]


def test_after_a_reset_no_state_of_the_run_before_is_told():
    simulation = Counter(0.1)
    runner = Run(simulation, [OnStep(lambda time_ns, _: reset.pop(time_ns, print)())], duration=2.0)
    runner.real_time_factor = 0.0
    told = []
    reset = {1_500_000_000: runner.reset, 400_000_000: lambda: reset.update({100_000_000: look})}

    def look():
        told.append([runner.states.take(), runner.states.take()])

    runner.run()
    (at_once, later) = told[0]
    assert [time_ns for time_ns, _ in at_once] == [10**9]  # not told before
    assert later == []


def test_what_becomes_of_commands_is_told():
    arm = Simulation(load_world(MODELS / "worlds" / "arm.yaml"))
    assert command_health(arm.command_counts).message == "all taken"
    arm.command("arm", JointCommand(["J1"], position=[0.1]))
    arm.command("arm", JointCommand(["no such joint"], position=[0.1]))
    arm.step()
    health = command_health(arm.command_counts)
    assert health.message == "1 not taken"
    assert health.values == {"taken": 2, "dropped": 0, "refused": 1, "stale": 0, "timed out": 0}
    arm.close()


def test_before_the_first_second_there_is_no_state():
    health = state_health(run(Counter(), 0.9, real_time_factor=0.0).states)
    assert (health.level, health.message, health.values) == (
        "ok",
        "no whole second has passed",
        {},
    )


def test_equal_runs_tell_equal_states_and_others_do_not(stack):
    def told():
        stack.reset()
        return dict(state_health(run(stack, 2.0, real_time_factor=0.0).states).values)

    first, second = told(), told()
    assert list(first) == ["sha256 at 1 s", "sha256 at 2 s"]
    assert first == second
    assert len(set(first.values())) == 2
    assert all(len(digest) == 64 for digest in first.values())


def seconds_told(record):
    return [time_ns // 10**9 for time_ns, _ in record.take()]


def recorded(record, seconds):
    """Have a record hear of each half second of some whole ones."""
    for half in (half for s in seconds for half in (2 * s - 1, 2 * s)):
        record.stepped(half * 5 * 10**8, lambda half=half: str(half))


def test_the_states_of_the_last_ten_seconds_are_told_again():
    record = StateRecord()
    recorded(record, range(1, 5))
    assert seconds_told(record) == seconds_told(record) == [1, 2, 3, 4]
    recorded(record, range(5, 13))
    assert seconds_told(record) == list(range(3, 13))
    assert seconds_told(record) == list(range(3, 13))


def test_a_fast_run_tells_all_new_states_once_but_no_more_than_a_hundred():
    record = StateRecord()
    recorded(record, range(1, 31))
    assert seconds_told(record) == list(range(1, 31))
    recorded(record, range(31, 56))
    assert seconds_told(record) == list(range(31, 56))
    assert seconds_told(record) == list(range(46, 56))
    recorded(record, range(56, 256))
    assert seconds_told(record) == list(range(156, 256))


def test_after_a_jump_back_the_states_that_have_not_been_yet_are_not_told():
    record = StateRecord()
    recorded(record, range(1, 21))
    assert len(record.take()) == 20
    record.start(14 * 10**9)
    assert seconds_told(record) == [11, 12, 13, 14]
    record.start(0)
    assert not record.take()
    recorded(record, range(1, 21))
    assert seconds_told(record) == list(range(1, 21))


def test_a_run_tells_its_pace_its_steps_and_what_is_in_its_world(stack, monkeypatch):
    clock = Clock(monkeypatch)
    advance = stack.advance

    def slowly(steps):
        clock.now += 0.002 * steps
        return advance(steps)

    monkeypatch.setattr(stack, "advance", slowly)
    runner = run(stack, 1.0)
    health = run_health(runner)
    assert (health.part, health.level) == ("simulation", "warn")
    assert health.message == "slow: real-time factor 0.5 instead of 1"
    values = health.values
    assert values["time [s]"] == 1.0
    assert values["real-time factor"] == pytest.approx(0.5)
    assert values["target real-time factor"] == 1.0
    assert 0.0 < values["lag [s]"] <= 0.11
    assert values["time lost [s]"] + values["lag [s]"] == pytest.approx(1.0, abs=0.01)
    assert values["steps"] == 1000
    assert values["step, mean [s]"] == pytest.approx(0.002)
    assert values["step, longest [s]"] == pytest.approx(0.002)
    assert values["contacts"] >= 4
    assert values["bodies"] == len(stack.bodies)
    assert run_health(runner).values["steps"] == 0


def levels(simulation, clock, seconds, runner_options, then=lambda runner: None):
    """Return the level of the health at each step of a run, by wall time since its start [s]."""
    start, found = clock.now, {}

    def look(time_ns, _):
        found[clock.now - start] = run_health(runner).level
        if time_ns == 3_000_000_000:
            then(runner)

    runner = Run(simulation, [OnStep(look)], duration=seconds, **runner_options)
    runner.run()
    return found


@pytest.mark.parametrize(
    ("cost", "target", "is_slow"),
    [(0.010, 1.0, False), (0.011, 1.0, False), (0.0115, 1.0, True), (0.0115, 0.8, False),
     (0.0225, 0.5, True), (0.5, 0.0, False)],
)  # fmt: skip
def test_a_run_that_keeps_less_than_nine_tenths_of_its_pace_is_a_warning_after_a_second(
    cost, target, is_slow, monkeypatch
):
    clock = Clock(monkeypatch)
    simulation = Counter(0.01, clock=clock, cost=cost)
    found = levels(simulation, clock, 3.0, {"real_time_factor": target})
    assert {level for at, level in found.items() if at < 0.99} == {"ok"} or cost > 0.1
    assert {level for at, level in found.items() if at > 1.01} == {"warn" if is_slow else "ok"}


def test_another_pace_and_another_start_have_a_second_too(monkeypatch):
    clock = Clock(monkeypatch)

    def hasten(runner):
        runner.real_time_factor = 2.0

    simulation = Counter(0.01, clock=clock, cost=0.01)
    found = levels(simulation, clock, 6.0, {"real_time_factor": 1.0}, hasten)
    assert {level for at, level in found.items() if at < 3.98} == {"ok"}
    assert {level for at, level in found.items() if at > 4.02} == {"warn"}


def test_a_pause_is_a_warning_and_a_failure_an_error():
    stack = Simulation(load_world(STACK))
    runner = run(stack, 0.01)
    runner.pause()
    assert (run_health(runner).level, run_health(runner).message) == ("warn", "paused")
    runner.error = ValueError("it broke")
    assert (run_health(runner).level, run_health(runner).message) == ("error", "it broke")
    assert run_health(runner, "reset it").message == "reset it"
    stack.close()


def test_an_engine_counts_where_bodies_touch(tmp_path):
    world = tmp_path / "world.yaml"
    wood, floor = MODELS / "blocks" / "wood.body", MODELS / "floor.body"
    text = f"bodies: [{{model: {floor}}}, {{name: box, model: {wood}, position: [0, 0, 1]}}]\n"
    world.write_text(text, encoding="utf-8")
    simulation = Simulation(load_world(world))
    simulation.step()
    assert simulation.engine.contacts == 0
    while simulation.engine.state.time_ns < 2 * 10**9:
        simulation.step()
    assert simulation.engine.contacts == 4
    simulation.close()


def test_a_lock_step_tells_whom_it_waits_for(monkeypatch):
    clock = Clock(monkeypatch)
    quiet = {"on_timeout": lambda *_: None, "republish": lambda: None, "wake": lambda: None}
    lock_step = LockStep(["b", "a"], 100.0, 0.0, **quiet)
    lock_step.start(0)
    lock_step.stepped(10_000_000)
    lock_step.wait_time(10_000_000)
    assert lock_step_health(lock_step).level == "ok"
    clock.now += 2.0
    health = lock_step_health(lock_step)
    assert (health.level, health.message) == ("warn", "waiting for a b")
    for source in "ab":
        lock_step.submit(source, 0, lambda: None)
    lock_step.submit("a", 0, lambda: None)
    assert lock_step.wait_time(10_000_000) == 0.0
    health = lock_step_health(lock_step)
    assert (health.level, health.message) == ("ok", "in step")
    assert health.values == {
        "controllers": "a b",
        "waited for": "",
        "control periods": 1,
        "time-outs": 0,
        "dropped commands": 1,
        "waited [s]": 2.0,
        "longest wait [s]": 2.0,
    }


@pytest.mark.parametrize(
    ("factor", "lock_step", "words"),
    [
        (1.0, (), "simulating 11 bodies, in real time"),
        (0.0, (), "simulating 11 bodies, as fast as possible"),
        (
            2.5,
            ("/b", "/a"),
            "simulating 11 bodies, at 2.5 times real time, in lock-step with /a, /b at 200 Hz",
        ),
    ],
)
def test_a_run_is_announced_in_a_line(stack, factor, lock_step, words):
    runner = Run(stack, [OnStep()], real_time_factor=factor)
    assert start_message(runner, lock_step, 200.0) == words


def test_a_lock_step_that_waits_for_nobody_yet_is_not_well():
    quiet = dict.fromkeys(("on_timeout", "republish", "wake"), lambda *_: None)
    lock_step = LockStep(["a"], 100.0, 0.0, by_arrival=["a"], **quiet)
    health = lock_step_health(lock_step)
    assert (health.level, health.message) == ("warn", "not waiting for a until it sends commands")
    lock_step.submit("a", 0, lambda: None)
    assert lock_step_health(lock_step).level == "ok"


def test_a_lock_step_that_has_gone_on_without_a_command_is_not_well(monkeypatch):
    clock = Clock(monkeypatch)
    quiet = {"on_timeout": lambda *_: None, "republish": lambda: None, "wake": lambda: None}
    lock_step = LockStep(["a"], 100.0, 0.5, **quiet)
    lock_step.start(0)
    for k in (1, 2):
        lock_step.stepped(k * 10_000_000)
        assert lock_step.wait_time(k * 10_000_000) > 0.0
        if k == 1:
            lock_step.submit("a", 0, lambda: None)
        clock.now += 1.0
        assert lock_step.wait_time(k * 10_000_000) == 0.0
    health = lock_step_health(lock_step)
    assert (health.level, health.message) == ("warn", "1 of 2 control periods lacked a command")
