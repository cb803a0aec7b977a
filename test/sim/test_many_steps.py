"""Many steps at once: equal to single steps, to the last bit."""

from dataclasses import replace
from math import inf, nan

import numpy as np
import pytest
from paths import MODELS

from hrp_model import Pose
from hrp_sim import Simulation, load_world
from hrp_sim.control.commands import CommandTimeout, Fallback
from hrp_sim.control.trajectory import JointTrajectory, TrajectoryPoint
from hrp_sim.engine.engine import PhysicsError, Placement
from hrp_sim.sensors import ImageReading
from hrp_sim.sensors.settings import SensorSettings

WORLDS = "arm", "press", "rover", "humanoid_in_room"
STEP = 0.001


@pytest.fixture
def pair(diagnostics):
    """Return two simulations of a world: one for single steps, one for many."""
    made = []

    def pair(world, **options):
        config = load_world(world, diagnostics)
        config = replace(config, sensors=SensorSettings(**options))
        made.extend(Simulation(config, diagnostics=diagnostics) for _ in range(2))
        for simulation in made:
            for name, sensor in simulation.sensors.items():
                if "Camera" in type(sensor).__name__:
                    simulation.set_enabled(name, False)
        return made

    yield pair
    for simulation in made:
        simulation.close()


def steps(simulation, count, heard=None):
    """Take single steps; return the last reading of each sensor."""
    last = {}
    for _ in range(count):
        readings = simulation.step()
        last |= readings
        if heard is not None and readings:
            heard.append((simulation.state.time_ns, readings))
    return last


def values(reading):
    return {name: getattr(reading, name) for name in type(reading).__dataclass_fields__}


def check_readings(one, other):
    assert one.keys() == other.keys()
    for name, reading in one.items():
        assert not isinstance(reading, ImageReading)
        assert type(reading) is type(other[name])
        for key, value in values(reading).items():
            np.testing.assert_array_equal(getattr(other[name], key), value, err_msg=f"{name} {key}")


def check_states(one, other):
    """Compare everything, also the accelerations and forces of the last step."""
    assert one.state_hash() == other.state_hash()
    expected, found = one.save().arrays, other.save().arrays
    assert expected.keys() == found.keys()
    for name, array in expected.items():
        np.testing.assert_array_equal(found[name], array, err_msg=name)


