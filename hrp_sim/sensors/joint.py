"""Positions, velocities and efforts of a body's joints."""

from __future__ import annotations

from dataclasses import dataclass

from hrp_model.rigid import Array

from ..state import WorldState


@dataclass(slots=True, eq=False)
class JointReading:
    """One sample of every joint that moves; all arrays of shape (joints,).

    Attributes:
        time_ns: Simulation time of the sample, in [ns].
        body: Name of the body.
        names: Of the joints: those with an id first, by id, then the others.
        position: In [rad] or [m].
        velocity: In [rad/s] or [m/s].
        effort: What the drives applied over the last step, in [N m] or [N].
    """

    time_ns: int
    body: str
    names: tuple[str, ...]
    position: Array
    velocity: Array
    effort: Array


@dataclass(frozen=True, slots=True, kw_only=True)
class JointSensor:
    """Ideal encoders and torque sensors in all joints of a body.

    Attributes:
        name: Name among the sensors of the body.
        body: Name of the body.
        rate_hz: Samples per second.
        joints: Names of the joints, in the order of the body's moving links.
    """

    name: str
    body: str
    rate_hz: float
    joints: tuple[str, ...]

    def read(self, world: WorldState) -> JointReading:
        """Copy the joint vectors."""
        motion = world.bodies[self.body].motion
        return JointReading(
            world.time_ns,
            self.body,
            self.joints,
            motion.q.copy(),
            motion.dq.copy(),
            motion.effort.copy(),
        )
