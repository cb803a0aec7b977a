"""Plays a motion file by PD control with torques.

hrp-sim run examples/controllers/pd_motion.yaml
"""

import numpy as np

from hrp_sim import Controller
from hrp_sim.world.motion import load_motion


class PDMotion(Controller):
    """Follows a motion from its start, and then holds its last posture.

    Arguments: ``file``, the path of the motion; ``kp`` and ``kd``, gains by joint name or of all
    joints, in [N m/rad] and [N m s/rad].
    """

    def initialize(self, io):
        self.io = io
        self.motion = load_motion(io.resolve(io.args["file"]))
        self.q = self.motion.for_body(io.model)
        names = [link.joint.name for link in io.model.moving_links]
        self.kp, self.kd = (self.gains(io.args[key], names) for key in ("kp", "kd"))
        io.drive("effort")

    @staticmethod
    def gains(given, names):
        return np.array([given[name] if isinstance(given, dict) else given for name in names])

    def start(self):
        self.begin = self.io.time

    def control(self):
        io, t = self.io, self.io.time - self.begin
        q = self.motion.between(self.q, t)
        dq = (self.motion.between(self.q, t + io.time_step) - q) / io.time_step
        io.effort_target = self.kp * (q - io.q) + self.kd * (dq - io.dq)
        return True

    def save(self):
        return {"begin": self.begin}

    def restore(self, arrays):
        self.begin = float(arrays["begin"])
