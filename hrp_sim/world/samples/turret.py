"""A turret looks around until somebody takes over."""

from collections.abc import Mapping

import numpy as np

from hrp_model.rigid import Array

from ...control.controllers import Controller, ControllerIO


class LookAround(Controller):
    """Lets servos sway joints about their first positions; they hold when the body is commanded.

    Attributes:
        amplitudes: By joint, in [rad].
        period: In [s].
    """

    amplitudes: Mapping[str, float] = {"TURRET_Y": 0.8, "TURRET_P": 0.15}
    period = 6.0

    def initialize(self, io: ControllerIO) -> None:
        """Drive the joints."""
        self.io = io
        self.joints = [io.joint(name) for name in self.amplitudes]
        io.drive("position", self.amplitudes)

    def start(self) -> None:
        """Begin in the middle."""
        self.begin, self.middle = self.io.time, self.io.q[self.joints]

    def control(self) -> bool:
        """Set the targets of the servos; end if others command."""
        io, rate = self.io, 2.0 * np.pi / self.period
        if io.is_commanded:
            return False
        amplitudes, phase = np.array([*self.amplitudes.values()]), rate * (io.time - self.begin)
        io.q_target[self.joints] = self.middle + amplitudes * np.sin(phase)
        io.dq_target[self.joints] = rate * amplitudes * np.cos(phase)
        return True

    def save(self) -> Mapping[str, Array]:
        """Return the middle and the beginning."""
        return {"begin": np.array(self.begin), "middle": self.middle}

    def restore(self, arrays: Mapping[str, Array]) -> None:
        """Go on swaying."""
        self.begin, self.middle = float(arrays["begin"]), arrays["middle"].copy()
