"""Encoders: positions in whole pulses, velocities from differences of counts."""

from dataclasses import replace
from fractions import Fraction
from math import pi

import numpy as np
import pytest
from fake_engine import FakeEngine
from paths import MODELS

from hrp_sim import Simulation, load_world
from hrp_sim.sensors import SensorSettings
from hrp_sim.sensors.body_state import Encoders

MS = 1_000_000
LARGE, SMALL = 2.0 * pi / 51200, 2.0 * pi / 40960  # the two motors of the arm


def measured(encoders, time_ns, position, velocity=None):
    """Return what encoders make of positions and velocities."""
    position = np.array(position, dtype=np.float64)
    velocity = np.full(len(position), 7.0) if velocity is None else np.array(velocity)
    encoders.measure(time_ns, position, velocity)
    return position, velocity


def test_a_position_is_the_last_whole_pulse_below_it():
    rng = np.random.default_rng(1)
    resolution = 10.0 ** rng.uniform(-6.0, 0.0, 1000)
    q = rng.normal(size=1000) * 10.0 ** rng.uniform(-8.0, 2.0, 1000)
    position, _ = measured(Encoders(resolution.tolist()), 0, q)
    for told, true, step in zip(position.tolist(), q.tolist(), resolution.tolist(), strict=True):
        pulses = Fraction(true) / Fraction(step)
        assert abs(told / step - pulses // 1) <= abs(told / step) * 1e-15


def test_a_joint_without_an_encoder_stays_exact():
    encoders = Encoders([None, 0.25, None])
    for time_ns in (0, MS):
        position, velocity = measured(encoders, time_ns, [0.1, 0.3, 0.7], [1.0, 2.0, 3.0])
    assert position.tolist() == [0.1, 0.25, 0.7]
    assert velocity.tolist() == [1.0, 0.0, 3.0]


def test_a_velocity_is_the_difference_of_counts_over_the_time_between():
    encoders = Encoders([0.125])
    samples = [(0, 0.2), (2, 0.24), (4, 0.6), (6, 0.1), (106, 1.1)]  # after a gap, the mean
    told = [measured(encoders, t * MS, [q])[1][0] for t, q in samples]
    expected = [0.0, 0.0, 3 * 0.125 / 0.002, -4 * 0.125 / 0.002, 8 * 0.125 / 0.1]
    assert told == pytest.approx(expected, rel=1e-12)


def test_of_a_steady_speed_velocities_have_the_mean_and_are_a_pulse_apart():
    encoders, speed = Encoders([LARGE]), 0.3
    told = [measured(encoders, t * 2 * MS, [speed * t * 0.002])[1][0] for t in range(1, 5001)][1:]
    pulse = LARGE / 0.002
    assert np.mean(told) == pytest.approx(speed, abs=pulse / len(told))
    counts = np.unique(np.round(np.array(told) / pulse, 6))
    assert counts.tolist() == [np.floor(speed / pulse), np.ceil(speed / pulse)]


def test_to_be_read_twice_changes_nothing():
    encoders = Encoders([0.125])
    measured(encoders, 0, [0.0])
    first, again = (measured(encoders, MS, [1.0]) for _ in range(2))
    np.testing.assert_array_equal(again, first)


@pytest.mark.parametrize("begin", [Encoders.reset, lambda encoders: None])
def test_a_new_start_has_no_count_before_it(begin):
    encoders = Encoders([0.125])
    for t in (10, 11):
        measured(encoders, t * MS, [float(t)])
    begin(encoders)
    assert measured(encoders, MS, [0.0])[1].tolist() == [0.0]


def arm(**settings):
    """Return the arm of the models in a world whose sensors have these options."""
    world = load_world(MODELS / "worlds" / "arm.yaml")
    world = replace(world, sensors=SensorSettings(**settings))
    simulation = Simulation(world, engine=FakeEngine(world.physics, swing))
    simulation.wanted = lambda name: name == "joint_states"
    return simulation


def swing(simulated, time):
    simulated.motion.q[:] = np.sin(time + np.arange(len(simulated.motion.q)))
    simulated.motion.dq[:] = np.cos(time + np.arange(len(simulated.motion.q)))


def samples(simulation, steps):
    return [reading for _ in range(steps) for reading in simulation.step().values()]


def test_the_arm_of_the_models_has_the_encoders_of_its_motors():
    *_, before, after = samples(arm(encoders=True), 400)
    links = load_world(MODELS / "worlds" / "arm.yaml").bodies[-1].placement.body.moving_links
    steps = np.array([LARGE if x.joint.gear_ratio == 100 else SMALL for x in links])
    q = np.sin(0.4 + np.arange(len(steps)))
    assert np.all((after.position <= q) & (q < after.position + steps))
    counts = after.position / steps
    np.testing.assert_allclose(counts, np.round(counts), atol=1e-9)
    np.testing.assert_allclose(after.velocity, (after.position - before.position) / 0.002)


def test_a_reset_and_a_pause_of_the_sensor_begin_anew():
    simulation = arm(encoders=True)
    assert samples(simulation, 100)[-1].velocity.all()
    simulation.reset()
    first, second = samples(simulation, 4)
    assert not first.velocity.any()
    assert second.velocity.all()
    simulation.set_enabled("joint_states", False)
    assert samples(simulation, 100) == []
    simulation.set_enabled("joint_states", True)
    first, second = samples(simulation, 4)
    assert not first.velocity.any()
    assert second.velocity.all()


def test_a_snapshot_keeps_the_last_counts():
    simulation, other = arm(encoders=True), arm(encoders=True)
    samples(simulation, 100)
    saved = simulation.save()
    (there,) = samples(simulation, 2)
    other.restore(saved)
    (here,) = samples(other, 2)
    assert there.velocity.all()
    np.testing.assert_array_equal(here.position, there.position)
    np.testing.assert_array_equal(here.velocity, there.velocity)


def test_a_body_without_encoders_stays_exact_and_says_so(diagnostics):
    world = load_world(MODELS / "worlds" / "rover.yaml")
    world = replace(world, sensors=SensorSettings(encoders=True))
    simulation = Simulation(world, engine=FakeEngine(world.physics, swing), diagnostics=diagnostics)
    simulation.wanted = lambda name: name == "joint_states"
    assert "'joint_states' of body 'rover'" in diagnostics.take("no-encoder").message
    (reading,) = samples(simulation, 2)
    assert reading.position[2] == simulation.bodies["rover"].motion.q[0]
