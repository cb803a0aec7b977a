"""Joints, their drives, and extra joints that close kinematic loops."""

from __future__ import annotations

from abc import ABC, abstractmethod
from math import inf, pi
from typing import ClassVar

import numpy as np
import ode

from hrp_model.kinematics.arrays import cross
from hrp_model.rigid import Array, Pose

from ..articulation.articulation import STATIC, JointKind, Joints, LoopKind, Loops
from ..state import JointDrive

# Joint parameters of ODE 0.16: PyODE's own constants are those of an older version.
_LO_STOP, _HI_STOP, _VELOCITY, _MAX_FORCE, _CFM = 0, 1, 2, 5, 8
# Replaces the missing limit of a one-sided effort range, in [N m] or [N].
_UNBOUNDED = 1e6


class Joint:
    """A fixed joint between a group and another, or the world.

    Attributes:
        link: Index of the link that it moves.
        child: Index of the group of this link.
    """

    def __init__(self, world: ode.World, flat: Joints, j: int, groups: list[ode.Body]) -> None:
        self.link, self.child = int(flat.link[j]), int(flat.child[j])
        parent = int(flat.parent[j])
        self._child = groups[self.child]
        self._parent = None if parent == STATIC else groups[parent]
        self._joint = self._make(world, flat.anchor[j].tolist(), flat.axis[j].tolist())
        self._joint.setFeedback(True)

    def wrench(self) -> Array:
        """Return the force and torque on the child in the last step, about its mass centre.

        Both in W, in [N] and [N m], shape (2, 3).
        """
        return _exerted(self._joint)

    def _make(self, world: ode.World, _anchor: list[float], _axis: list[float]) -> ode.Joint:
        joint = ode.FixedJoint(world)
        joint.attach(self._child, self._parent)
        joint.setFixed()
        return joint


