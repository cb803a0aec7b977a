"""A world made by hand: no engine, every number chosen."""

import numpy as np

from hrp_model import Body, Joint, JointType, Link, Pose
from hrp_model.rigid import axis_angle_matrix
from hrp_sim.engine.state import SimulatedBody, WorldState

GRAVITY = np.array([0.0, 0.0, -9.80665])
TIME_NS = 1_234_567_890
BASE, ARM = 0, 1


def random_rotation(rng):
    axis = rng.normal(size=3)
    return axis_angle_matrix(axis / np.linalg.norm(axis), rng.uniform(-3.0, 3.0))


def random_pose(rng):
    return Pose(random_rotation(rng), rng.uniform(-1.0, 1.0, 3))


def arm_body(*devices, root=JointType.FREE, visual=()):
    """Two links, BASE and ARM, with a hinge between them."""
    return Body(
        name="robot",
        links=(
            Link(name="BASE", parent=None, joint=Joint(type=root, name="BASE")),
            Link(
                name="ARM",
                parent="BASE",
                joint=Joint(type=JointType.REVOLUTE, name="SHOULDER", id=0),
                visual=visual,
            ),
        ),
        devices=devices,
    )


def simulated(body, name="r1"):
    return SimulatedBody.at_rest(name, body)


def world_of(*bodies):
    return WorldState(TIME_NS, {b.name: b for b in bodies})


def arm_world(*devices, **motion):
    """A world of one robot 'r1', the motion of whose ARM is given by field name."""
    robot = simulated(arm_body(*devices))
    for name, value in motion.items():
        getattr(robot.motion, name)[ARM] = value
    return world_of(robot)
