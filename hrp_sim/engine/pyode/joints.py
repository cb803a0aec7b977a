"""Joints, their drives, and extra joints that close kinematic loops."""

from __future__ import annotations

from abc import ABC, abstractmethod
from math import inf, isfinite, pi
from typing import ClassVar

import numpy as np
import ode

from hrp_model.kinematics.arrays import cross
from hrp_model.rigid import Array, Pose

from ..articulation.articulation import STATIC, JointKind, Joints, LoopKind, Loops
from ..state import JointDrive
from .groups import GroupStates

# Joint parameters of ODE 0.16: PyODE's own constants are those of an older version.
_LO_STOP, _HI_STOP, _VELOCITY, _MAX_FORCE, _CFM = 0, 1, 2, 5, 8
_SECOND_ROW = 256
# Replaces the missing limit of a one-sided effort range, in [N m] or [N].
_UNBOUNDED = 1e6


class Joint:
    """A fixed joint between a group and another, or the world.

    Attributes:
        link: Index of the link that it moves.
        child: Index of the group of this link.
        parent: Index of the other group, or STATIC.
    """

    def __init__(self, world: ode.World, flat: Joints, j: int, groups: list[ode.Body]) -> None:
        self.link, self.child = int(flat.link[j]), int(flat.child[j])
        self.parent = int(flat.parent[j])
        self._child = groups[self.child]
        self._parent = None if self.parent == STATIC else groups[self.parent]
        self._joint = self._make(world, flat.anchor[j].tolist(), flat.axis[j].tolist())
        self._joint.setFeedback(True)
        # ODE joints that transmit forces in the current step.
        self._transmitting = [self._joint]

    def wrench(self, R_WG: Array, p_GL: Array) -> Array:
        """Return the force and torque on the link in the last step, about its origin.

        Args:
            R_WG: Rotation of the child in the middle of the step.
            p_GL: Origin of the link in the frame of the child, at its mass centre.

        Returns:
            Both in the frame of the child, in [N] and [N m], shape (2, 3).
        """
        wrenches = [joint.getFeedback()[:2] for joint in self._transmitting]
        total: Array = np.sum(wrenches, axis=0) @ R_WG  # R_WG^T v for each
        total[1] -= cross(p_GL, total[0])
        return total

    def _make(self, world: ode.World, _anchor: list[float], _axis: list[float]) -> ode.Joint:
        joint = ode.FixedJoint(world)
        joint.attach(self._child, self._parent)
        joint.setFixed()
        return joint


