"""What couples the joints of a placed body beyond its tree: extra joints and mimic joints."""

from __future__ import annotations

import logging
from dataclasses import replace
from math import isfinite

import numpy as np

from hrp_model import Body, BodyState, JointType, Link
from hrp_model.body import ExtraJoint, ExtraJointType
from hrp_model.kinematics.loops import loop_closures
from hrp_model.kinematics.loops.constraints import LoopConstraints, loop_name
from hrp_model.late_dataclass import dataclass
from hrp_model.rigid import Array, Pose, is_rotation

from ..engine import PhysicsError, Placement
from ..state import MAX_DRIVE_VALUE
from .articulation import Gears, JointKind, Joints, Links, LoopKind, Loops, link_error

_log = logging.getLogger("hrp_sim")

LOOP_KINDS = {joint: LoopKind[joint.name] for joint in ExtraJointType}
# Bound on the multiplier of a mimic joint.
_MAX_RATIO = 1e6


@dataclass(frozen=True)
class _ExtraJointFrames:
    """An extra joint, with the indices of its links and its frame J in both."""

    joint: ExtraJoint
    a: int
    b: int
    X_AJ: Pose
    X_BJ: Pose
    axis: Array


def flatten_extra_joints(placement: Placement, links: Links) -> Loops:
    """Return the extra joints of a body as flat arrays.

    Joints between links of the same group are left out. ``LoopConstraints`` defines what a joint
    constrains, independently of the posture that the body is placed in. If a loop has a gap that
    no joint can close, such as along the common axis of a planar four-bar, the gap stays: closing
    it would cause unbounded forces. The frame J of link A is then moved to where that of B can be.

    Args:
        placement: The body and its initial state.
        links: Its links, in their groups.

    Raises:
        PhysicsError: A joint refers to an unknown link, a number is not finite or too large, an
            axis is zero, or a frame is not a rotation.
    """
    ties = [_tie(placement, joint) for joint in placement.body.extra_joints]
    gaps = _gaps(placement, ties) if ties else []
    ties = [
        replace(x, X_AJ=Pose(x.X_AJ.R, x.X_AJ.p + gap))
        for x, gap in zip(ties, gaps, strict=True)
        if links.group[x.a] != links.group[x.b]
    ]
    a, b = (np.array([getattr(x, end) for x in ties], dtype=np.intp) for end in ("a", "b"))
    R_AJ, p_AJ, R_BJ, p_BJ = (
        np.array([getattr(getattr(x, end), part) for x in ties], dtype=np.float64)
        for end in ("X_AJ", "X_BJ")
        for part in ("R", "p")
    )
    return Loops(
        kind=np.array([LOOP_KINDS[x.joint.type] for x in ties], dtype=np.int32),
        a=links.group[a],
        b=links.group[b],
        R_a=links.R[a] @ R_AJ.reshape(-1, 3, 3),
        p_a=links.p[a] + np.einsum("eij,ej->ei", links.R[a], p_AJ.reshape(-1, 3)),
        R_b=links.R[b] @ R_BJ.reshape(-1, 3, 3),
        p_b=links.p[b] + np.einsum("eij,ej->ei", links.R[b], p_BJ.reshape(-1, 3)),
        axis=np.array([x.axis for x in ties], dtype=np.float64).reshape(-1, 3),
    )


def _tie(placement: Placement, joint: ExtraJoint) -> _ExtraJointFrames:
    body = placement.body
    try:
        a, b = (body.link_index(name) for name in joint.links)
    except KeyError as error:
        raise PhysicsError(
            f"body '{placement.name}', extra joint '{loop_name(joint)}': {error.args[0]}"
        ) from None
    for pose in (joint.X_AJ, joint.X_BJ):
        if np.all(np.isfinite(pose.R)) and not is_rotation(pose.R):
            problem = f"the frame of its extra joint '{loop_name(joint)}' is not a rotation"
            raise link_error(placement, body.links[a], problem)
    try:
        constraints = LoopConstraints(body, [joint])
    except ValueError as error:
        raise link_error(placement, body.links[a], str(error)) from None
    (X_AJ, X_BJ), axis = constraints.ends[0], constraints.axes[0]
    return _ExtraJointFrames(joint, a, b, X_AJ, X_BJ, axis)


