"""Contenders that read an IMU and a force sensor: the sensors of hrp_sim, and plain numpy."""

from __future__ import annotations

import time

import numpy as np

from hrp_model.rigid import Array
from hrp_sim.sensors import ForceSensor, ImuSensor
from hrp_sim.simulation import Simulation

from .contenders import BenchError
from .measure import TOLERANCE
from .scenes import Scene

SETTLING = 100  # steps, after which there is motion to measure


class SamplesRun:
    """Samples of the first IMU and the first force sensor of a simulation that is not stepped."""

    def __init__(self, scene: Scene) -> None:
        self.simulation = Simulation(scene.world)
        for _ in range(SETTLING):
            self.simulation.step()
        sensors = self.simulation.sensors.values()
        self.imu = next(x for x in sensors if isinstance(x, ImuSensor))
        self.force = next(x for x in sensors if isinstance(x, ForceSensor))

    def advance(self, steps: int) -> float:
        """Read both; return the CPU time, in [s]."""
        state, imu, force = self.simulation.state, self.imu.read, self.force.read
        start = time.thread_time()
        for _ in range(steps):
            imu(state)
            force(state)
        return time.thread_time() - start

    def sample(self) -> Array:
        """Return angular velocity, specific force, force and torque, shape (12,)."""
        state = self.simulation.state
        inertial, wrench = self.imu.read(state), self.force.read(state)
        parts = inertial.angular_velocity, inertial.linear_acceleration, wrench.force, wrench.torque
        return np.concatenate([x for x in parts if x is not None])

    def close(self) -> None:
        """Free the engine."""
        self.simulation.close()


class NumpySamplesRun(SamplesRun):
    """The same samples by the formulas, written plainly with numpy."""

    def advance(self, steps: int) -> float:
        """Compute both; return the CPU time, in [s]."""
        sample = self.sample
        start = time.thread_time()
        for _ in range(steps):
            sample()
        return time.thread_time() - start

    def sample(self) -> Array:
        """Return angular velocity, specific force, force and torque, shape (12,)."""
        imu, sensor = self.imu, self.force
        motion, i = self.simulation.state.bodies[imu.body].motion, imu.link
        R, r = motion.R[i] @ imu.X_LS.R, motion.R[i] @ imu.X_LS.p
        w = motion.w[i]
        a = motion.a[i] + np.cross(motion.alpha[i], r) + np.cross(w, np.cross(w, r))
        gyro, acceleration = R.T @ w, R.T @ (a - imu.g_W)
        if imu.max_angular_velocity is not None:
            gyro = gyro.clip(-imu.max_angular_velocity, imu.max_angular_velocity)
        if imu.max_acceleration is not None:
            acceleration = acceleration.clip(-imu.max_acceleration, imu.max_acceleration)
        motion, i = self.simulation.state.bodies[sensor.body].motion, sensor.link
        R, r = motion.R[i] @ sensor.X_LS.R, motion.R[i] @ sensor.X_LS.p
        f = -motion.force[i]
        force, torque = R.T @ f, R.T @ (-motion.torque[i] - np.cross(r, f))
        force = force.clip(-sensor.max_force, sensor.max_force)
        torque = torque.clip(-sensor.max_torque, sensor.max_torque)
        return np.concatenate([gyro, acceleration, force, torque])


def check_samples(scene: Scene) -> None:
    """Check that both compute the same.

    Raises:
        BenchError: They do not.
    """
    ours, theirs = SamplesRun(scene), NumpySamplesRun(scene)
    difference = np.abs(ours.sample() - theirs.sample()).max()
    ours.close()
    theirs.close()
    if not difference <= TOLERANCE:
        raise BenchError(
            f"scene '{scene.name}': the sensors and numpy differ by {difference:g}, "
            "so their times cannot be compared"
        )
