"""A conveyor belt that runs until somebody takes over."""

from collections.abc import Mapping

from hrp_model.rigid import Array

from ...control import JointCommand
from ...control.controllers import Controller, ControllerIO


class Belt(Controller):
    """Lets the surface of a track run.

    Attributes:
        track: Name of its joint.
        speed: Of the surface, in [m/s].
    """

    track, speed = "TRACK", 1.0

    def initialize(self, io: ControllerIO) -> None:
        """Keep the inputs and outputs."""
        self.io = io

    def control(self) -> bool:
        """Command the speed; end if others command."""
        if self.io.is_commanded:
            return False
        self.io.command(JointCommand([self.track], velocity=[self.speed]))
        return True

    def save(self) -> Mapping[str, Array]:
        """Return nothing: the belt has no state of its own."""
        return {}
