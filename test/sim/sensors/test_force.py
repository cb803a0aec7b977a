"""Force sensor: static loads with moment arms, axes and sign; filter, noise and saturation."""

from functools import cache
from math import exp, pi, sqrt

import numpy as np
import pytest
from sim.sensors.factory_tools import devices_only, sensors_of
from sim.sensors.handmade import (
    ARM,
    GRAVITY,
    TIME_NS,
    arm_body,
    arm_world,
    random_pose,
    random_rotation,
    simulated,
)

from hrp_model import Pose, devices
from hrp_model.devices import AxisNoise, WrenchFrame
from hrp_model.frames import body_frames
from hrp_sim.engine.state import WorldState
from hrp_sim.sensors import ForceSensor
from hrp_sim.sensors.noise import Noise, VectorErrors

UNLIMITED = np.full(3, np.inf)
MS = 1_000_000


def force_sensor(X_LS=None, max_force=UNLIMITED, max_torque=UNLIMITED, **options):
    return ForceSensor(
        name="wrist",
        body="r1",
        rate_hz=500.0,
        link=ARM,
        X_LS=X_LS or Pose(),
        max_force=max_force,
        max_torque=max_torque,
        **options,
    )


@cache
def pulling(x, y):
    return arm_world(force=[-x, 0.0, 0.0], torque=[0.0, -y, 0.0]).bodies


def pulled(time_ns, x=0.0, y=0.0):
    """A world where the link pulls at its parent with x along X, and turns it with y about Y."""
    return WorldState(time_ns, pulling(x, y))


def noisy(seed=3, *, force_stdev=0.0, torque_stdev=0.0, **options):
    axes = (*(AxisNoise(stdev=force_stdev),) * 3, *(AxisNoise(stdev=torque_stdev),) * 3)
    return force_sensor(noise=VectorErrors(axes, Noise(seed, "r1", "wrist")), **options)


def holding(mass, p_Lcm_W):
    """What a parent applies to a resting link to hold a mass at this place, about L."""
    lift = -mass * GRAVITY
    return {"force": lift, "torque": np.cross(p_Lcm_W, lift)}


def test_a_hanging_mass_pulls_the_sensor_down():
    reading = force_sensor().read(arm_world(**holding(2.0, np.array([0, 0, -0.3]))))
    np.testing.assert_allclose(reading.force, [0, 0, -2.0 * 9.80665])
    np.testing.assert_allclose(reading.torque, 0.0, atol=1e-15)
    assert (reading.time_ns, reading.body) == (TIME_NS, "r1")


def test_a_rotated_sensor_on_a_rotated_link_reads_the_wrench_about_its_own_origin():
    rng = np.random.default_rng(2)
    for _ in range(20):
        X_LS, R_WL = random_pose(rng), random_rotation(rng)
        mass, p_Lcm = rng.uniform(0.1, 50.0), rng.normal(size=3)
        reading = force_sensor(X_LS).read(arm_world(R=R_WL, **holding(mass, R_WL @ p_Lcm)))
        R_WS = R_WL @ X_LS.R
        weight_W = mass * GRAVITY
        arm_W = R_WL @ (p_Lcm - X_LS.p)
        np.testing.assert_allclose(R_WS @ reading.force, weight_W, atol=1e-10)
        np.testing.assert_allclose(R_WS @ reading.torque, np.cross(arm_W, weight_W), atol=1e-9)


def test_each_axis_saturates_at_its_own_limit():
    sensor = force_sensor(
        max_force=np.array([1.0, np.inf, 30.0]), max_torque=np.array([np.inf, 2.0, 0.5])
    )
    reading = sensor.read(arm_world(force=[5.0, 6.0, 7.0], torque=[-8.0, -9.0, 0.25]))
    np.testing.assert_array_equal(reading.force, [-1.0, -6.0, -7.0])
    np.testing.assert_array_equal(reading.torque, [8.0, 2.0, -0.25])


def test_the_opposite_is_what_the_parent_exerts_on_the_link():
    rng = np.random.default_rng(3)
    X_LS, world = random_pose(rng), arm_world(force=rng.normal(size=3), torque=rng.normal(size=3))
    told, opposite = (force_sensor(X_LS, on_link=on_link).read(world) for on_link in (False, True))
    np.testing.assert_array_equal(opposite.force, -told.force)
    np.testing.assert_array_equal(opposite.torque, -told.torque)
    assert force_sensor(on_link=True).read(pulled(0, x=5.0)).force[0] == -5.0


def test_what_is_constant_passes_the_low_pass_from_the_first_sample_on():
    sensor = force_sensor(cutoff_hz=10.0)
    for time_ns in (5 * MS, 6 * MS, 20 * MS):
        reading = sensor.read(pulled(time_ns, x=7.0, y=2.0))
        np.testing.assert_allclose(reading.force, [7.0, 0.0, 0.0], rtol=1e-15)
        np.testing.assert_allclose(reading.torque, [0.0, 2.0, 0.0], rtol=1e-15)


@pytest.mark.parametrize("cutoff_hz", [0.5, 20.0, 5e4])
def test_a_jump_comes_through_the_low_pass_as_through_the_continuous_one(cutoff_hz):
    """1 - exp(-t / tau) with tau = 1 / (2 pi f), whatever the steps are."""
    rng = np.random.default_rng(5)
    sensor, time_ns = force_sensor(cutoff_hz=cutoff_hz), 0
    sensor.observe(pulled(time_ns))
    for _ in range(50):
        time_ns += int(rng.integers(1, 20 * MS))
        world = pulled(time_ns, x=8.0)
        sensor.observe(world)
        expected = 8.0 * (1.0 - exp(-2.0 * pi * cutoff_hz * time_ns * 1e-9))
        np.testing.assert_allclose(sensor.read(world).force[0], expected, rtol=1e-12)


