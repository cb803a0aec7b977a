"""The classes that users derive from: controllers, and hooks that add forces to a step."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING

from hrp_model.rigid import Array

if TYPE_CHECKING:
    from .io import ControllerIO, ForceState


class Plugin:
    """Base of controllers and force hooks: runs inside of a simulation, for one body.

    Those of world files are created without arguments; ``initialize`` receives those of the user.
    """

    def initialize(self, io: ControllerIO) -> None:
        """Prepare to run: keep ``io``, select joints and sensors. Called once.

        Args:
            io: The inputs and outputs, valid as long as the simulation.
        """

    def start(self) -> None:
        """Begin in the present state of the world.

        Called once after ``initialize`` and after each reset of the world, and after the restore
        of a saved state from which this object cannot continue.
        """

    def stop(self) -> None:
        """Clean up after ``control`` has returned False, before a reset, or at the end.

        Called too when a saved state is restored in which this object has ended, or from which it
        cannot continue.
        """

    def save(self) -> Mapping[str, Array] | None:
        """Return the internal state as arrays of numbers for ``restore``.

        None, the default, means that it cannot continue from a saved state: it is started again
        when one is restored. One without internal state returns {}.
        """
        return None

    def restore(self, arrays: Mapping[str, Array]) -> None:
        """Go back to a state that ``save`` has returned; replaces ``start``."""


class Controller(Plugin, ABC):
    """Controls a body: a class in the shape of Choreonoid's SimpleController.

    Example::

        class Hold(Controller):
            def initialize(self, io):
                self.io = io
                io.drive("effort")

            def start(self):
                self.goal = self.io.q.copy()

            def control(self):
                io = self.io
                io.effort_target = 400.0 * (self.goal - io.q) - 40.0 * io.dq
                return True
    """

    @abstractmethod
    def control(self) -> bool:
        """Compute the targets of the joints for the next control period.

        Called before the step that begins at the present time, so that its targets act from
        there on, and once before the first step.

        Returns:
            True to go on; False ends the controller.
        """


class ForceHook(Plugin, ABC):
    """Adds forces and torques to every step of the physics, such as those of a spring.

    A class may be a Controller as well.
    """

    @abstractmethod
    def apply(self, state: ForceState, dt: float) -> None:
        """Add forces and torques, which act constantly over the next step.

        Args:
            state: State of the body before the step; its efforts, forces and torques are zero.
            dt: Length of the step, in [s].
        """
