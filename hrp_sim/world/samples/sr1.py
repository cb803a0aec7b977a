"""The humanoid SR1 stands, and walks by a pattern from a motion file."""

from collections.abc import Mapping

import numpy as np

from hrp_model.rigid import Array

from ...control.controllers import ControllerIO, ForceHook, ForceState
from ..motion import load_motion
from .pd import PDController


class Stand(PDController):
    """Stands in its first posture."""

    # By joint id: leg, arm, leg, arm, waist and chest.
    kp = (*[8000.0] * 6, *[3000.0] * 7, *[8000.0] * 6, *[3000.0] * 7, *[8000.0] * 3)


class Walk(Stand):
    """Plays a motion after a transition to its beginning, then holds its last posture.

    Argument ``motion``: path of the motion; joints that it lacks stay where they are.

    Attributes:
        speed: Of the joint with the longest way in the transition, in [rad/s]; if it is faster,
            the body still sways when the motion begins.
    """

    speed = 0.25

    def initialize(self, io: ControllerIO) -> None:
        """Load the motion."""
        super().initialize(io)
        self.motion = load_motion(io.resolve(str(io.args["motion"])))
        rows = self.motion.for_body(io.model)
        self.rows = np.where(np.isnan(rows), io.q, rows)

    def start(self) -> None:
        """Begin with the transition."""
        super().start()
        self.first = self.goal

    def posture(self) -> Array:
        """Return the joint positions of the transition or the motion."""
        way = self.rows[0] - self.first
        duration, t = float(np.abs(way).max()) / self.speed, self.time
        if t < duration:
            posture: Array = self.first + way * (0.5 - 0.5 * np.cos(np.pi * t / duration))
            return posture
        return self.motion.between(self.rows, t - duration)

    def save(self) -> Mapping[str, Array]:
        """Return also the posture before the transition."""
        return {**super().save(), "first": self.first}

    def restore(self, arrays: Mapping[str, Array]) -> None:
        """Go on in the motion."""
        super().restore(arrays)
        self.first = arrays["first"].copy()


class Walk2D(Walk, ForceHook):
    """Walks in the plane of x and z, in which springs hold its waist.

    They stand for the 2D mode of Choreonoid.

    Attributes:
        hold: Stiffness and damping of the springs, in [N/m], [N s/m] and for angles in [N m/rad],
            [N m s/rad].
    """

    hold = (5e4, 5e3, 2e4, 200.0)

    def apply(self, state: ForceState, dt: float) -> None:  # noqa: ARG002
        """Add the forces of the springs."""
        motion, (k, d, k_turn, d_turn) = state.motion, self.hold
        state.force[0, 1] = -k * motion.p[0, 1] - d * motion.v[0, 1]
        side, (w_x, _, w_z) = motion.R[0, :, 1], motion.w[0]
        state.torque[0] = -k_turn * side[2] - d_turn * w_x, 0.0, k_turn * side[0] - d_turn * w_z
