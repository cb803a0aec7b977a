"""Torque sensor in the joint of a link."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hrp_model import JointType, devices
from hrp_model.rigid import Array
from hrp_msgs.readings import TorqueReading

from ..engine.state import WorldState
from .context import SensorContext

RATE = 500.0  # [Hz], the default


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class TorqueSensor:
    """A sensor of the effort that the drive of a joint exerts, the mean over the last step.

    Attributes:
        name: Name in the model.
        body: Name of the body that carries it.
        rate_hz: Samples per second.
        joint: Index of the joint among the body's moving links.
        axis: Unit vector of the joint's motion in S, shape (3,).
        slides: Whether the joint slides; else it turns.
    """

    name: str
    body: str
    rate_hz: float
    joint: int
    axis: Array
    slides: bool

    def read(self, world: WorldState) -> TorqueReading:
        """Return the effort of the last step."""
        along = world.bodies[self.body].motion.effort[self.joint] * self.axis
        force, torque = (along, np.zeros(3)) if self.slides else (np.zeros(3), along)
        return TorqueReading(world.time_ns, self.body, force, torque)


def make_torque_sensor(device: devices.TorqueSensor, context: SensorContext) -> TorqueSensor:
    """Return the sensor of a joint's effort.

    Raises:
        ValueError: The joint of its link does not move.
    """
    mounted = context.mounted(device, RATE)
    link = context.body.links[mounted["link"]]
    if not link.joint.moves:
        raise ValueError(f"its joint '{link.joint.name}' neither turns nor slides")
    return TorqueSensor(
        name=device.name,
        body=mounted["body"],
        rate_hz=mounted["rate_hz"],
        joint=[x.name for x in context.body.moving_links].index(link.name),
        axis=mounted["X_LS"].R.T @ link.joint.axis,
        slides=link.joint.type is JointType.PRISMATIC,
    )
