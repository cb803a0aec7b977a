"""Gyro and accelerometer, against what can be worked out by hand."""

import numpy as np
from sim.sensors.handmade import (
    ARM,
    GRAVITY,
    TIME_NS,
    arm_world,
    random_pose,
    random_rotation,
)

from hrp_model import Pose
from hrp_model.rigid import axis_angle_matrix, skew
from hrp_sim.sensors import ImuSensor

UNLIMITED = np.full(3, np.inf)
G = 9.80665


def imu(X_LS=None, gyro=UNLIMITED, acceleration=UNLIMITED):
    return ImuSensor(
        name="imu",
        body="r1",
        rate_hz=500.0,
        link=ARM,
        X_LS=X_LS or Pose(),
        g_W=GRAVITY,
        max_angular_velocity=gyro,
        max_acceleration=acceleration,
    )


def test_the_reading_says_when_and_where():
    reading = imu().read(arm_world())
    assert (reading.time_ns, reading.body) == (TIME_NS, "r1")


def test_a_rotated_sensor_on_a_rotated_link_reads_the_truth_in_its_own_axes():
    rng = np.random.default_rng(1)
    for _ in range(20):
        X_LS, R_WL = random_pose(rng), random_rotation(rng)
        w, alpha, a = rng.normal(size=(3, 3))
        reading = imu(X_LS).read(arm_world(R=R_WL, w=w, alpha=alpha, a=a))
        r_W = R_WL @ X_LS.p
        a_WS = a + skew(alpha) @ r_W + skew(w) @ skew(w) @ r_W
        R_WS = R_WL @ X_LS.R
        np.testing.assert_allclose(R_WS @ reading.angular_velocity, w, atol=1e-12)
        np.testing.assert_allclose(R_WS @ reading.linear_acceleration, a_WS - GRAVITY, atol=1e-11)


def test_the_velocity_of_a_spinning_arm_differentiates_to_the_reading():
    # Finite differences of the sensor's world position, instead of the formula.
    axis, rate, alpha = np.array([2.0, -1.0, 2.0]) / 3.0, 1.7, 0.9
    p_LS, h = np.array([0.3, -0.2, 0.5]), 1e-4

    def position(t):
        return axis_angle_matrix(axis, rate * t + alpha * t * t / 2) @ p_LS

    a_WS = (position(h) - 2 * position(0) + position(-h)) / h**2
    reading = imu(Pose(p=p_LS)).read(arm_world(w=axis * rate, alpha=axis * alpha))
    np.testing.assert_allclose(reading.linear_acceleration, a_WS - GRAVITY, atol=1e-6)


def test_each_axis_saturates_at_its_own_limit():
    sensor = imu(gyro=np.array([1.0, np.inf, 3.0]), acceleration=np.array([np.inf, 20.0, 5.0]))
    reading = sensor.read(arm_world(w=[-4.0, 40.0, 2.0], a=[100.0, -50.0, 0.0]))
    np.testing.assert_array_equal(reading.angular_velocity, [-1.0, 40.0, 2.0])
    np.testing.assert_array_equal(reading.linear_acceleration, [100.0, -20.0, 5.0])


def test_a_part_that_is_not_there_is_not_measured():
    assert imu(gyro=None).read(arm_world()).angular_velocity is None
    assert imu(acceleration=None).read(arm_world()).linear_acceleration is None


def test_reading_leaves_the_world_as_it_was_and_keeps_no_view_of_it():
    world = arm_world(w=[1.0, 2.0, 3.0], a=[4.0, 5.0, 6.0])
    before = world.bodies["r1"].motion.copy()
    reading = imu().read(world)
    world.bodies["r1"].motion.w[ARM] = 7.0
    np.testing.assert_array_equal(reading.angular_velocity, [1.0, 2.0, 3.0])
    np.testing.assert_array_equal(world.bodies["r1"].motion.a, before.a)
