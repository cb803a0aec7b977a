"""Accelerometers and gyros on simulated bodies, against what theory says of their motion."""

from dataclasses import replace

import numpy as np
import pytest
from sim.physics.scenes import (
    PRISMATIC,
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
    world,
)
from sim.sensors.handmade import random_pose, random_rotation
from sim.sensors.pendulum import ARM, UP, ObliquePendulum, imu, runge_kutta, specific_force

from hrp_model import Pose
from hrp_model.geometry import Box
from hrp_model.rigid import rpy_matrix


def assert_first_order(measure, expected, relative):
    """Check that the error at a step of 1 ms is small, and halves with the step."""
    steps = 1e-3, 5e-4, 2.5e-4
    coarse, middle, fine = (np.linalg.norm(measure(h) - expected) for h in steps)
    assert coarse < relative * np.linalg.norm(expected)
    assert 1.8 < coarse / middle < 2.4
    assert 1.8 < middle / fine < 2.2


MOUNTINGS = [random_pose(np.random.default_rng(seed)) for seed in range(2)]


def test_on_a_tumbling_body_it_reads_what_eulers_equations_say():
    inertia, com = np.diag([0.01, 0.02, 0.03]), np.array([0.1, -0.2, 0.15])
    w0, X_LS, duration = np.array([1.0, 3.0, 0.5]), MOUNTINGS[1], 0.4

    def alpha(w):
        return -np.linalg.solve(inertia, np.cross(w, inertia @ w))

    w = runge_kutta(alpha, w0, duration, 400)
    # Only the centre of mass falls freely: the lever arm is that from there.
    from_com = Pose(X_LS.R, X_LS.p - com)
    expected = specific_force(np.eye(3), w, alpha(w), from_com, a_W=-UP)

    def measure(h):
        body = lone(inertia=inertia, com=com)
        engine, thing = world(moving(body, w=w0, v=np.cross(com, w0)), time_step=h)
        engine.step(round(duration / h))
        return imu(thing, 0, X_LS).read(engine.state).linear_acceleration

    assert_first_order(measure, expected, 0.01)


SIDES = {
    "z up": (rpy_matrix(0, 0, 0), Z),
    "y up": (rpy_matrix(np.pi / 2, 0, 0), Y),
    "x down": (rpy_matrix(0, np.pi / 2, 0), -X),
}
CUBE = lone(placed(Box(np.full(3, 0.2))), inertia=box_inertia(1.0, [0.2] * 3), name="cube")


@pytest.mark.parametrize("side", SIDES)
def test_at_rest_on_the_floor_each_axis_reads_gravity(side):
    R, up_L = SIDES[side]
    engine, _, cube = world(floor(), moving(CUBE, at(0, 0, 0.1, R)))
    sensor = imu(cube, 0, Pose(p=[0.03, -0.05, 0.08]))
    engine.step()
    first = sensor.read(engine.state)
    np.testing.assert_allclose(first.linear_acceleration, up_L * G, atol=1e-5 * G)
    engine.step(500)
    at_rest = sensor.read(engine.state)
    np.testing.assert_allclose(at_rest.linear_acceleration, up_L * G, atol=1e-9 * G)
    np.testing.assert_allclose(at_rest.angular_velocity, 0.0, atol=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_an_oblique_pendulum_off_centre_agrees_with_theory_to_first_order(seed):
    pendulum = ObliquePendulum(seed)

    def measure(h):
        reading, _ = pendulum.swing(h)
        np.testing.assert_allclose(reading.angular_velocity, pendulum.turning, atol=20.0 * h)
        return reading.linear_acceleration

    assert_first_order(measure, pendulum.specific_force, 0.005)


def test_on_a_slider_in_harmonic_motion_it_agrees_with_theory_to_first_order():
    rng = np.random.default_rng(7)
    X_LS, R_WB, amplitude, duration = random_pose(rng), random_rotation(rng), 0.05, 0.37
    mass, stiffness = 2.0, 800.0
    body = one_joint(PRISMATIC, Y, mass=mass, center_of_mass=np.array([0.1, 0.0, 0.05]))
    omega, axis_W = np.sqrt(stiffness / mass), R_WB @ Y
    sag = -mass * G * axis_W[2] / stiffness  # where it hangs at rest
    a_W = -(omega**2) * amplitude * np.cos(omega * duration) * axis_W
    expected = specific_force(R_WB, np.zeros(3), np.zeros(3), X_LS, a_W)

    def measure(h):
        start = np.array([sag + amplitude])
        engine, arm = world(fixed(body, at(R=R_WB), q=start), time_step=h)
        arm.drive.kp[:] = stiffness
        engine.step(round(duration / h))
        return imu(arm, ARM, X_LS).read(engine.state).linear_acceleration

    assert_first_order(measure, expected, 0.1)


def test_in_an_impact_the_readings_add_up_to_the_change_of_speed():
    engine, _, cube = world(floor(), moving(CUBE, at(z=0.3), v=np.array([0.0, 0.0, -1.0])))
    sensor = imu(cube, 0)
    clipped = replace(sensor, max_acceleration=np.full(3, 16.0 * G))
    felt, most = np.zeros(3), 0.0
    for _ in range(600):
        engine.step()
        reading = sensor.read(engine.state).linear_acceleration
        assert np.isfinite(reading).all()
        felt += reading * 1e-3
        most = max(most, np.abs(reading).max())
        limited = clipped.read(engine.state).linear_acceleration
        np.testing.assert_array_equal(limited, np.clip(reading, -16.0 * G, 16.0 * G))
    np.testing.assert_allclose(felt - UP * 0.6, [0.0, 0.0, 1.0], atol=1e-9)
    # The fall of 0.2 m ends within a step; more than that speed cannot be lost.
    fall = np.sqrt(1.0 + 2.0 * G * 0.2)
    assert 16.0 * G < most < 1.05 * fall / 1e-3