class DrivenJoint(Joint, ABC):
    """A joint with one degree of freedom, its friction, and the motor that drives it.

    The motor is a separate ODE joint, because a powered joint exerts infinite forces at its stop.
    Coulomb friction is one, too: a motor of zero velocity and limited force.

    Attributes:
        coordinate: Index in the joint vectors.
        q, dq: Position and velocity, in [rad] or [m].
        turns: Whole turns by which q differs from ODE's angle.
        effort: Of the drive in the last step, in [N m] or [N].
        has_effort_range: Whether the effort has a limit.
    """

    _motor_type: ClassVar[type]
    _effort_part: ClassVar[int]  # of a wrench: 0 where efforts are forces, 1 where torques

    def __init__(self, world: ode.World, flat: Joints, j: int, groups: list[ode.Body]) -> None:
        super().__init__(world, flat, j, groups)
        anchor, axis = flat.anchor[j].tolist(), flat.axis[j].tolist()
        self._axis = self._child.vectorFromWorld(axis)
        self._anchor = self._child.getPosRelPoint(anchor)
        self._parent_anchor = self._parent.getPosRelPoint(anchor) if self._parent else anchor
        self.coordinate = int(flat.coordinate[j])
        self.q = self.dq = self.effort = self._applied = 0.0
        self._q_middle = self._drift = self._dq_next = 0.0
        self.turns = 0
        self._lower, self._upper = float(flat.lower[j]), float(flat.upper[j])
        self._effort_lower = float(flat.effort_lower[j])
        self._effort_upper = float(flat.effort_upper[j])
        self.has_effort_range = isfinite(self._effort_lower) or isfinite(self._effort_upper)
        self._rotor_inertia, self._damping = float(flat.rotor_inertia[j]), float(flat.damping[j])
        self._stiffness, self._rest = float(flat.stiffness[j]), float(flat.rest[j])
        self._spring = 0.0
        self._base = self._gain = self._passive = self._momentum = 0.0  # of the next step
        self._motor = self._make_motor(world, axis, rows=2)
        if flat.friction[j] > 0.0:
            friction = self._make_motor(world, axis, rows=1)
            # Zero softness, so that a sticking joint does not creep.
            _set_row(friction, 0, 0.0, 0.0, float(flat.friction[j]))
            self._transmitting.append(friction)
        self._always_transmitting = self._transmitting

    @abstractmethod
    def rate(self, state: GroupStates) -> float:
        """Return the velocity that a row of the motor constrains."""

    @abstractmethod
    def position(self, expected: float) -> float:
        """Return the position, the one nearest to an expected one, and set the stops."""

    def read(self, state: GroupStates) -> None:
        """Read q and dq after the body was placed."""
        self.q, self.dq = self.position(self.q), self.rate(state)

    def move_to_middle(self, start: GroupStates, middle: GroupStates, half: float) -> None:
        """Read the position in the middle of a step; the body moved freely for half of it.

        Rotors and drives refer to the rate at the end of the step, which is taken to differ from
        that in the middle by as much as the one at the start does.
        """
        self._drift = self.rate(middle) - self.rate(start)
        self._q_middle = self.position(self.q + half * self.dq)

    def finish(self, half: float) -> None:
        """Read q and dq at the end of the step."""
        self.dq = self._dq_next
        self.q = self.position(self._q_middle + half * self.dq)

    def drive(self, drive: JointDrive, step: float, *, is_bounded: bool) -> None:
        """Set up the motor for the next step, of length h.

        With J the rotor inertia, d the damping and D = kd + kp h, the drive's effort is
        base - D v', where base = effort + kp (q_ref - q) + kd dq_ref and q is the position in the
        middle of the step. The rotor resists with J (v' - v) / h, the damping with d v'. A row of
        a motor with the softness 1 / K keeps v' + force / K = target, so the sum of the three is
        one row,

            force = (J/h v + base) - K v',   K = J/h + d + D,

        stable for any gains. To keep the effort, but not the passive terms, within its range, two
        rows are used: an unbounded one with K = J/h + d, and a bounded one with K = D. The bounds
        of a row are symmetric, so the middle of the range is applied directly, as is an effort
        without gains.

        Args:
            drive: Of the body.
            step: Its length h, in [s].
            is_bounded: Whether to keep the effort within its range.
        """
        i, lower, upper = self.coordinate, self._effort_lower, self._effort_upper
        kp, kd = float(drive.kp[i]), float(drive.kd[i])
        base = float(drive.effort[i] + kp * (drive.q[i] - self._q_middle) + kd * drive.dq[i])
        rotor, D = self._rotor_inertia / step, kd + kp * step
        passive, momentum = rotor + self._damping, rotor * self.dq
        self._base, self._gain, self._passive, self._momentum = base, D, passive, momentum
        K, target, bound, self._applied = passive, momentum, 0.0, 0.0
        if D == 0.0:
            self._applied = float(np.clip(base, lower, upper))
        elif is_bounded:
            lower = lower if isfinite(lower) else upper - _UNBOUNDED
            upper = upper if isfinite(upper) else lower + _UNBOUNDED
            self._applied, bound = (lower + upper) / 2.0, (upper - lower) / 2.0
        else:
            K, target = passive + D, momentum + base
        _set_row(
            self._motor, 0, target / (K or 1.0) - self._drift, 1.0 / (K or 1.0), inf if K else 0.0
        )
        target = (base - self._applied) / (D or 1.0) - self._drift
        _set_row(self._motor, _SECOND_ROW, target, 1.0 / (D or 1.0), bound)
        self._spring = self._stiffness * (self._rest - self._q_middle)
        is_on = K > 0.0 or bound > 0.0  # else ODE does not update its feedback
        self._transmitting = self._always_transmitting + ([self._motor] if is_on else [])
        if self._applied + self._spring != 0.0:
            self._apply(self._applied + self._spring)

    def measure(self, after: GroupStates) -> bool:
        """Compute the effort of the drive in the last attempt at a step.

        The force of the motor gives the rate v' at the end of the step, and this the effort.

        Args:
            after: States in the middle of the step, with the resulting velocities.

        Returns:
            Whether the drive left the effort range; ``effort`` is clipped to it.
        """
        self._dq_next = self.rate(after) + self._drift
        effort, D = self._applied, self._gain
        if D > 0.0:
            exerted = self._motor.getFeedback()[self._effort_part]
            total = self._applied + float(after.R[self.child] @ self._axis @ exerted)
            rate = (self._momentum + self._base - total) / (self._passive + D)
            effort = self._base - D * rate
        self.effort = float(np.clip(effort, self._effort_lower, self._effort_upper))
        return self.effort != effort

    def wrench(self, R_WG: Array, p_GL: Array) -> Array:
        """Return the force and torque on the link, including efforts applied directly."""
        total = super().wrench(R_WG, p_GL)
        total[self._effort_part] += np.multiply(self._axis, self._applied + self._spring)
        return total

    def _make_motor(self, world: ode.World, axis: list[float], *, rows: int) -> ode.Joint:
        """Create a motor whose rows are along the joint's axis, and off."""
        motor = self._motor_type(world)
        motor.attach(self._child, self._parent)
        motor.setFeedback(True)
        motor.setNumAxes(rows)
        for row in range(rows):
            motor.setAxis(row, 1, axis)  # 1: fixed to the child
        return motor

    def _set_stops(self, lower: float, upper: float) -> None:
        self._joint.setParam(_LO_STOP, lower)
        self._joint.setParam(_HI_STOP, upper)

    @abstractmethod
    def _apply(self, effort: float) -> None:
        """Apply an effort to the child, and the opposite one to the parent."""


