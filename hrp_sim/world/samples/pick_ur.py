"""The arms UR3, UR5 and UR10 pick a box up and put it down on another one."""

from math import atan2
from typing import ClassVar

import numpy as np

from hrp_model import BodyState
from hrp_model.rigid import Array, rpy_matrix

from ...control.controllers import ControllerIO
from .grip import GripAndCarry, Path

# Of the wrist at the box, in x and z, and where it puts the box, in y and z, in [m]; and a factor
# of the gains, as the UR3 is lighter.
ROBOTS = {
    "UR3": (0.5, 0.35, 0.4, 0.4, 0.1),
    "UR5": (0.8, 0.33, 0.5, 0.63, 1.0),
    "UR10": (0.91, 0.35, 0.7, 0.65, 1.0),
}


class PickUR(GripAndCarry):
    """Carries the box between the fingers of a gripper, whose other joints are limp."""

    hands: ClassVar = {"Finger1_knuckle": 1.0, "Finger2_knuckle": 1.0}
    speed, grip, release, opening = 0.3, 10.0, 3.0, 1.0

    def initialize(self, io: ControllerIO) -> None:
        """Choose places and gains for the arm."""
        name = io.model.name.partition("-")[0]
        if name not in ROBOTS:
            raise ValueError(f"there are places for {', '.join(ROBOTS)}, but not for '{name}'")
        *self.places, factor = ROBOTS[name]
        self.kp = (*[10000.0 * factor] * 3, *[2000.0 * factor] * 3, *[60.0, 0.0, 0.0] * 2)
        self.kd = (*[300.0 * factor] * 3, *[40.0 * factor] * 3, *[1.0, 0.0, 0.0] * 2)
        super().initialize(io)

    def plan(self) -> tuple[Path, Path]:
        """Return the ways to the box, and from there to its goal and back."""
        x, z, y, top = self.places
        self.state = BodyState(self.io.model)
        near, box = self.wrist_at(x - 0.1, 0.0, z), self.wrist_at(x, 0.0, z)
        up, over = self.wrist_at(x - 0.1, 0.0, z + 0.1), self.wrist_at(0.0, y - 0.1, top + 0.1)
        goal = self.wrist_at(0.0, y, top)
        return (
            Path((0.0, self.goal), (2.0, near), (2.5, box)),
            Path((0.0, box), (0.5, up), (2.0, over), (3.0, goal), (4.0, goal), (5.0, over)),
        )

    def wrist_at(self, x: float, y: float, z: float) -> Array:
        """Return the joint positions with the wrist at a position [m], as the hand points down."""
        yaw = atan2(y, x)
        self.state.q = self.goal
        self.state.q[:6] = yaw, -1.0, 1.5, -0.5, -0.5 * np.pi, 0.0  # with the elbow up
        self.state.calc_forward_kinematics()
        arm = self.state.joint_path("BASE", "WRIST3")
        if not arm.calc_inverse_kinematics(np.array([x, y, z]), rpy_matrix(-0.5 * np.pi, 0.0, yaw)):
            raise ValueError(f"the hand cannot reach {x:g}, {y:g}, {z:g}")
        return self.state.q.copy()
