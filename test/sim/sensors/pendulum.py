"""A pendulum that swings askew with a sensor far from its axis, and the theory of its motion."""

import numpy as np
from sim.physics.scenes import REVOLUTE, G, Z, at, fixed, one_joint, world
from sim.sensors.handmade import random_pose, random_rotation

from hrp_model import Pose
from hrp_model.rigid import axis_angle_matrix
from hrp_sim.sensors import ImuSensor

UNLIMITED = np.full(3, np.inf)
UP = G * Z
ARM = 1


def imu(simulated, link, X_LS=None):
    return ImuSensor(
        name="imu",
        body=simulated.name,
        rate_hz=1000.0,
        link=link,
        X_LS=X_LS or Pose(),
        g_W=-UP,
        max_angular_velocity=UNLIMITED,
        max_acceleration=UNLIMITED,
    )


def specific_force(R_WL, w_L, alpha_L, X_LS, a_W=(0.0, 0.0, 0.0)):
    """Theory: of a sensor on a link whose origin accelerates by a_W, in the sensor's axes."""
    r = X_LS.p
    f_L = R_WL.T @ (np.asarray(a_W) + UP) + np.cross(alpha_L, r) + np.cross(w_L, np.cross(w_L, r))
    return X_LS.R.T @ f_L


def runge_kutta(rate, state, duration, steps):
    """Integrate state' = rate(state); the error is of fourth order and negligible here."""
    h = duration / steps
    for _ in range(steps):
        k1 = rate(state)
        k2 = rate(state + h / 2 * k1)
        k3 = rate(state + h / 2 * k2)
        k4 = rate(state + h * k3)
        state = state + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return state


class ObliquePendulum:
    """A pendulum about any axis, its mass and its sensor anywhere, that is let go.

    Attributes:
        specific_force, turning: What the sensor should tell at the end, in its axes, shape (3,).
        angle: Of the joint at the end, in [rad].
    """

    DURATION, START = 0.5, 0.3  # [s], [rad]

    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        self._X_LS, com, axis = random_pose(rng), rng.uniform(-0.3, 0.3, 3), rng.normal(size=3)
        axis /= np.linalg.norm(axis)
        self._R_WB, mass, inertia = random_rotation(rng), 2.0, np.eye(3) * 0.02
        about_axis = axis @ inertia @ axis + mass * np.sum(np.cross(axis, com) ** 2)

        def rate(state):
            q, dq = state
            down_L = (self._R_WB @ axis_angle_matrix(axis, q)).T @ -UP
            return np.array([dq, axis @ np.cross(com, mass * down_L) / about_axis])

        self.angle, dq = end = runge_kutta(rate, np.array([self.START, 0.0]), self.DURATION, 500)
        R_WL = self._R_WB @ axis_angle_matrix(axis, self.angle)
        self.specific_force = specific_force(R_WL, dq * axis, rate(end)[1] * axis, self._X_LS)
        self.turning = self._X_LS.R.T @ axis * dq
        self._body = one_joint(REVOLUTE, axis, mass=mass, inertia=inertia, center_of_mass=com)

    def swing(self, time_step):
        """Simulate it; return the reading at the end, and the angle of the joint in [rad]."""
        start = fixed(self._body, at(1, 2, 3, self._R_WB), q=np.array([self.START]))
        engine, arm = world(start, time_step=time_step)
        engine.step(round(self.DURATION / time_step))
        return imu(arm, ARM, self._X_LS).read(engine.state), arm.motion.q[0]