class Hinge(DrivenJoint):
    """A revolute joint; q is not limited to +-pi."""

    _motor_type, _effort_part = ode.AMotor, 1

    def rate(self, state: GroupStates) -> float:
        """Return the velocity that a row of the motor constrains."""
        w = state.w[self.child]
        if self.parent != STATIC:
            w = w - state.w[self.parent]
        return float(state.R[self.child] @ self._axis @ w)

    def position(self, expected: float) -> float:
        """Return the position, and set the stops, which ODE compares with an angle within +-pi."""
        angle = float(self._joint.getAngle())
        self.turns = round((expected - angle) / (2.0 * pi))
        turned = 2.0 * pi * self.turns
        self._set_stops(self._lower - turned, self._upper - turned)
        return angle + turned

    def _make(self, world: ode.World, anchor: list[float], axis: list[float]) -> ode.Joint:
        joint = ode.HingeJoint(world)
        joint.attach(self._child, self._parent)
        joint.setAnchor(anchor)
        joint.setAxis(axis)
        return joint

    def _apply(self, effort: float) -> None:
        self._joint.addTorque(effort)


class Slider(DrivenJoint):
    """A prismatic joint."""

    _motor_type, _effort_part = ode.LMotor, 0

    def rate(self, state: GroupStates) -> float:
        """Return the velocity that a row of the motor constrains.

        ODE's own slider rate neglects that the axis turns; the row takes the mean rotation.
        """
        child, parent = self.child, self.parent
        axis, v = state.R[child] @ self._axis, state.v[child]
        if parent != STATIC:
            mean = (state.w[child] + state.w[parent]) / 2.0
            v = v - state.v[parent] - cross(mean, state.p[child] - state.p[parent])
        return float(axis @ v)

    def position(self, _expected: float) -> float:
        """Return the position, and set the stops."""
        start = self._parent_anchor
        if self._parent:
            start = self._parent.getRelPointPos(start)
        offset = np.subtract(self._child.getRelPointPos(self._anchor), start)
        self._set_stops(self._lower, self._upper)
        return float(offset @ self._child.vectorToWorld(self._axis))

    def _make(self, world: ode.World, _anchor: list[float], axis: list[float]) -> ode.Joint:
        joint = ode.SliderJoint(world)
        joint.attach(self._child, self._parent)
        joint.setAxis(axis)
        return joint

    def _apply(self, effort: float) -> None:
        force = np.multiply(self._child.vectorToWorld(self._axis), effort)
        point = self._child.getRelPointPos(self._anchor)
        self._child.addForceAtPos(force.tolist(), point)
        if self._parent:
            self._parent.addForceAtPos((-force).tolist(), point)


