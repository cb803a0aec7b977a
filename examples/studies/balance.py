"""Keeps a humanoid upright by its ankles and hips, without a step.

hrp-sim study examples/studies/pushed_humanoid.yaml --out pushed
"""

import numpy as np

from hrp_sim import Controller

GRAVITY = 9.81  # [m/s^2]


class Balance(Controller):
    """Leans against a fall: the ankles press the ground, the hips swing the trunk.

    The fall is measured by the capture point, where the robot would have to step to stop: its
    distance from the middle of the feet.

    Arguments: ``ankles`` and ``hips``, gains in [rad/m].
    """

    def initialize(self, io):
        self.io = io
        self.stance = io.q.copy()
        links = io.model.links
        self.mass = np.array([link.mass for link in links])
        self.center = np.array([link.center_of_mass for link in links])
        self.feet = [io.link(f"{side}LEG_ANKLE_R") for side in "LR"]
        self.moves = np.zeros((2, len(io.q)))  # of the joints, by forward and leftward falls
        for side in "LR":
            for joint, pitch, roll in (
                ("ANKLE", io.args["ankles"], -io.args["ankles"]),
                ("HIP", -io.args["hips"], io.args["hips"]),
            ):
                self.moves[0, io.joint(f"{side}LEG_{joint}_P")] = pitch
                self.moves[1, io.joint(f"{side}LEG_{joint}_R")] = roll
        io.drive("position")

    def control(self):
        self.io.q_target = self.stance + self.capture_point() @ self.moves
        return True

    def capture_point(self):
        """Return where the robot would have to step, from the middle of its feet, in [m]."""
        motion, share = self.io.motion, self.mass / self.mass.sum()
        lever = np.einsum("nij,nj->ni", motion.R, self.center)
        center = share @ (motion.p + lever)
        velocity = share @ (motion.v + np.cross(motion.w, lever))
        feet = motion.p[self.feet].mean(axis=0)
        time = np.sqrt(max(center[2] - feet[2], 0.1) / GRAVITY)
        return (center - feet + time * velocity)[:2]

    def save(self):
        return {}

    def restore(self, arrays):
        pass
