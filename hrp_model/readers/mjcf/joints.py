"""Joints of a compiled model: chains of joints, limits, actuators, and mimic joints.

Mimic joints are linear relations of joint positions.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from functools import cached_property
from math import inf, isclose, isfinite
from typing import Any

import mujoco
import numpy as np

from ...body import UNLIMITED, Joint, JointType, Range
from ...diagnostics import Diagnostics
from ...frames import add_unique
from ...late_dataclass import dataclass
from ...rigid import Array, Pose, axis_angle_matrix
from ..joints import ball_hinges, resistance
from .compiler import Compiled, optional_row, titled

# As integers: numpy's do not equal those of the enumerations.
_HINGE, _SLIDE = int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE)
_BALL = int(mujoco.mjtJoint.mjJNT_BALL)
_FIXED_GAIN = mujoco.mjtGain.mjGAIN_FIXED
_AFFINE, _NONE = mujoco.mjtBias.mjBIAS_AFFINE, mujoco.mjtBias.mjBIAS_NONE


@dataclass(frozen=True)
class Line:
    """A position as slope * leader's + offset.

    Attributes:
        leader: Index of the leading joint.
        slope, offset: In [rad] or [m] of the joint, per that of the leader.
    """

    leader: int
    slope: float
    offset: float


class Followers:
    """Joints whose positions are linear functions of each other's.

    Any joint of a train may be given as a function of any other, in any order.

    Args:
        joints: All joints.
    """

    def __init__(self, joints: Collection[int]) -> None:
        self._lines = {j: Line(j, 1.0, 0.0) for j in joints}

    def add(self, follower: int, leader: int, slope: float, offset: float) -> bool:
        """Add q[follower] = slope * q[leader] + offset.

        Returns:
            Whether it agrees with the relations that were added before.
        """
        own, other = self._lines[follower], self._lines[leader]
        a, b = slope * other.slope, slope * other.offset + offset
        if own.leader == other.leader:
            return isclose(own.slope, a, rel_tol=1e-9, abs_tol=1e-12) and isclose(
                own.offset, b, rel_tol=1e-9, abs_tol=1e-12
            )
        if own.slope == 0.0:  # held still already
            return False
        self._replace(own.leader, Line(other.leader, a / own.slope, (b - own.offset) / own.slope))
        return True

    def result(self, *, leads: Callable[[int], bool]) -> dict[int, Line]:
        """Return the line of each joint that follows another.

        Args:
            leads: Whether a joint is to lead the others rather than one for which this is false.
        """
        for leader in {line.leader for line in self._lines.values()}:
            if leads(leader):
                continue
            able = (
                (j, line)
                for j, line in self._lines.items()
                if line.leader == leader and line.slope and leads(j)
            )
            if (found := next(able, None)) is not None:
                j, line = found
                self._replace(leader, Line(j, 1.0 / line.slope, -line.offset / line.slope))
        return {j: line for j, line in self._lines.items() if line.leader != j}

    def _replace(self, leader: int, by: Line) -> None:
        """Let all that a joint leads, itself included, follow another one."""
        for j, line in self._lines.items():
            if line.leader == leader:
                offset = line.slope * by.offset + line.offset
                self._lines[j] = Line(by.leader, line.slope * by.slope, offset)
        if by.leader in self._lines and self._lines[by.leader].leader == by.leader:
            self._lines[by.leader] = Line(by.leader, 1.0, 0.0)


@dataclass(frozen=True, eq=False)
class Actuator:
    """An actuator of a joint.

    Attributes:
        effort: Range of its effort on the joint, in [N m] or [N].
        gear: Its effort per effort on the joint.
        info: Its kind and gains, in [N m/rad] and [N m s/rad], or [N/m] and [N s/m], of the
            joint.
        rotor_inertia: What its armature adds to the inertia of the joint, in [kg m^2] or [kg].
        damping: What it adds to the damping of the joint, in [N m s/rad] or [N s/m].
        is_curved: Whether its damping is not proportional to velocity.
    """

    effort: Range
    gear: float
    info: dict[str, object]
    rotor_inertia: float
    damping: float
    is_curved: bool


class JointReader:
    """Reads the joints of a model that are hinges, slides or balls."""

    def __init__(self, compiled: Compiled, diagnostics: Diagnostics) -> None:
        self._compiled = compiled
        self._model = compiled.model
        self._diagnostics = diagnostics
        self._actuators = self._read_actuators()
        self._taken = set(compiled.joint_names)

    def name(self, j: int) -> str:
        """Return the name of a joint."""
        return self._compiled.joint_names[j]

    def joints(self, j: int, number: int | None) -> list[Joint]:
        """Return a joint; for a ball three hinges.

        Args:
            j: Its index.
            number: Its id, if it has a motor.
        """
        joint = self._joint(j, number)
        if self._model.jnt_type[j] != _BALL:
            return [joint]
        if self._model.jnt_limited[j]:
            message = f"the range of ball joint '{joint.name}' is left out: it turns freely"
            self._diagnostics.warn("no-counterpart", message, self._compiled.at_joint(j))
        if joint.stiffness > 0.0:
            message = f"the spring of joint '{joint.name}' is left out: it is a ball"
            self._diagnostics.warn("no-counterpart", message, self._compiled.at_joint(j))
        ball = replace(joint, position=UNLIMITED, initial=0.0, stiffness=0.0, rest_position=0.0)
        return ball_hinges(ball, lambda name: add_unique(name, self._taken))

    def _joint(self, j: int, number: int | None) -> Joint:
        model = self._model
        is_hinge = model.jnt_type[j] == _HINGE
        dof = int(model.jnt_dofadr[j])
        actuators = self._actuators.get(j, [])
        name = f"the stiffness of joint '{self.name(j)}'"
        at = self._compiled.at_joint(j)
        stiffness = resistance(name, float(model.jnt_stiffness[j]), at, self._diagnostics)
        self._warn_of_curves(j)
        return Joint(
            type=JointType.REVOLUTE if is_hinge else JointType.PRISMATIC,
            name=self.name(j),
            id=number,
            axis=np.array(model.jnt_axis[j]),
            initial=self.reference(j),
            position=Range(*model.jnt_range[j].tolist()) if model.jnt_limited[j] else UNLIMITED,
            effort=self._effort(j),
            equivalent_rotor_inertia=float(model.dof_armature[dof])
            + sum(x.rotor_inertia for x in actuators),
            damping=float(model.dof_damping[dof]) + sum(x.damping for x in actuators),
            friction=float(model.dof_frictionloss[dof]),
            stiffness=stiffness,
            rest_position=float(model.qpos_spring[model.jnt_qposadr[j]]),
        )

    def reference(self, j: int) -> float:
        """Return the position of a joint in which the file describes the bodies."""
        return float(self._model.qpos0[self._model.jnt_qposadr[j]])

    def at_zero(self, j: int) -> Pose:
        """Return the motion of a joint from its reference to zero."""
        if self._model.jnt_type[j] == _BALL:
            return Pose()
        axis, q = np.array(self._model.jnt_axis[j]), -self.reference(j)
        if not isfinite(q):
            return Pose(p=np.full(3, q))  # validation reports it
        if self._model.jnt_type[j] == _SLIDE:
            return Pose(p=axis * q)
        return Pose(axis_angle_matrix(axis, q)) if q else Pose()

    def anchor(self, j: int) -> Array:
        """Return the point that a joint turns about, in its body; for a slide the origin."""
        if self._model.jnt_type[j] == _SLIDE:
            return np.zeros(3)
        return np.array(self._model.jnt_pos[j])

    def has_motor(self, j: int) -> bool:
        """Return whether a joint has a motor: without any actuators, all have one."""
        return j in self._actuators or not self._actuators

    def info(self, j: int) -> dict[str, object]:
        """Return the kind and gains of the actuators of a joint."""
        found = self._actuators.get(j, [])
        return {"actuators": [actuator.info for actuator in found]} if found else {}

    @cached_property
    def mimics(self) -> dict[int, Line]:
        """How each joint that follows another does."""
        model = self._model
        moving = [j for j in range(model.njnt) if model.jnt_type[j] in (_HINGE, _SLIDE)]
        followers = Followers(moving)
        for i in range(model.neq):
            if model.eq_type[i] != mujoco.mjtEq.mjEQ_JOINT or not model.eq_active0[i]:
                continue
            follower, leader = int(model.eq_obj1id[i]), int(model.eq_obj2id[i])
            a = model.eq_data[i, :5].tolist()
            name = self.name(follower)
            code, reason = "no-counterpart", ""
            if leader < 0:
                reason = f"it holds joint '{name}' at a position"
            elif any(a[2:]):
                reason = f"joint '{name}' does not follow linearly"
            elif not {follower, leader} <= set(moving):
                reason = f"joint '{name}' or the other one is neither a hinge nor a slide"
            elif (
                model.body_rootid[model.jnt_bodyid[follower]]
                != (model.body_rootid[model.jnt_bodyid[leader]])
            ):
                reason = f"joint '{name}' follows a joint of another robot, '{self.name(leader)}'"
            else:
                offset = self.reference(follower) + a[0] - a[1] * self.reference(leader)
                if not followers.add(follower, leader, a[1], offset):
                    code = "mimic-cycle"
                    reason = f"with the others, it leaves joint '{name}' no motion"
            if reason:
                message = f"an equality is left out: {reason}"
                self._diagnostics.warn(code, message, self._compiled.at("equalities", i))
        return followers.result(leads=self.has_motor)

    def _warn_of_curves(self, j: int) -> None:
        """Warn of springs and damping that are not linear."""
        model, at = self._model, self._compiled.at_joint(j)
        if np.any(optional_row(model, "jnt_stiffnesspoly", j)):
            message = f"the spring of joint '{self.name(j)}' is not linear: only its first number "
            message += "is used"
            self._diagnostics.warn("no-counterpart", message, at)
        own = optional_row(model, "dof_dampingpoly", int(model.jnt_dofadr[j]))
        if np.any(own) or any(x.is_curved for x in self._actuators.get(j, [])):
            message = f"the damping of joint '{self.name(j)}' is not linear: only its first number "
            message += "is used"
            self._diagnostics.warn("no-counterpart", message, at)

    def _effort(self, j: int) -> Range:
        """Return the range of the effort that the actuators and the joint itself allow."""
        model = self._model
        lower, upper = -inf, inf
        actuators = self._actuators.get(j)
        if actuators:
            lower = sum(actuator.effort.lower for actuator in actuators)
            upper = sum(actuator.effort.upper for actuator in actuators)
        if model.jnt_actfrclimited[j]:
            own = model.jnt_actfrcrange[j].tolist()
            lower, upper = max(lower, own[0]), min(upper, own[1])
        return Range(lower, upper)

    def _read_actuators(self) -> dict[int, list[Actuator]]:
        model, found = self._model, dict[int, list[Actuator]]()
        kinds = (int(mujoco.mjtTrn.mjTRN_JOINT), int(mujoco.mjtTrn.mjTRN_JOINTINPARENT))
        for i in range(model.nu):
            name = model.actuator(i).name
            joint = int(model.actuator_trnid[i, 0])
            moves_joint = model.actuator_trntype[i] in kinds
            if not moves_joint or model.jnt_type[joint] not in (_HINGE, _SLIDE):
                what = titled("actuator", name)
                message = f"{what} is left out: it does not drive a hinge or slide"
                at = self._compiled.at("actuators", i)
                self._diagnostics.warn("no-counterpart", message, at)
                continue
            found.setdefault(joint, []).append(_actuator(model, i, name))
        return found


def _actuator(model: Any, i: int, name: str) -> Actuator:
    """Return an actuator of a joint: its force is gain * control + bias, times its gear."""
    gear = float(model.actuator_gear[i, 0])
    gain, bias = model.actuator_gainprm[i, :3], model.actuator_biasprm[i, :3]
    has_gain = model.actuator_gaintype[i] == _FIXED_GAIN
    kind = "general"
    info: dict[str, object] = {"name": name}
    force = UNLIMITED
    if has_gain and model.actuator_biastype[i] == _NONE:
        kind = "effort"
        if model.actuator_ctrllimited[i]:
            ends = sorted((model.actuator_ctrlrange[i] * gain[0]).tolist())
            force = Range(*ends)
    elif has_gain and model.actuator_biastype[i] == _AFFINE:
        kp, kv = -float(bias[1]), -float(bias[2])
        kind = "position" if kp else "velocity"
        info |= {"kp": kp * gear * gear, "kd": kv * gear * gear}
    if model.actuator_forcelimited[i]:
        lower, upper = model.actuator_forcerange[i].tolist()
        force = Range(max(force.lower, lower), min(force.upper, upper))
    ends = sorted((force.lower * gear, force.upper * gear)) if gear else [0.0, 0.0]
    return Actuator(
        effort=Range(*ends),
        gear=gear,
        info={**info, "type": kind},
        rotor_inertia=float(np.sum(optional_row(model, "actuator_armature", i))) * gear * gear,
        damping=float(np.sum(optional_row(model, "actuator_damping", i))) * gear * gear,
        is_curved=bool(np.any(optional_row(model, "actuator_dampingpoly", i))),
    )
