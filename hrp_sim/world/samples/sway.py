"""Turrets and arms sway until somebody takes over."""

from collections.abc import Mapping

import numpy as np

from hrp_model.rigid import Array

from ...control.controllers import Controller, ControllerIO


class LookAround(Controller):
    """Lets servos sway joints about their first positions; they hold when the body is commanded.

    Attributes:
        amplitudes: By end of the names of joints, in [rad].
        period: In [s].
    """

    amplitudes: Mapping[str, float] = {"TURRET_Y": 0.8, "TURRET_P": 0.15}
    period = 6.0

    def initialize(self, io: ControllerIO) -> None:
        """Drive the joints; of several arms, those whose prefix is an option of the project."""
        self.io = io
        names = [link.joint.name for link in io.model.moving_links]
        prefixes = tuple(str(io.args.get("options", "")).split())
        names = [name for name in names if name.startswith(prefixes)] or names
        found = {n: a for n in names for end, a in self.amplitudes.items() if n.endswith(end)}
        self.joints = [io.joint(name) for name in found]
        self.ways = np.array([*found.values()])
        io.drive("position", found)

    def start(self) -> None:
        """Begin in the middle."""
        self.begin, self.middle = self.io.time, self.io.q[self.joints]

    def control(self) -> bool:
        """Set the targets of the servos; end if others command."""
        io, rate = self.io, 2.0 * np.pi / self.period
        if io.is_commanded:
            return False
        phase = rate * (io.time - self.begin)
        io.q_target[self.joints] = self.middle + self.ways * np.sin(phase)
        io.dq_target[self.joints] = rate * self.ways * np.cos(phase)
        return True

    def save(self) -> Mapping[str, Array]:
        """Return the middle and the beginning."""
        return {"begin": np.array(self.begin), "middle": self.middle}

    def restore(self, arrays: Mapping[str, Array]) -> None:
        """Go on swaying."""
        self.begin, self.middle = float(arrays["begin"]), arrays["middle"].copy()


class MoveArm(LookAround):
    """Moves the arm Jaco2."""

    amplitudes: Mapping[str, float] = {"SHOULDER": 0.5, "FOREARM": 0.3, "WRIST1": 0.8}
    period = 4.0