def test_a_swing_at_the_cutoff_is_weakened_by_three_decibels():
    sensor, peak = force_sensor(cutoff_hz=2.0), 0.0
    for step in range(1600):
        world = pulled(step * MS, x=float(np.sin(2.0 * pi * 2.0 * step * 1e-3)))
        sensor.observe(world)
        peak = max(peak, sensor.read(world).force[0]) if step > 1000 else peak
    assert peak == pytest.approx(1.0 / sqrt(2.0), rel=1e-3)


def test_who_reads_and_how_often_does_not_matter_to_the_low_pass():
    seldom, often = (force_sensor(cutoff_hz=3.0) for _ in range(2))
    for step in range(100):
        world = pulled(step * MS, x=float(step % 7))
        for sensor in (seldom, often):
            sensor.observe(world)
        often.read(world)
        last = often.read(world).force[0]
    assert seldom.read(world).force[0] == last
    assert 0.0 < last < 6.0


def test_the_low_pass_remembers_and_forgets():
    sensor, other = (force_sensor(cutoff_hz=3.0) for _ in range(2))
    assert sensor.observes
    sensor.observe(pulled(0))
    sensor.observe(pulled(MS, x=9.0))
    for name, live in other.memory.items():
        live[:] = sensor.memory[name]
    later = pulled(2 * MS, x=9.0)
    np.testing.assert_array_equal(sensor.read(later).force, other.read(later).force)
    assert sensor.read(later).force[0] < 1.0
    sensor.reset()
    assert sensor.read(later).force[0] == 9.0
    # Back in time, as where a run begins again, it is none the wiser either.
    assert other.read(pulled(MS, x=4.0)).force[0] == 4.0


def test_without_low_pass_a_sensor_neither_observes_nor_remembers():
    sensor = force_sensor()
    assert not sensor.observes
    assert sensor.memory == {}


def test_noise_has_the_deviations_that_are_asked_for_after_the_low_pass_too():
    for options in ({}, {"cutoff_hz": 5.0}):
        sensor = noisy(force_stdev=0.5, torque_stdev=0.02, **options)
        read = [sensor.read(pulled(step * MS, x=10.0)) for step in range(4000)]
        force, torque = (np.array([getattr(r, k) for r in read]) for k in ("force", "torque"))
        np.testing.assert_allclose(force.mean(axis=0), [10.0, 0.0, 0.0], atol=0.04)
        np.testing.assert_allclose(force.std(axis=0), 0.5, rtol=0.05)
        np.testing.assert_allclose(torque.std(axis=0), 0.02, rtol=0.05)
        axes = np.corrcoef(np.hstack([force, torque]).T)
        np.testing.assert_allclose(axes, np.eye(6), atol=0.06)  # each for itself
        later = np.corrcoef(force[1:, 0], force[:-1, 0])[0, 1]
        assert abs(later) < 0.06  # and each sample, too


def test_nothing_leaves_a_sensor_beyond_what_it_measures():
    sensor = noisy(max_force=np.full(3, 2.0), max_torque=np.full(3, 0.1), force_stdev=5.0)
    forces = np.array([sensor.read(pulled(step * MS, y=1.0)).force for step in range(100)])
    assert np.abs(forces).max() == 2.0
    assert np.any(np.abs(forces) < 2.0)
    assert sensor.read(pulled(0, y=1.0)).torque[1] == 0.1


@pytest.mark.parametrize("frame", list(WrenchFrame))
@pytest.mark.parametrize("on_link", [False, True])
def test_a_wrench_is_in_the_frame_and_of_the_side_that_the_device_states(
    diagnostics, frame, on_link
):
    rng = np.random.default_rng(8)
    X_LS, X_WP, X_WL = (random_pose(rng) for _ in range(3))
    f_W, t_W = rng.normal(size=(2, 3))  # of the parent on the link, about the origin of the link
    device = devices.ForceSensor(name="ft", link="ARM", X_LS=X_LS, frame=frame, on_link=on_link)
    [sensor] = devices_only(sensors_of(diagnostics, device))
    robot = simulated(arm_body(device))
    motion = robot.motion
    motion.R[0], motion.p[0], motion.R[ARM], motion.p[ARM] = X_WP.R, X_WP.p, X_WL.R, X_WL.p
    motion.force[ARM], motion.torque[ARM] = f_W, t_W
    reading = sensor.read(WorldState(TIME_NS, {"r1": robot}))
    joint = robot.body.links[ARM].X_PL.p
    X_WF = {
        WrenchFrame.SENSOR: X_WL @ X_LS,
        WrenchFrame.CHILD: X_WL,
        WrenchFrame.PARENT: X_WP @ Pose(p=joint),
    }[frame]
    sign = 1.0 if on_link else -1.0
    torque_W = t_W + np.cross(X_WL.p - X_WF.p, f_W)
    np.testing.assert_allclose(reading.force, sign * X_WF.R.T @ f_W, atol=1e-12)
    np.testing.assert_allclose(reading.torque, sign * X_WF.R.T @ torque_W, atol=1e-11)
    # It is the frame that the header of its message names.
    frames = body_frames(robot.body, diagnostics)
    name = {"child": "ARM", "sensor": "ft", "parent": "ft_parent_frame"}[frame.value]
    assert frames.data == (name,)
