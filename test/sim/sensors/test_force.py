"""Force sensor: static loads with moment arms, axes and sign."""

import numpy as np
from sim.sensors.handmade import ARM, GRAVITY, TIME_NS, arm_world, random_pose, random_rotation

from hrp_model import Pose
from hrp_model.rigid import rpy_matrix
from hrp_sim.sensors import ForceSensor

UNLIMITED = np.full(3, np.inf)


def force_sensor(X_LS=None, max_force=UNLIMITED, max_torque=UNLIMITED):
    return ForceSensor(
        name="wrist",
        body="r1",
        rate_hz=500.0,
        link=ARM,
        X_LS=X_LS or Pose(),
        max_force=max_force,
        max_torque=max_torque,
    )


def holding(mass, p_Lcm_W):
    """What a parent applies to a resting link to hold a mass at this place, about L."""
    lift = -mass * GRAVITY
    return {"force": lift, "torque": np.cross(p_Lcm_W, lift)}


def test_a_hanging_mass_pulls_the_sensor_down():
    reading = force_sensor().read(arm_world(**holding(2.0, np.array([0, 0, -0.3]))))
    np.testing.assert_allclose(reading.force, [0, 0, -2.0 * 9.80665])
    np.testing.assert_allclose(reading.torque, 0.0, atol=1e-15)
    assert (reading.time_ns, reading.body) == (TIME_NS, "r1")


def test_a_mass_in_front_pitches_the_sensor_forward():
    # At 0.5 m along +x a weight along -z turns about +y.
    reading = force_sensor().read(arm_world(**holding(2.0, np.array([0.5, 0, 0]))))
    np.testing.assert_allclose(reading.torque, [0, 0.5 * 2.0 * 9.80665, 0], atol=1e-12)


def test_a_sensor_below_the_mass_feels_no_moment():
    p_cm = np.array([0.5, -0.2, 0.1])
    sensor = force_sensor(Pose(p=[0.5, -0.2, -0.4]))
    reading = sensor.read(arm_world(**holding(3.0, p_cm)))
    np.testing.assert_allclose(reading.torque, 0.0, atol=1e-12)


def test_a_sensor_on_its_side_reads_the_weight_along_its_own_axis():
    sensor = force_sensor(Pose(R=rpy_matrix(np.pi / 2, 0, 0)))  # its y points up
    reading = sensor.read(arm_world(**holding(2.0, np.zeros(3))))
    np.testing.assert_allclose(reading.force, [0, -2.0 * 9.80665, 0], atol=1e-12)


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