def _gaps(placement: Placement, ties: list[_ExtraJointFrames]) -> list[Array]:
    """Return the offset in link A from A's point to B's in the closed posture, for each joint."""
    body = placement.body
    gaps = {id(x.joint): np.zeros(3) for x in ties}
    by_joint = {id(x.joint): x for x in ties if not _is_loose(body, x)}
    state = BodyState(body)
    for closure in loop_closures(body)[0]:
        if not all(id(joint) in by_joint for joint in closure.extra_joints):
            continue
        for sentence in closure.gap_messages():
            _log.warning("body '%s': %s", placement.name, sentence)
        if closure.closes:
            state.q[:] = closure.assembled
            state.calc_forward_kinematics()
            for joint in closure.extra_joints:
                gaps[id(joint)] = _gap(state, by_joint[id(joint)])
    return [gaps[id(x.joint)] for x in ties]


def _gap(state: BodyState, tie: _ExtraJointFrames) -> Array:
    """Return the offset in link A from A's point to B's, in the constrained directions."""
    R_WA, R_WB = state.R[tie.a], state.R[tie.b]
    p_W = state.p[tie.b] + R_WB @ tie.X_BJ.p - state.p[tie.a] - R_WA @ tie.X_AJ.p
    p = R_WA.T @ p_W
    axis = tie.X_AJ.R @ tie.axis
    along = axis * (axis @ p)
    if tie.joint.type is ExtraJointType.Z:
        return np.asarray(along)
    if tie.joint.type in (ExtraJointType.XY, ExtraJointType.PISTON):
        return np.asarray(p - along)
    return np.asarray(p)


def _is_loose(body: Body, tie: _ExtraJointFrames) -> bool:
    """Whether a FREE joint lies between an end of an extra joint and the root."""
    for i in (tie.a, tie.b):
        while (parent := body.parent_indices[i]) >= 0:
            if body.links[i].joint.type is JointType.FREE:
                return True
            i = parent
    return False


def flatten_gears(placement: Placement, joints: Joints) -> Gears:
    """Return the mimic joints of a body as flat arrays.

    Args:
        placement: The body.
        joints: Its joints.

    Raises:
        PhysicsError: A joint follows one that does not move, or itself, or a number is not finite
            or too large; the message names the link.
    """
    body = placement.body
    moving = [kind != JointKind.FIXED for kind in joints.kind.tolist()]
    row = {
        body.links[link].name: j
        for j, link in enumerate(joints.link.tolist())
        if moving[j] and joints.coordinate[j] >= 0
    }
    leaders: dict[str, str] = {}
    found = []
    for link in body.moving_links:
        mimic = link.joint.mimic
        if mimic is None:
            continue
        if link.name not in row or mimic.link not in row:
            problem = f"its joint follows that of '{mimic.link}', but one of them does not move"
            raise link_error(placement, link, problem)
        leaders[link.name] = mimic.link
        _check_gear(placement, link, mimic.multiplier, mimic.offset)
        found.append((row[link.name], row[mimic.link], mimic.multiplier, mimic.offset))
    _check_cycles(placement, leaders)
    return Gears(
        follower=np.array([x[0] for x in found], dtype=np.int32),
        leader=np.array([x[1] for x in found], dtype=np.int32),
        ratio=np.array([x[2] for x in found], dtype=np.float64),
        offset=np.array([x[3] for x in found], dtype=np.float64),
    )


def _check_gear(placement: Placement, link: Link, ratio: float, offset: float) -> None:
    if not (isfinite(ratio) and abs(ratio) <= _MAX_RATIO):
        problem = f"its mimic joint has the multiplier {ratio:g}, beyond {_MAX_RATIO:g}"
        raise link_error(placement, link, problem)
    if not (isfinite(offset) and abs(offset) < MAX_DRIVE_VALUE):
        problem = f"its mimic joint has the offset {offset:g}, beyond {MAX_DRIVE_VALUE:g}"
        raise link_error(placement, link, problem)


def _check_cycles(placement: Placement, leaders: dict[str, str]) -> None:
    known: set[str] = set()  # lead to a joint that follows no other
    for name in leaders:
        chain: set[str] = set()
        leader: str | None = name
        while leader is not None and leader not in known:
            if leader in chain:
                link = placement.body.link(leader)
                problem = f"its joint '{link.joint.name}' follows itself"
                raise link_error(placement, link, problem)
            chain.add(leader)
            leader = leaders.get(leader)
        known |= chain
