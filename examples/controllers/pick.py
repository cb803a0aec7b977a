"""An arm picks a box from one place and puts it down at another, by inverse kinematics.

hrp-sim run examples/controllers/pick.yaml
"""

from math import atan2

import numpy as np

from hrp_model import BodyState
from hrp_model.rigid import rpy_matrix
from hrp_sim import Controller

MOVE = 1.0  # duration of each movement, in [s]
CLEARANCE = 0.15  # height of the hand above the box between movements, in [m]
REACH = 0.14  # from the origin of the hand to the middle of a box between the fingers, in [m]
OPEN, CLOSED = 0.0, 0.04  # of the fingers, in [m]


class Pick(Controller):
    """Moves a box.

    Arguments: ``start`` and ``goal``, where its middle is and where it shall be, in [m].
    """

    def initialize(self, io):
        self.io = io
        start, goal = (np.array(io.args[key], dtype=float) for key in ("start", "goal"))
        above = np.array([0.0, 0.0, CLEARANCE])
        self.state = BodyState(io.model)
        self.state.q = io.q
        self.postures = [
            io.q.copy(),
            self.posture(start + above, OPEN),
            self.posture(start, OPEN),
            self.posture(start, CLOSED),
            self.posture(start + above, CLOSED),
            self.posture(goal + above, CLOSED),
            self.posture(goal, CLOSED),
            self.posture(goal, OPEN),
            self.posture(goal + above, OPEN),
        ]
        io.drive("position")

    def posture(self, middle, fingers):
        """Return the joint positions with the hand pointing down at the middle of a box."""
        state, arm = self.state, self.state.joint_path("BASE", "HAND")
        state.calc_forward_kinematics()
        R = rpy_matrix(0.0, np.pi, 0.0)
        hand = middle + np.array([0.0, 0.0, REACH])
        if not arm.calc_inverse_kinematics(hand, rpy_matrix(0, 0, atan2(*middle[1::-1])) @ R):
            raise ValueError(f"the hand cannot reach {middle}")
        q = state.q.copy()
        q[-2:] = fingers
        return q

    def start(self):
        self.begin = self.io.time

    def control(self):
        k, part = divmod((self.io.time - self.begin) / MOVE, 1.0)
        if k + 1 >= len(self.postures):
            return False
        before, after = self.postures[int(k) : int(k) + 2]
        self.io.q_target = before + (0.5 - 0.5 * np.cos(np.pi * part)) * (after - before)
        return True

    def save(self):
        return {"begin": self.begin}

    def restore(self, arrays):
        self.begin = float(arrays["begin"])
