"""The arm PA10 picks a box up and puts it down on another one."""

from math import atan2
from typing import ClassVar

import numpy as np

from hrp_model import BodyState
from hrp_model.rigid import Array, rpy_matrix

from .grip import GripAndCarry, Path


class Pick(GripAndCarry):
    """Carries the box between two fingers; its hand points down where it grips and lets go."""

    kp, kd = (*[35000.0] * 7, *[17000.0] * 2), 220.0
    hands: ClassVar = {"HAND_L": 1.0, "HAND_R": -1.0}
    speed, release, opening = 0.02, 3.0, 1.0

    def plan(self) -> tuple[Path, Path]:
        """Return the ways to the box, and from there to its goal and back."""
        self.state = BodyState(self.io.model)
        self.state.q = self.goal
        above, box = self.wrist_at(0.9, 0.0, 0.25), self.wrist_at(0.9, 0.0, 0.2)
        raised, goal = self.wrist_at(0.0, 0.7, 0.8), self.wrist_at(0.0, 0.7, 0.52)
        return (
            Path((0.0, self.goal), (2.0, above), (2.5, box)),
            Path((0.0, box), (0.5, above), (2.0, raised), (3.0, goal), (4.0, goal), (5.0, raised)),
        )

    def wrist_at(self, x: float, y: float, z: float) -> Array:
        """Return the joint positions with the wrist at a position [m], as the hand points down."""
        yaw = atan2(y, x)
        # Of both elbows the upper one is found from here.
        self.state.q[:7] = yaw - 0.5 * np.pi, -1.0, 0.0, -1.0, 0.0, -1.1, 0.5 * np.pi
        self.state.calc_forward_kinematics()
        arm = self.state.joint_path("BASE", "J7")
        if not arm.calc_inverse_kinematics(np.array([x, y, z]), rpy_matrix(0.0, np.pi, yaw)):
            raise ValueError(f"the hand cannot reach {x:g}, {y:g}, {z:g}")
        return self.state.q.copy()