JOINTS = {JointKind.FIXED: Joint, JointKind.HINGE: Hinge, JointKind.SLIDER: Slider}
LOOP_JOINTS = {
    LoopKind.BALL: ode.BallJoint,
    LoopKind.HINGE: ode.HingeJoint,
    LoopKind.FIXED: ode.FixedJoint,
}


def make_loop(world: ode.World, loops: Loops, i: int, groups: list[ode.Body]) -> ode.Joint:
    """Create an extra joint between groups in the initial posture."""
    a, b = (None if g == STATIC else groups[g] for g in (loops.a[i], loops.b[i]))
    X_AJ, X_BJ = Pose(loops.R_a[i], loops.p_a[i]), Pose(loops.R_b[i], loops.p_b[i])
    return make_extra_joint(
        world, LoopKind(int(loops.kind[i])), (a, X_AJ), (b, X_BJ), loops.axis[i]
    )


def make_extra_joint(
    world: ode.World,
    kind: LoopKind,
    end_a: tuple[ode.Body, Pose],
    end_b: tuple[ode.Body, Pose],
    axis_J: Array,
) -> ode.Joint:
    """Create an extra joint between groups.

    ODE takes the relative pose at creation as the closed one, so one group is moved there
    temporarily. The joint then corrects an initial gap.

    Args:
        world: Of PyODE.
        kind: Its type, one of ``LOOP_JOINTS``.
        end_a: A group, or None for the world, with the pose of the joint's frame J in it.
        end_b: Likewise.
        axis_J: Its axis in J, shape (3,).
    """
    (a, X_AJ), (b, X_BJ) = end_a, end_b
    R, p, R_GJ, p_GJ = X_AJ.R, X_AJ.p, X_BJ.R, X_BJ.p
    if b is None:
        a, b, R, p, R_GJ, p_GJ = b, a, R_GJ, p_GJ, R, p
    if a is not None:
        R_WA = np.array(a.getRotation()).reshape(3, 3)
        R, p = R_WA @ R, a.getPosition() + R_WA @ p
    p_initial, R_initial = b.getPosition(), b.getRotation()
    R_WB = R @ R_GJ.T
    b.setRotation(R_WB.ravel().tolist())
    b.setPosition((p - R_WB @ p_GJ).tolist())
    joint = LOOP_JOINTS[kind](world)
    joint.attach(b, a)
    if kind is LoopKind.FIXED:
        joint.setFixed()
    else:
        joint.setAnchor(p.tolist())
    if kind is LoopKind.HINGE:
        joint.setAxis((R @ axis_J).tolist())
    b.setPosition(p_initial)
    b.setRotation(R_initial)
    return joint


def _set_row(motor: ode.Joint, row: int, target: float, softness: float, bound: float) -> None:
    """Set a row of a motor: velocity + softness * force = target, |force| <= bound."""
    motor.setParam(row + _VELOCITY, target)
    motor.setParam(row + _CFM, softness)
    motor.setParam(row + _MAX_FORCE, bound)