class DrivenJoint(Joint, ABC):
    """A joint with one degree of freedom, its friction, and the motor that drives it.

    Motors are ODE joints of their own, because a powered joint exerts infinite forces at its
    stop. Each is one row that keeps v' + softness * force = target with a bounded force, where v'
    is the rate at the end of the step: one for what always resists (rotor and damping), one for
    the drive, one for Coulomb friction.

    Attributes:
        coordinate: Index in the joint vectors.
        q, dq: Position and velocity, in [rad] or [m].
        effort: Of the drive in the last step, in [N m] or [N].
    """

    _motor_type: ClassVar[type]
    _effort_part: ClassVar[int]  # of a wrench: 0 where efforts are forces, 1 where torques

    def __init__(self, world: ode.World, flat: Joints, j: int, groups: list[ode.Body]) -> None:
        super().__init__(world, flat, j, groups)
        axis = flat.axis[j].tolist()
        self.coordinate = int(flat.coordinate[j])
        self.q = self.dq = self.effort = 0.0
        self._range = float(flat.lower[j]), float(flat.upper[j])
        self._effort_range = float(flat.effort_lower[j]), float(flat.effort_upper[j])
        self._rotor_inertia, self._damping = float(flat.rotor_inertia[j]), float(flat.damping[j])
        self._stiffness, self._rest = float(flat.stiffness[j]), float(flat.rest[j])
        self._along = np.zeros(3)  # the axis in W
        self._drift = 0.0  # how much more than a motor's rate dq changed in the last step
        self._applied = 0.0  # part of the effort in that step that the motor did not exert
        self._wrench = np.zeros((2, 3))  # on the child by this part and the spring, in W
        self._resistance, self._drive, self._friction = (
            self._make_motor(world, axis) for _ in range(3)
        )
        # Zero softness, so that a sticking joint does not creep.
        _set_row(self._friction, 0.0, 0.0, float(flat.friction[j]))
        self._pushing: list[ode.Joint] = []  # ODE updates the feedback of these in the next step
        self._always_pushing = [self._friction] if flat.friction[j] > 0.0 else []

    def place(self, q: float) -> None:
        """Read q, the one nearest to this value, and dq, after the body was placed."""
        self._drift = 0.0
        self._read(q)

    def prepare(self, drive: JointDrive, step: float) -> None:
        """Set up the motors for the next step, of length h.

        With J the rotor inertia, d the damping and D = kd + kp h, the drive's effort is
        base - D v', where base = effort + kp (q_ref - q) + kd dq_ref. The rotor resists with
        J (v' - v) / h, the damping with d v'. With the softness 1 / K a row exerts
        K (target - v'); so both rows are stable for any gains. ODE takes v' in the posture at the
        start of the step; the rate at its end is taken to differ from it as in the last step.

        The bounds of a row are symmetric, so the middle of the effort range is applied directly,
        as is an effort without gains.
        """
        i, (lower, upper) = self.coordinate, self._effort_range
        kp, kd = float(drive.kp[i]), float(drive.kd[i])
        base = float(drive.effort[i] + kp * (drive.q[i] - self.q) + kd * drive.dq[i])
        rotor, D = self._rotor_inertia / step, kd + kp * step
        K, bound = rotor + self._damping, inf
        self._applied = 0.0
        if D == 0.0:
            self._applied, bound = float(np.clip(base, lower, upper)), 0.0
        elif lower > -inf or upper < inf:
            lower = lower if lower > -inf else upper - _UNBOUNDED
            upper = upper if upper < inf else lower + _UNBOUNDED
            self._applied, bound = (lower + upper) / 2.0, (upper - lower) / 2.0
        push = rotor * self.dq - K * self._drift
        _set_row(self._resistance, push, K, inf if K > 0.0 else 0.0)
        _set_row(self._drive, base - self._applied - D * self._drift, D, bound)
        self._pushing = list(self._always_pushing)
        self._pushing += [self._resistance] if K > 0.0 else []
        self._pushing += [self._drive] if bound > 0.0 else []
        self._wrench = self._apply(self._applied + self._stiffness * (self._rest - self.q))

    def finish(self, step: float) -> None:
        """Read q, dq and the effort of the drive after a step of this length."""
        is_on = self._drive in self._pushing
        motor = float(self._along @ _exerted(self._drive)[self._effort_part]) if is_on else 0.0
        self.effort = float(np.clip(self._applied + motor, *self._effort_range))
        rate = self._rate()
        self._read(self.q + step * self.dq)
        self._drift = self.dq - rate

    def wrench(self) -> Array:
        """Return the force and torque on the child, including efforts applied directly."""
        return super().wrench() + self._wrench + sum(map(_exerted, self._pushing))

    def _make_motor(self, world: ode.World, axis: list[float]) -> ode.Joint:
        """Create a motor along the joint's axis, which is off."""
        motor = self._motor_type(world)
        motor.attach(self._child, self._parent)
        motor.setFeedback(True)
        motor.setNumAxes(1)
        motor.setAxis(0, 1, axis)  # 1: fixed to the child
        return motor

    def _set_stops(self, turned: float) -> None:
        self._joint.setParam(_LO_STOP, self._range[0] - turned)
        self._joint.setParam(_HI_STOP, self._range[1] - turned)

    @abstractmethod
    def _read(self, expected: float) -> None:
        """Read the posture, q, the one nearest to an expected value, and dq; set the stops."""

    @abstractmethod
    def _rate(self) -> float:
        """Return the present rate along the axis in the posture that was read last."""

    @abstractmethod
    def _apply(self, effort: float) -> Array:
        """Apply an effort to the child, as the motor would, and the opposite one to the parent.

        Returns:
            Force and torque on the child about its mass centre, in W, shape (2, 3).
        """


class Hinge(DrivenJoint):
    """A revolute joint; q is not limited to +-pi."""

    _motor_type, _effort_part = ode.AMotor, 1

    def _read(self, expected: float) -> None:
        self._along = np.array(self._joint.getAxis())
        angle = float(self._joint.getAngle())  # within +-pi, as the stops that ODE compares it with
        turned = 2.0 * pi * round((expected - angle) / (2.0 * pi))
        self._set_stops(turned)
        self.q, self.dq = angle + turned, self._rate()

    def _rate(self) -> float:
        w = np.array(self._child.getAngularVel())
        if self._parent is not None:
            w = w - self._parent.getAngularVel()
        return float(self._along @ w)

    def _make(self, world: ode.World, anchor: list[float], axis: list[float]) -> ode.Joint:
        joint = ode.HingeJoint(world)
        joint.attach(self._child, self._parent)
        joint.setAnchor(anchor)
        joint.setAxis(axis)
        return joint

    def _apply(self, effort: float) -> Array:
        self._joint.addTorque(effort)
        return np.array([np.zeros(3), self._along * effort])


