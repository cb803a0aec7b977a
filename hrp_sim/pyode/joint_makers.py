"""Joints of PyODE, made in the order of calls that C has."""

from __future__ import annotations

from typing import Any

import ode

from ..articulation.articulation import JointKind
from .binding import CFM, FMAX, THIRD_ROW, VEL
from .vectors import Vector

Bodies = tuple[Any, Any]


def make_hinge(world: Any, bodies: Bodies, anchor: Vector, axis: Vector) -> Any:
    """Make a hinge."""
    joint = ode.HingeJoint(world)
    joint.attach(*bodies)
    joint.setAnchor(anchor)
    joint.setAxis(axis)
    return joint


def make_slider(world: Any, bodies: Bodies, _anchor: Vector, axis: Vector) -> Any:
    """Make a slider."""
    joint = ode.SliderJoint(world)
    joint.attach(*bodies)
    joint.setAxis(axis)
    return joint


def make_fixed(world: Any, bodies: Bodies, _anchor: Vector, _axis: Vector) -> Any:
    """Make a fixed joint."""
    joint = ode.FixedJoint(world)
    joint.attach(*bodies)
    joint.setFixed()
    return joint


def make_ball(world: Any, bodies: Bodies, anchor: Vector, _axis: Vector) -> Any:
    """Make a ball joint."""
    joint = ode.BallJoint(world)
    joint.attach(*bodies)
    joint.setAnchor(anchor)
    return joint


MAKERS = {
    JointKind.FIXED: make_fixed,
    JointKind.HINGE: make_hinge,
    JointKind.SLIDER: make_slider,
}


def make_motor(world: Any, kind: JointKind, bodies: Bodies, axis: Vector, friction: float) -> Any:
    """Make the rows of a drive, all along the axis and idle; a third one is Coulomb friction."""
    motor = ode.AMotor(world) if kind == JointKind.HINGE else ode.LMotor(world)
    rows = 3 if friction > 0.0 else 2
    motor.attach(*bodies)
    motor.setNumAxes(rows)
    for row in range(rows):
        motor.setAxis(row, 1, axis)
    if rows == 3:
        for number, value in ((VEL, 0.0), (CFM, 0.0), (FMAX, friction)):
            motor.setParam(THIRD_ROW + number, value)
    return motor
