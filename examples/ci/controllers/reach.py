"""Moves the arm to a posture and holds it there, by torques."""

import numpy as np

from hrp_model import BodyState
from hrp_sim import Controller

STIFFNESS = np.array([400.0, 150.0])  # [N m/rad]
DAMPING = np.array([30.0, 8.0])  # [N m s/rad]


class Reach(Controller):
    """PD control around a smooth path, with the weight of the arm compensated.

    Arguments: ``goal`` of both joints, in [rad]; ``seconds``, the time to reach it.
    """

    def initialize(self, io):
        self.io, self.state = io, BodyState(io.model)
        self.goal, self.seconds = np.array(io.args["goal"]), io.args["seconds"]
        io.drive("effort")

    def start(self):
        self.begin = self.io.q.copy()

    def control(self):
        io, state = self.io, self.state
        share = min(io.time / self.seconds, 1.0)
        target = self.begin + share**2 * (3.0 - 2.0 * share) * (self.goal - self.begin)
        state.q = io.q
        state.calc_forward_kinematics()
        weight = state.gravity_torque()
        io.effort_target = STIFFNESS * (target - io.q) - DAMPING * io.dq + weight
        return True