class Slider(DrivenJoint):
    """A prismatic joint."""

    _motor_type, _effort_part = ode.LMotor, 0

    def _read(self, _expected: float) -> None:
        self._along = np.array(self._joint.getAxis())
        self._arm = np.zeros(3)  # from the child to midway between both mass centres, where ODE's
        if self._parent is not None:  # motor pushes
            self._arm = np.subtract(self._parent.getPosition(), self._child.getPosition()) / 2.0
        self._set_stops(0.0)
        self.q, self.dq = float(self._joint.getPosition()), self._rate()

    def _rate(self) -> float:
        v, parent = np.array(self._child.getLinearVel()), self._parent
        if parent is not None:  # ODE's own rate neglects that the axis turns
            w = np.array(self._child.getAngularVel()) + parent.getAngularVel()
            v = v - parent.getLinearVel() + cross(w, self._arm)
        return float(self._along @ v)

    def _make(self, world: ode.World, _anchor: list[float], axis: list[float]) -> ode.Joint:
        joint = ode.SliderJoint(world)
        joint.attach(self._child, self._parent)
        joint.setAxis(axis)
        return joint

    def _apply(self, effort: float) -> Array:
        self._joint.addForce(effort)
        force = self._along * effort
        return np.array([force, cross(self._arm, force)])


JOINTS = {JointKind.FIXED: Joint, JointKind.HINGE: Hinge, JointKind.SLIDER: Slider}
LOOP_JOINTS = {
    LoopKind.BALL: ode.BallJoint,
    LoopKind.HINGE: ode.HingeJoint,
    LoopKind.FIXED: ode.FixedJoint,
}


def make_loop(world: ode.World, loops: Loops, i: int, groups: list[ode.Body]) -> ode.Joint:
    """Create an extra joint between groups in the initial posture.

    ODE takes the relative pose at creation as the closed one, so one group is moved there
    temporarily. The joint then corrects an initial gap.
    """
    a, b = (None if g == STATIC else groups[g] for g in (loops.a[i], loops.b[i]))
    X_AJ, X_BJ = Pose(loops.R_a[i], loops.p_a[i]), Pose(loops.R_b[i], loops.p_b[i])
    if b is None:
        a, b, X_AJ, X_BJ = b, a, X_BJ, X_AJ
    X_WJ = X_AJ if a is None else _pose(a) @ X_AJ
    initial, closed = _pose(b), X_WJ @ X_BJ.inverse()
    _place(b, closed)
    kind = LoopKind(int(loops.kind[i]))
    joint = LOOP_JOINTS[kind](world)
    joint.attach(b, a)
    if kind is LoopKind.FIXED:
        joint.setFixed()
    else:
        joint.setAnchor(X_WJ.p.tolist())
    if kind is LoopKind.HINGE:
        joint.setAxis((X_WJ.R @ loops.axis[i]).tolist())
    _place(b, initial)
    return joint


def _pose(group: ode.Body) -> Pose:
    return Pose(np.array(group.getRotation()).reshape(3, 3), np.array(group.getPosition()))


def _place(group: ode.Body, X_WG: Pose) -> None:
    group.setRotation(X_WG.R.ravel().tolist())
    group.setPosition(X_WG.p.tolist())


def _exerted(joint: ode.Joint) -> Array:
    """Return the force and torque of an ODE joint on its first body, in W, shape (2, 3)."""
    return np.array(joint.getFeedback()[:2])


def _set_row(motor: ode.Joint, push: float, gain: float, bound: float) -> None:
    """Let a motor exert push - gain * v', within +-bound; without a gain it holds v' = 0."""
    motor.setParam(_VELOCITY, push / (gain or 1.0))
    motor.setParam(_CFM, 1.0 / gain if gain else 0.0)
    motor.setParam(_MAX_FORCE, bound)
