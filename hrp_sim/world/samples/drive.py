"""A vehicle drives a course until somebody takes over, by a joystick, a topic or the page."""

from collections.abc import Mapping, Sequence

import numpy as np

from hrp_model.rigid import Array

from ...control.controllers import Controller, ControllerIO
from ...control.conversions import vehicle_command


class Course(Controller):
    """Drives a course again and again, on tracks or wheels.

    Attributes:
        parts: Of the course: duration in [s], forward speed in [m/s] and yaw rate to the left in
            [rad/s] of each.
    """

    parts: Sequence[tuple[float, float, float]] = (
        *((2.0, 0.5, 0.0), (3.0, 0.3, 0.6)),
        *((2.0, 0.5, 0.0), (3.0, 0.3, 0.6)),
    )

    def initialize(self, io: ControllerIO) -> None:
        """Make the commands of the parts."""
        self.io = io
        self.ends = np.cumsum([duration for duration, _, _ in self.parts])
        self.commands = [vehicle_command(io.model, v, w) for _, v, w in self.parts]

    def start(self) -> None:
        """Begin the course."""
        self.begin = self.io.time

    def control(self) -> bool:
        """Command the speeds of the present part; end if others command."""
        if self.io.is_commanded:
            return False
        t = (self.io.time - self.begin) % self.ends[-1]
        self.io.command(self.commands[int(np.searchsorted(self.ends, t, side="right"))])
        return True

    def save(self) -> Mapping[str, Array]:
        """Return the beginning."""
        return {"begin": np.array(self.begin)}

    def restore(self, arrays: Mapping[str, Array]) -> None:
        """Go on in the course."""
        self.begin = float(arrays["begin"])


class TurnOnTheSpot(Course):
    """Drives forward and turns right on the spot."""

    parts = ((2.0, 0.4, 0.0), (1.0, 0.0, -2.5))


class BackAndForth(Course):
    """Drives forward and back."""

    parts = ((1.8, 1.2, 0.0), (1.8, -1.2, 0.0))
