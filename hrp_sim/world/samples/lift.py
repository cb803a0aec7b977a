"""The humanoid SR1 crouches, grips a box between its hands, stands up with it and throws it."""

from typing import ClassVar

import numpy as np

from hrp_model.rigid import Array

from .grip import GripAndCarry, Path
from .sr1 import Stand

# Joints of both sides, and of the waist, in the postures below, which are in [deg].
JOINTS = ("LEG_HIP_P", "LEG_KNEE", "LEG_ANKLE_P", "ARM_SHOULDER_P", "ARM_ELBOW", "WAIST_P")
BENT = (-15, 45, -30, 10, -90, 0)
CROUCHED = (-80, 148, -70, -47, -60, 50)
LIFTED = (-15, 45, -30, -50, -60, 0)
SWUNG_BACK = (-40, 80, -40, -50, -60, 10)
STRETCHED = (-15, 45, -30, -60, -50, 0)


class Lift(GripAndCarry):
    """Lifts the box, and opens the hands while it stretches."""

    kp = Stand.kp
    hands: ClassVar = {"LARM_WRIST_R": -1.0, "RARM_WRIST_R": 1.0}
    speed, release, opening = 0.3, 5.15, 0.05

    def plan(self) -> tuple[Path, Path]:
        """Return the ways down and up."""
        bent, down, up, back, stretched = map(
            self.posture_of, (BENT, CROUCHED, LIFTED, SWUNG_BACK, STRETCHED)
        )
        return (
            Path((0.0, self.goal), (1.5, bent), (4.5, down)),
            Path((0.0, down), (2.5, up), (4.0, up), (5.0, back), (5.3, stretched)),
        )

    def posture_of(self, degrees: tuple[float, ...]) -> Array:
        """Return the joint positions of a posture, in [rad]."""
        q = np.zeros(len(self.goal))
        for joint, angle in zip(JOINTS, np.radians(degrees), strict=True):
            for side in ("",) if joint.startswith("WAIST") else ("L", "R"):
                q[self.io.joint(side + joint)] = angle
        return q
