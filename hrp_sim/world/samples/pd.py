"""PD control with torques, as most samples of Choreonoid have it."""

from collections.abc import Mapping, Sequence

import numpy as np

from hrp_model.rigid import Array

from ...control.controllers import Controller, ControllerIO


class PDController(Controller):
    """Lets joints follow a posture by torques kp (goal - q) + kd (goal' - dq).

    This one holds the first posture; derived classes replace ``posture``. With the option
    "position" of the project, the servos of the simulator move the joints instead.

    Attributes:
        joints: Names of the joints that it moves; () means all that have an id.
        kp: Stiffness of all joints, or by joint id, in [N m/rad] or [N/m].
        kd: Damping likewise, in [N m s/rad] or [N s/m].
        goal: The posture of all joints of the body, in [rad] or [m].
    """

    joints: Sequence[str] = ()
    kp: float | Sequence[float] = 1000.0
    kd: float | Sequence[float] = 100.0

    def initialize(self, io: ControllerIO) -> None:
        """Drive the joints."""
        self.io = io
        self.uses_servos = "position" in str(io.args.get("options", "")).split()
        io.drive("position" if self.uses_servos else "effort", self.joints or None)
        self.stiffness, self.damping = self.of_joints(self.kp), self.of_joints(self.kd)

    def of_joints(self, gain: float | Sequence[float]) -> Array:
        """Return a gain of all joints, given one for all or by joint id.

        Raises:
            ValueError: The body has more joints than the sample.
        """
        ids = [link.joint.id for link in self.io.model.moving_links]
        if isinstance(gain, float):
            return np.full(len(ids), gain)
        if (last := max((i for i in ids if i is not None), default=0)) >= len(gain):
            raise ValueError(f"a joint has the id {last}, but the sample has {len(gain)} joints")
        return np.array([0.0 if i is None else gain[i] for i in ids])

    def start(self) -> None:
        """Begin in the present posture."""
        self.begin, self.goal = self.io.time, self.io.q.copy()

    @property
    def time(self) -> float:
        """Time since the start, in [s]."""
        return self.io.time - self.begin

    def posture(self) -> Array:
        """Return the goal of this moment."""
        return self.goal

    def control(self) -> bool:
        """Set torques, or the targets of servos."""
        io, before = self.io, self.goal
        self.goal = self.posture()
        speed = (self.goal - before) / io.time_step
        if self.uses_servos:
            io.q_target, io.dq_target = self.goal, speed
        else:
            io.effort_target = self.stiffness * (self.goal - io.q) + self.damping * (speed - io.dq)
        return True

    def save(self) -> Mapping[str, Array]:
        """Return the posture and its beginning."""
        return {"begin": np.array(self.begin), "goal": self.goal}

    def restore(self, arrays: Mapping[str, Array]) -> None:
        """Go on from there."""
        self.begin, self.goal = float(arrays["begin"]), arrays["goal"].copy()


class HoldBarrel(PDController):
    """Holds the barrel of the tank."""

    joints, kp, kd = ("TURRET_P",), 200.0, 50.0


class Spring(PDController):
    """Lets a joint act as a spring that is relaxed at 0, with a damper."""

    joints, kp, kd = ("UPPER",), 2000.0, 5.0

    def posture(self) -> Array:
        """Return zeros."""
        return np.zeros_like(self.goal)