@pytest.mark.parametrize("world", WORLDS)
def test_a_run_is_the_same_as_single_steps(pair, world):
    one, other = pair(world)
    for seconds in (0.05, 0.0, 0.0331, 0.001, 0.1):
        expected = steps(one, round(seconds * 1e9) // 1_000_000)
        check_readings(expected, other.run(seconds))
        check_states(one, other)


@pytest.mark.parametrize("world", WORLDS)
def test_an_advance_ends_at_the_next_readings(pair, world):
    one, other = pair(world)
    expected, found = [], []
    steps(one, 100, expected)
    while (left := 100 - other.state.time_ns // 1_000_000) > 0:
        before_ns = other.state.time_ns
        if readings := other.advance(left):
            found.append((other.state.time_ns, readings))
        assert before_ns < other.state.time_ns
    assert [time_ns for time_ns, _ in found] == [time_ns for time_ns, _ in expected]
    for (_, one_readings), (_, other_readings) in zip(expected, found, strict=True):
        check_readings(one_readings, other_readings)
    check_states(one, other)


def test_an_advance_takes_no_more_steps_than_asked(pair):
    one, other = pair("arm")
    for name in other.sensors:
        other.set_enabled(name, False)
    for most in (1, 2, 5, 3):
        before_ns = other.state.time_ns
        assert other.advance(most) == {}
        assert other.state.time_ns == before_ns + most * 1_000_000
    steps(one, 11)
    assert one.state_hash() == other.state_hash()


def test_many_steps_take_few_calls_of_the_engine(pair, monkeypatch):
    one, other = pair("arm")
    calls, step = [], one.engine.step
    monkeypatch.setattr(one.engine, "step", lambda count=1: (calls.append(count), step(count)))
    check_readings(steps(other, 100), one.run(0.1))
    assert sum(calls) == 100
    assert len(calls) < 10  # though sensors of 500 Hz were due
    one.command("arm", {"J2": one.bodies["arm"].motion.q[1] + 0.01})  # at limited speed
    calls.clear()
    one.run(0.02)
    assert calls[0] == 1


def test_commands_trajectories_timeouts_and_pushes_act_in_the_same_steps(pair):
    one, other = pair("arm")
    joints = [x.joint.name for x in one.bodies["arm"].body.moving_links]
    point = TrajectoryPoint(20_000_000, [0.2] * len(joints))
    timeout = CommandTimeout(after_s=0.0405, fallback=Fallback.LIMP)
    acts = [
        lambda sim: setattr(sim.controller("arm"), "timeout", timeout),
        lambda sim: sim.command("arm", {joints[0]: 0.001}),
        lambda sim: sim.command("arm", JointTrajectory(joints, [point], 160_500_000)),
        lambda sim: sim.push("arm", "J3", [1.0, 2.0, 3.0], [0.0] * 3, 0.0123, local=True),
        lambda sim: sim.controller("arm").set_gains(joints[1], kp=10.0),
        lambda sim: sim.retime(50_000_000),
    ]
    for act in acts:
        for simulation in (one, other):
            act(simulation)
        check_readings(steps(one, 70), other.run(0.07))
        check_states(one, other)


def test_what_nobody_wants_is_not_read(pair):
    _, other = pair("rover")
    other.wanted = lambda name: name == "odometry"
    assert other.run(0.1).keys() == {"odometry"}


@pytest.mark.parametrize(
    "options",
    [
        {"wrench_cutoff": 20.0},
        {"encoders": True},
        {"angular_velocity_random_walk": 0.1},
        {"force_stdev": 1.0, "linear_acceleration_stdev": 0.1, "orientation": True},
        {"rate": 300.0},
        {"rate": 70.0},
    ],
    ids=lambda options: next(iter(options)),
)
def test_readings_of_a_run_are_the_last_ones_of_single_steps(pair, options):
    one, other = pair(MODELS / "humanoid" / "humanoid.wrl", **options)
    for seconds in (0.05, 0.0099, 0.0048):
        check_readings(steps(one, int(seconds * 1000)), other.run(seconds))
        check_states(one, other)


def test_sensors_are_due_as_before_after_a_run_that_was_ended(pair, monkeypatch):
    one, other = pair("arm")
    step = other.engine.step

    def interrupted(count):
        if other.state.time_ns >= 20_000_000:
            raise KeyboardInterrupt
        step(count)

    monkeypatch.setattr(other.engine, "step", interrupted)
    with pytest.raises(KeyboardInterrupt):
        other.run(0.1)
    monkeypatch.undo()
    steps(one, other.state.time_ns // other.engine.settings.step_ns)
    for _ in range(20):
        check_readings(one.step(), other.step())


def test_a_failure_ends_a_run_in_the_same_step(pair):
    one, other = pair("stack")
    name = next(k for k, s in one.bodies.items() if not s.body.is_static)
    too_fast = np.array([0.0, 0.0, -99_999.9])  # with what gravity adds in eleven steps
    failures = []
    for simulation, advance in ((one, lambda: steps(one, 100)), (other, lambda: other.run(0.1))):
        body = simulation.bodies[name].body
        simulation.move(Placement(name=name, body=body, X_WL=Pose(p=[0, 0, 9e5]), v=too_fast))
        with pytest.raises(PhysicsError) as failure:
            advance()
        failures.append((str(failure.value), simulation.state.time_ns))
    assert failures[0] == failures[1]
    assert one.state.time_ns == 10_000_000
    assert one.state_hash() == other.state_hash()


@pytest.mark.parametrize("seconds", [-0.001, inf, nan])
def test_a_duration_must_be_finite_and_not_negative(pair, seconds):
    one, _ = pair("arm")
    with pytest.raises(ValueError, match="the duration must be finite and at least 0 s"):
        one.run(seconds)
    assert one.state.time_ns == 0
