"""A humanoid walks: a pattern of postures, computed by inverse kinematics and then played.

hrp-sim run examples/controllers/walk.yaml
"""

import numpy as np

from hrp_model import BodyState
from hrp_sim import Controller

STEP, HEIGHT = 0.1, 0.03  # length of a step and height of the swinging foot, in [m]
SHIFT, SWING = 1.5, 0.8  # of the weight to the other foot, and of a foot, in [s]
RATE = 50  # postures per second


class WalkPattern(Controller):
    """Walks slowly: the centre of mass is always above a foot that stands.

    Argument ``steps``: their number.
    """

    def initialize(self, io):
        self.io = io
        self.state = BodyState(io.model)
        self.state.q, self.state.root_link.p = io.q, io.motion.p[0]
        self.state.calc_forward_kinematics()
        self.legs = [self.state.joint_path("PELVIS", f"{side}LEG_ANKLE_R") for side in "LR"]
        self.pelvis = self.state.root_link.p.copy()
        self.feet = np.array([leg.end_link.p for leg in self.legs])
        self.pattern = np.array(list(self.postures(io.args["steps"])))
        io.drive("position")

    def start(self):
        self.begin = self.io.time

    def control(self):
        k, part = divmod((self.io.time - self.begin) * RATE, 1.0)
        if k + 1 >= len(self.pattern):
            return False
        before, after = self.pattern[int(k) : int(k) + 2]
        self.io.q_target = before + part * (after - before)
        self.io.dq_target = (after - before) * RATE
        return True

    def save(self):
        return {"begin": self.begin}

    def restore(self, arrays):
        self.begin = float(arrays["begin"])

    def postures(self, steps):
        """Yield the joint positions of the whole walk."""
        feet, centre = self.feet.copy(), self.feet.mean(axis=0)[:2]
        goal = feet.mean(axis=0)[:2]
        for k in range(steps + 1):
            swing = k % 2
            length = STEP if 0 < k < steps - 1 else STEP / 2
            goal = feet[1 - swing, :2] if k < steps else feet.mean(axis=0)[:2]
            for s in smooth(SHIFT):
                yield self.posture(centre + s * (goal - centre), feet)
            centre = goal.copy()
            if k == steps:
                return
            start = feet[swing].copy()
            for s in smooth(SWING):
                feet[swing] = start + np.array([s * length, 0.0, HEIGHT * np.sin(np.pi * s)])
                yield self.posture(centre, feet)

    def posture(self, centre, feet):
        """Return the joint positions with the centre of mass above a point, and feet in place."""
        state = self.state
        for _ in range(3):
            state.root_link.p = self.pelvis
            state.calc_forward_kinematics()
            for leg, foot in zip(self.legs, feet, strict=True):
                if not leg.calc_inverse_kinematics(foot, np.eye(3), restarts=0):
                    raise ValueError(f"a foot cannot reach {foot}")
            state.calc_forward_kinematics()
            self.pelvis[:2] += centre - state.calc_cm()[:2]
        return state.q.copy()


def smooth(duration):
    """Return numbers from 0 to 1 for the postures of a movement of a duration in [s]."""
    return 0.5 - 0.5 * np.cos(np.pi * np.arange(1, duration * RATE + 1) / (duration * RATE))
