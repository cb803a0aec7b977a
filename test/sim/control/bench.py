"""A controller with the arrays around it, and no physics."""

import numpy as np

from hrp_model import Body, Joint, JointType, Link, Range
from hrp_sim.control import HOLD, BodyController, CommandCounts, JointCommand
from hrp_sim.engine.state import SimulatedBody

INITIAL = np.array([0.1, 0.2, 0.3])
STEP_NS = 1_000_000
STEP = 1e-9 * STEP_NS
FAST = 2.0  # speed limit of joint B, in [rad/s]
A, B, C = range(3)
TRACK = 3  # index among the links
NS = 10**9


def robot():
    """Joints A, B (limited in speed) and C, and a track T between them."""

    def link(name, joint_type, **joint):
        parent = None if name == "BASE" else "BASE"
        return Link(
            name=f"{name}_LINK",
            parent=parent and "BASE_LINK",
            joint=Joint(type=joint_type, name=name, **joint),
            mass=1.0,
            inertia=np.eye(3),
        )

    return Body(
        name="model",
        links=(
            link("BASE", JointType.FIXED),
            link("A", JointType.REVOLUTE),
            link("B", JointType.REVOLUTE, velocity=Range(-FAST, 3.0 * FAST)),
            link("T", JointType.TRACK),
            link("C", JointType.PRISMATIC),
        ),
    )


BODY = robot()


class Bench:
    """A controller whose joints are wherever a test puts them, or follow without fail.

    Args:
        follows: Whether joints are at the end of each step where they are asked to be.
    """

    def __init__(self, settings=HOLD, body=BODY, q=INITIAL, *, follows=False):
        self.simulated = SimulatedBody.at_rest("r1", body)
        self.drive, self.motion = self.simulated.drive, self.simulated.motion
        self.motion.q[:] = q
        self.time_ns = 0
        self.follows = follows
        self.counts = CommandCounts()
        self.controller = BodyController(
            self.simulated, settings, q, fixed=True, counts=self.counts
        )

    def command(self, *names, **columns):
        self.give(JointCommand(names, **columns))

    def give(self, command):
        self.controller.apply(command, self.time_ns)

    def run(self, steps=1):
        for _ in range(steps):
            self.controller.update(self.time_ns, STEP_NS)
            if self.follows:
                self.motion.q[:] = self.drive.q
                self.motion.dq[:] = self.drive.dq
            self.time_ns += STEP_NS
            self.controller.check_trajectories(self.time_ns)
