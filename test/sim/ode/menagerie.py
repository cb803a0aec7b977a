"""Bodies of every kind that physics knows, to be put into one world."""

import numpy as np
from sim.physics.scenes import (
    FIXED,
    PRISMATIC,
    REVOLUTE,
    TRACK,
    X,
    Y,
    Z,
    at,
    child,
    fixed,
    floor,
    lone,
    moving,
    placed,
    root,
)

from hrp_model.body import Body, ExtraJoint, ExtraJointType, Range
from hrp_model.devices import ForceSensor
from hrp_model.geometry import Box, Cone, Sphere
from hrp_model.rigid import rpy_matrix

BAR = (placed(Box(np.array([0.3, 0.05, 0.05])), at(0.15)),)


def slider_crank():
    """Its loop runs through the base, which cannot move; BUMPER is a shape of the base."""
    links = (
        root(collision=(placed(Sphere(0.05), at(z=-0.3)),)),
        child("BUMPER", "BASE", FIXED, collision=(placed(Cone(0.1, 0.2)),), X_PL=at(0.0, -0.4)),
        child("CRANK", "BASE", REVOLUTE, Z, center_of_mass=0.1 * X),
        child("ROD", "CRANK", REVOLUTE, Z, X_PL=at(0.2), rotor=0.01),
        child("ARM", "BASE", REVOLUTE, X, X_PL=at(0.7), collision=BAR),
    )
    tie = ExtraJoint(
        type=ExtraJointType.PISTON, links=("ROD", "BASE"), X_AJ=at(0.5), X_BJ=at(0.7), axis=X
    )
    return Body(name="crank", links=links, extra_joints=(tie,))


def walker():
    """Limits, efforts that are bounded, a force sensor, a slider, and meshes."""
    cone = (placed(Cone(0.15, 0.3)),)
    links = (
        root(free=True, collision=cone),
        child("THIGH", "BASE", REVOLUTE, Y, X_PL=at(0.1), position=Range(-0.3, 0.5), rotor=0.02),
        child("SHIN", "THIGH", PRISMATIC, X, X_PL=at(0.1), effort=Range(-2.0, 2.0), collision=BAR),
        child("FOOT", "SHIN", FIXED, X_PL=at(0.3), collision=(placed(Sphere(0.06)),)),
    )
    return Body(name="walker", links=links, devices=(ForceSensor(name="f", link="FOOT"),))


def top():
    """A hinge that turns on and on."""
    links = (root(), child("WHEEL", "BASE", REVOLUTE, Z, center_of_mass=0.1 * X, mass=0.5))
    return Body(name="top", links=links)


def tank():
    belt = (placed(Box(np.array([0.6, 0.1, 0.1]))),)
    links = (
        root(free=True, mass=5.0, inertia=np.eye(3) * 0.1),
        child("LEFT", "BASE", TRACK, Y, X_PL=at(y=0.2), collision=belt),
        child("RIGHT", "BASE", TRACK, Y, X_PL=at(y=-0.2), collision=belt),
    )
    return Body(name="tank", links=links)


def placements():
    """Return where everything starts, by name."""
    everything = (
        floor(),
        fixed(slider_crank(), at(0.0, 1.0, 1.0, R=rpy_matrix(0.1, 0.2, 0.3))),
        moving(walker(), at(1.5, 0.0, 0.5), w=np.array([0.0, 0.5, 0.1])),
        fixed(top(), at(0.0, -1.0, 0.5, R=rpy_matrix(0.0, 0.4, 0.0)), dq=np.array([25.0])),
        moving(tank(), at(-1.5, 0.0, 0.06)),
        moving(lone(placed(Cone(0.1, 0.2))), at(1.5, 0.1, 1.0), name="cone"),
        moving(lone(placed(Sphere(0.1))), at(0.1, 1.1, 1.6), name="ball"),
    )
    return {placement.name: placement for placement in everything}


def drive(engine):
    """Drive what is there so that every branch of the drives is taken."""
    bodies = engine.state.bodies
    if "walker" in bodies:
        joints = bodies["walker"].drive
        joints.kp[:], joints.kd[:], joints.q[:] = 300.0, 1.0, 0.4
    if "tank" in bodies:
        bodies["tank"].drive.track_speed[1:] = 0.3, 0.5
    if "crank" in bodies:
        bodies["crank"].drive.effort[0] = 0.3
