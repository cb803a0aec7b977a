"""Arms pick a box up and put it down on another one: PA10, and UR3, UR5 and UR10."""

from abc import abstractmethod
from collections.abc import Sequence
from math import atan2
from typing import ClassVar

import numpy as np

from hrp_model import BodyState
from hrp_model.rigid import Array, rpy_matrix

from ...control.controllers import ControllerIO
from .grip import GripAndCarry, Path


class Pick(GripAndCarry):
    """Carries the box; the hand points down where it grips and lets go.

    Attributes:
        arm: Names of the links at the arm's ends.
        hand: Roll and pitch of the last one as the hand points down, in [rad].
        places: Positions of its origin in the frame of the root link, in [m]: near the box, at it,
            above it, near the goal, at it.
    """

    arm: tuple[str, str]
    hand: tuple[float, float]
    places: Sequence[tuple[float, float, float]]
    release, opening = 3.0, 1.0

    @abstractmethod
    def posture_near(self, yaw: float) -> Sequence[float]:
        """Return joint positions of the arm, in [rad], from which the wanted elbow is found.

        Args:
            yaw: Direction of the place from the root link, in [rad].
        """

    def plan(self) -> tuple[Path, Path]:
        """Return the ways to the box, and from there to its goal and back."""
        self.state = BodyState(self.io.model)
        near, box, up, over, goal = (self.posture_at(*place) for place in self.places)
        return (
            Path((0.0, self.goal), (2.0, near), (2.5, box)),
            Path((0.0, box), (0.5, up), (2.0, over), (3.0, goal), (4.0, goal), (5.0, over)),
        )

    def posture_at(self, x: float, y: float, z: float) -> Array:
        """Return the joint positions with the arm's end at a place, in [rad] and [m]."""
        yaw = atan2(y, x)
        near = self.posture_near(yaw)
        self.state.q = self.goal
        self.state.q[: len(near)] = near
        self.state.calc_forward_kinematics()
        arm = self.state.joint_path(*self.arm)
        if not arm.calc_inverse_kinematics(np.array([x, y, z]), rpy_matrix(*self.hand, yaw)):
            raise ValueError(f"the hand cannot reach {x:g}, {y:g}, {z:g}")
        return self.state.q.copy()


class PickPA10(Pick):
    """Carries the box between two fingers that slide."""

    kp, kd = (*[35000.0] * 7, *[17000.0] * 2), 220.0
    hands: ClassVar = {"HAND_L": 1.0, "HAND_R": -1.0}
    speed = 0.02
    arm, hand = ("BASE", "J7"), (0.0, np.pi)
    places = (
        *((0.9, 0.0, 0.25), (0.9, 0.0, 0.2), (0.9, 0.0, 0.25)),
        *((0.0, 0.7, 0.8), (0.0, 0.7, 0.52)),
    )

    def posture_near(self, yaw: float) -> Sequence[float]:
        """Return a posture with the elbow up."""
        return yaw - 0.5 * np.pi, -1.0, 0.0, -1.0, 0.0, -1.1, 0.5 * np.pi


# Of the wrist at the box, in x and z, and where it puts the box, in y and z, in [m]; and a factor
# of the gains, as the UR3 is lighter.
ROBOTS = {
    "UR3": (0.5, 0.35, 0.4, 0.4, 0.1),
    "UR5": (0.8, 0.33, 0.5, 0.63, 1.0),
    "UR10": (0.91, 0.35, 0.7, 0.65, 1.0),
}


class PickUR(Pick):
    """Carries the box between the fingers of a gripper, whose other joints are limp."""

    hands: ClassVar = {"Finger1_knuckle": 1.0, "Finger2_knuckle": 1.0}
    speed, grip = 0.3, 10.0
    arm, hand = ("BASE", "WRIST3"), (-0.5 * np.pi, 0.0)

    def initialize(self, io: ControllerIO) -> None:
        """Choose places and gains for the arm."""
        name = io.model.name.partition("-")[0]
        if name not in ROBOTS:
            raise ValueError(f"there are places for {', '.join(ROBOTS)}, but not for '{name}'")
        x, z, y, top, factor = ROBOTS[name]
        self.places = (
            *((x - 0.1, 0.0, z), (x, 0.0, z), (x - 0.1, 0.0, z + 0.1)),
            *((0.0, y - 0.1, top + 0.1), (0.0, y, top)),
        )
        self.kp = (*[10000.0 * factor] * 3, *[2000.0 * factor] * 3, *[60.0, 0.0, 0.0] * 2)
        self.kd = (*[300.0 * factor] * 3, *[40.0 * factor] * 3, *[1.0, 0.0, 0.0] * 2)
        super().initialize(io)

    def posture_near(self, yaw: float) -> Sequence[float]:
        """Return a posture with the elbow up."""
        return yaw, -1.0, 1.5, -0.5, -0.5 * np.pi, 0.0
