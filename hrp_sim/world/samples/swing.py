"""A pendulum is swung up by a motor that is too weak to lift it."""

from collections.abc import Mapping

import numpy as np

from hrp_model import BodyState
from hrp_model.kinematics.state import STANDARD_GRAVITY
from hrp_model.rigid import Array

from ...control.controllers import Controller, ControllerIO

KP, KD = 10.0, 3.0  # near the top, in [N m/rad] and [N m s/rad]
PUMP = 5.0  # torque per lack of energy, in [N m/J]
CAPTURE = 0.25  # distance from the top from which it is held there, in [rad]


class SwingUp(Controller):
    """Pumps energy into a pendulum until it reaches the top, and holds it there.

    The motor pushes in the direction of the motion while energy is lacking: Astrom and Furuta,
    "Swinging up a pendulum by energy control", 2000.

    Attributes:
        name: Of its joint, whose position is 0 at the top.
    """

    name = "ARM"

    def initialize(self, io: ControllerIO) -> None:
        """Compute inertia and weight from the model."""
        self.io = io
        self.joint = io.joint(self.name)
        self.limit = io.model.moving_links[self.joint].joint.max_effort
        self.state = BodyState(io.model)
        self.state.q = np.zeros(len(io.q))
        self.top = self.height()
        self.inertia = float(self.state.calc_joint_inertias()[self.joint])
        self.weight = STANDARD_GRAVITY * self.state.calc_total_mass()
        io.drive("effort", [self.name])

    def height(self) -> float:
        """Return the height of the centre of mass, in [m]."""
        self.state.calc_forward_kinematics()
        return float(self.state.calc_cm()[2])

    def control(self) -> bool:
        """Set the torque."""
        io, q, dq = self.io, self.io.q[self.joint], self.io.dq[self.joint]
        angle = (q + np.pi) % (2.0 * np.pi) - np.pi  # from the top
        if abs(angle) < CAPTURE:
            torque = -KP * angle - KD * dq
        else:
            self.state.q = io.q
            energy = 0.5 * self.inertia * dq**2 + self.weight * (self.height() - self.top)
            torque = -PUMP * energy * (1.0 if dq >= 0.0 else -1.0)
        io.effort_target[self.joint] = np.clip(torque, -self.limit, self.limit)
        return True

    def save(self) -> Mapping[str, Array]:
        """Return nothing: all follows from the state of the pendulum."""
        return {}
