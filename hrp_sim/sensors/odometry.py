"""Ground truth odometry: the true motion of a body's root."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from hrp_model import Pose
from hrp_model.rigid import Array, matrix_quaternion, quaternion_matrix
from hrp_msgs.readings import OdometryReading

from ..engine.state import WorldState
from ._probe import ROOT, Probe
from .base import make_probe, measure_one
from .context import BodySource, SensorContext

ODOMETRY = "odometry"  # the name of the sensor
RATE = 100.0  # [Hz], the default


def motion_of_fixed_frame(root: OdometryReading, X_LB: Pose) -> OdometryReading:
    """Return the motion of a frame B that is fixed to the root link L, given that of L."""
    R_WL = quaternion_matrix(root.orientation)
    return OdometryReading(
        root.time_ns,
        root.body,
        root.position + R_WL @ X_LB.p,
        matrix_quaternion(R_WL @ X_LB.R),
        (root.linear_velocity + np.cross(root.angular_velocity, X_LB.p)) @ X_LB.R,
        root.angular_velocity @ X_LB.R,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class OdometrySensor:
    """Measures the motion of the root link without error.

    Attributes:
        name: Name of the sensor, unique in the body.
        body: Name of the body.
        rate_hz: Samples per second.
    """

    name: str
    body: str
    rate_hz: float
    probe: Probe = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "probe", make_probe(ROOT, 0, Pose(), (None, None)))

    def read(self, world: WorldState) -> OdometryReading:
        """Return the pose in W and the velocities in the root's frame."""
        return self.reading(world, measure_one(self.probe, world.bodies[self.body].motion), 0)

    def reading(self, world: WorldState, vectors: Array, first: int) -> OdometryReading:
        """Return a reading, given the position and both velocities."""
        p, v, w = vectors[first], vectors[first + 1], vectors[first + 2]
        orientation = matrix_quaternion(world.bodies[self.body].motion.R[0])
        return OdometryReading(world.time_ns, self.body, p, orientation, v, w)


def make_odometry(source: BodySource, context: SensorContext) -> OdometrySensor:
    """Return the sensor of the root's motion."""
    rate = context.rate(source.name, RATE)
    return OdometrySensor(name=source.name, body=context.simulated.name, rate_hz=rate)
