"""What an IMU reads where no step led: after a start, a reset, a jump, a restored state."""

from dataclasses import replace

import numpy as np
import pytest
from sim.physics.scenes import (
    REVOLUTE,
    G,
    X,
    Y,
    Z,
    at,
    box_inertia,
    fixed,
    floor,
    lone,
    moving,
    one_joint,
    placed,
)
from sim.sensors.handmade import random_pose, random_rotation

from hrp_model.devices import Imu
from hrp_model.geometry import Box
from hrp_model.rigid import axis_angle_matrix
from hrp_sim.control import HOLD, LIMP
from hrp_sim.sensors.settings import SensorSettings
from hrp_sim.simulation import Simulation
from hrp_sim.world.config import BodyEntry, WorldConfig

SEAT = random_pose(np.random.default_rng(3))
UP = G * Z
CUBE = lone(placed(Box(np.full(3, 0.2))), inertia=box_inertia(1.0, [0.2] * 3), name="cube")
CUBE = replace(CUBE, devices=(Imu(name="imu", link="BASE", X_LS=SEAT),))
ARM = one_joint(REVOLUTE, X, center_of_mass=0.2 * Y)
ARM = replace(ARM, devices=(Imu(name="imu", link="ARM", X_LS=SEAT),))
ON_FLOOR = moving(CUBE, at(z=0.1))
AT_REST = SEAT.R.T @ UP


def simulation(*placements, control=HOLD, **options):
    entries = (BodyEntry(placement=p, control=control) for p in placements)
    settings = SensorSettings(rate=1000.0, **options)
    return Simulation(WorldConfig(bodies=tuple(entries), sensors=settings))


def step(sim, name="imu"):
    """Step once; return all numbers of the IMU: gyro, then accelerometer."""
    reading = sim.step()[name]
    return np.concatenate([reading.angular_velocity, reading.linear_acceleration])


def steps(sim, count):
    return np.array([step(sim) for _ in range(count)])


def assert_at_rest(numbers, R_WL=None):
    expected = AT_REST if R_WL is None else SEAT.R.T @ R_WL.T @ UP
    np.testing.assert_allclose(numbers[:3], 0.0, atol=1e-6)
    np.testing.assert_allclose(numbers[3:], expected, atol=1e-4 * G)


def test_a_body_that_starts_at_rest_on_the_floor_reads_gravity_from_the_first_sample():
    for numbers in steps(simulation(floor(), ON_FLOOR), 20):
        assert_at_rest(numbers)


def test_so_does_one_that_is_spawned_later_beside_it():
    sim = simulation(floor(), ON_FLOOR)
    steps(sim, 10)
    sim.spawn(BodyEntry(placement=replace(ON_FLOOR, name="late", X_WL=at(1.0, 0.0, 0.1))))
    for _ in range(20):
        assert_at_rest(step(sim, "late/imu"))
        assert_at_rest(step(sim, "imu"))


def test_a_body_that_starts_inside_the_floor_feels_only_how_it_is_pushed_out():
    # It is pushed with 0.01 m/s at most, which it reaches in one step of 1 ms.
    readings = steps(simulation(floor(), replace(ON_FLOOR, X_WL=at(z=0.08))), 50)
    assert np.linalg.norm(readings[:, 3:] - AT_REST, axis=1).max() < 0.0101 / 1e-3


@pytest.mark.parametrize("speed", [0.0, 30.0])
def test_a_body_that_starts_in_flight_feels_nothing_from_the_first_sample(speed):
    R = random_rotation(np.random.default_rng(4))
    thrown = moving(CUBE, at(0, 0, 9, R), v=speed * np.array([0.6, 0.0, 0.8]))
    np.testing.assert_allclose(steps(simulation(thrown), 5), 0.0, atol=1e-9)


def test_after_a_reset_the_samples_are_those_of_the_start():
    thrown = moving(CUBE, at(z=0.3), v=np.array([1.0, 2.0, -3.0]), w=np.array([4.0, 5.0, 6.0]))
    noise = {"angular_velocity_stdev": 0.1, "linear_acceleration_stdev": 0.1}
    sim = simulation(floor(), thrown, **noise)
    first = steps(sim, 200)
    sim.reset()
    np.testing.assert_array_equal(steps(sim, 200), first)


def test_a_body_that_jumps_does_not_feel_the_way():
    sim = simulation(floor(), ON_FLOOR)
    steps(sim, 10)
    turn = axis_angle_matrix(Z, 1.0)
    for there in (at(3.0, -4.0, 0.1, turn), at(-2.0, 1.0, 0.1), at(0.0, 0.0, 0.1)):
        sim.move(replace(ON_FLOOR, X_WL=there))
        for numbers in steps(sim, 5):
            assert_at_rest(numbers, there.R)


def test_a_body_that_jumps_does_not_feel_the_speed_it_had_or_is_given():
    sim = simulation(floor(), replace(ON_FLOOR, X_WL=at(z=50.0), v=-20.0 * Z))
    steps(sim, 10)
    sim.move(replace(ON_FLOOR, X_WL=at(z=50.0), v=np.array([5.0, 6.0, 7.0])))
    np.testing.assert_allclose(steps(sim, 5), 0.0, atol=1e-9)
    sim.move(ON_FLOOR)
    for numbers in steps(sim, 5):
        assert_at_rest(numbers)


def test_a_body_does_not_feel_another_jump():
    other = moving(lone(name="other"), at(z=5.0))
    sim = simulation(floor(), ON_FLOOR, other)
    steps(sim, 10)
    sim.move(replace(other, X_WL=at(z=9.0), v=3.0 * X))
    for numbers in steps(sim, 5):
        assert_at_rest(numbers)


def test_a_robot_whose_base_jumps_reads_what_it_would_had_it_started_there():
    there = at(4.0, 5.0, 6.0, random_rotation(np.random.default_rng(5)))
    sim = simulation(fixed(ARM))
    steps(sim, 30)
    sim.move(fixed(ARM, there))
    expected = steps(simulation(fixed(ARM, there)), 30)
    np.testing.assert_allclose(steps(sim, 30), expected, atol=1e-9)


def test_from_a_restored_state_the_samples_go_on_as_they_did():
    swinging = fixed(ARM, q=np.array([1.0]), dq=np.array([2.0]))
    options = {"angular_velocity_stdev": 0.1, "linear_acceleration_stdev": 0.1}
    sim = simulation(swinging, control=LIMP, **options)
    steps(sim, 50)
    saved = sim.save()
    first = steps(sim, 50)
    sim.restore(saved)
    np.testing.assert_array_equal(steps(sim, 50), first)


def test_a_joint_that_starts_at_speed_is_felt_rightly_after_some_steps_and_without_a_spike():
    # ODE ties a joint together with the velocities before the step: only from the first step's
    # error on it knows that the link goes round, and takes away 0.4 of that error at each step.
    rate, upright = 5.0, at(R=axis_angle_matrix(Y, -np.pi / 2))  # the axis along Z
    spinning = replace(ARM, devices=(Imu(name="imu", link="ARM"),))  # on the axis
    start = fixed(spinning, upright, dq=np.array([rate]))
    readings = steps(simulation(start, control=LIMP), 40)
    error = np.linalg.norm(readings[:, 3:] - G * X, axis=1)
    centripetal = rate**2 * 0.2  # of the centre of mass
    assert error.max() < 2.0 * centripetal
    assert error[20:].max() < 0.01 * centripetal
