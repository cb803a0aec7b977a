"""A Body as rigid groups, joints and shapes in flat arrays: what every physics engine is fed.

Links joined by fixed joints form one rigid group, unless a force sensor watches the
joint. Links that cannot move belong to no group. The frame G of a group has its origin
at the group's centre of mass and, at q = 0, the axes of its first link. Everything is
checked here, once, so that an engine never meets a number that it cannot take.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from hrp_model import Body, JointType, Link
from hrp_model.body import ExtraJointType
from hrp_model.devices import ForceSensor
from hrp_model.inertia import MassProperties, merge
from hrp_model.kinematics import BodyState
from hrp_model.rigid import Array, Pose

from .collision import Geoms, flatten_shapes
from .engine import PhysicsError, PhysicsSettings, Placement

IntArray = NDArray[np.int32]
STATIC = -1

_log = logging.getLogger("hrp_sim")


class JointKind(IntEnum):
    """Joints that an engine makes; FIXED ones carry a force sensor."""

    FIXED = 0
    HINGE = 1
    SLIDER = 2


class LoopKind(IntEnum):
    """Extra joints that an engine makes."""

    BALL = 0
    HINGE = 1
    FIXED = 2
    PISTON = 3


class Contact(IntEnum):
    """Whether two links of one body may touch."""

    NEVER = 0
    ALWAYS = 1
    UNLESS_OVERLAPPING = 2  # joined by joints: drawn into each other, they would burst


@dataclass(frozen=True, eq=False)
class Links:
    """Links, in the order of ``body.links``.

    Attributes:
        group: Rigid group of each link, or STATIC, shape (n,).
        R, p: Pose of the link in its group's frame G; of a static link in W.
        track_axis: Axis of a track, in the same frame, zero elsewhere, shape (n, 3).
        watched: 1 for links with a force sensor in the joint above, shape (n,).
        contacts: A ``Contact`` for every pair of links, shape (n, n).
    """

    group: IntArray
    R: Array
    p: Array
    track_axis: Array
    watched: IntArray
    contacts: IntArray


@dataclass(frozen=True, eq=False)
class Groups:
    """Rigid groups, parents before children.

    Attributes:
        mass: In [kg], shape (g,).
        inertia: About G's origin, axes of G, in [kg m^2], shape (g, 3, 3).
        zero_R, zero_p: Pose X_WG when every joint is at zero.
        R, p, v, w: Pose X_WG and velocity of G's origin at the start.
    """

    mass: Array
    inertia: Array
    zero_R: Array
    zero_p: Array
    R: Array
    p: Array
    v: Array
    w: Array


@dataclass(frozen=True, eq=False)
class Joints:
    """Joints between groups.

    Attributes:
        kind: A ``JointKind``, shape (m,).
        link: The link that the joint moves, shape (m,).
        coordinate: Its place in the joint vectors, or -1, shape (m,).
        child, parent: Groups; the parent may be STATIC, the world.
        anchor, axis: In W when every joint is at zero, shape (m, 3).
        lower, upper: Range of q.
        effort_lower, effort_upper: Range of the drive's effort.
        rotor_inertia: Equivalent rotor inertia, in [kg m^2] or [kg].
    """

    kind: IntArray
    link: IntArray
    coordinate: IntArray
    child: IntArray
    parent: IntArray
    anchor: Array
    axis: Array
    lower: Array
    upper: Array
    effort_lower: Array
    effort_upper: Array
    rotor_inertia: Array


@dataclass(frozen=True, eq=False)
class Loops:
    """Extra joints, made in the starting posture: relative rotations stay as they are then.

    Attributes:
        kind: A ``LoopKind``, shape (e,).
        a, b: Groups, never the same; one may be STATIC.
        p_a, p_b: The points that shall coincide, each in its group's frame, or in W.
        axis: In a's frame, shape (e, 3).
    """

    kind: IntArray
    a: IntArray
    b: IntArray
    p_a: Array
    p_b: Array
    axis: Array


@dataclass(frozen=True, eq=False)
class Articulation:
    """A placed body, flattened.

    Attributes:
        q, dq: Joint positions and velocities at the start, shape (joints,).
    """

    placement: Placement
    q: Array
    dq: Array
    links: Links
    groups: Groups
    joints: Joints
    loops: Loops
    geoms: Geoms


def flatten(placement: Placement, settings: PhysicsSettings) -> Articulation:
    """Return the body of a placement as flat arrays.

    Raises:
        PhysicsError: A number is not finite, a mass or inertia cannot move, an axis is
            zero, a shape is impossible; the message names the body and the link.
    """
    _check_numbers(placement)
    start = _start(placement)
    zero = BodyState(placement.body)
    zero.p[0], zero.R[0], zero.q[:] = start.p[0], start.R[0], 0.0
    zero.calc_forward_kinematics()
    fixed = placement.fixed or placement.body.is_root_fixed
    watched = {d.link for d in placement.body.devices if isinstance(d, ForceSensor)}
    group_of, members = _group(placement.body, fixed, watched)
    masses = [_mass_properties(placement, zero, m) for m in members]
    groups = _groups(masses, members, zero, start)
    links = _links(placement.body, start, zero, group_of, groups, watched)
    joints = _joints(placement, zero, group_of)
    loops = _loops(placement, links)
    _forbid_contacts(placement.body, links, joints, loops)
    geoms = flatten_shapes(placement, links.R, links.p, settings.friction)
    return Articulation(placement, start.q, start.dq, links, groups, joints, loops, geoms)


def _fail(placement: Placement, link: Link, problem: str) -> PhysicsError:
    at = f" ({link.at})" if link.at else ""
    return PhysicsError(f"body '{placement.name}', link '{link.name}': {problem}{at}")


def _check_numbers(placement: Placement) -> None:
    """Check what no later stage can name any more."""
    for link in placement.body.links:
        for what, pose in (("pose", link.X_PL),):
            if not _is_rigid(pose):
                raise _fail(placement, link, f"its {what} is not a finite rigid transform")
        values = np.concatenate([[link.mass], link.center_of_mass, link.inertia.ravel()])
        if not np.all(np.isfinite(values)):
            raise _fail(placement, link, "its mass, centre of mass or inertia is not finite")
        if link.mass < 0.0:
            raise _fail(placement, link, f"its mass is negative ({link.mass:g} kg)")
        if link.joint.moves and not 1e-6 < float(np.linalg.norm(link.joint.axis)) < 1e6:
            raise _fail(placement, link, f"its joint axis is {link.joint.axis.tolist()}")
        rotor = link.joint.equivalent_rotor_inertia
        if not 0.0 <= rotor < np.inf:
            raise _fail(placement, link, f"its equivalent rotor inertia is {rotor:g}")
    if not _is_rigid(placement.X_WL):
        raise _fail(placement, placement.body.root, "its placement is not a finite rigid transform")


def _is_rigid(pose: Pose) -> bool:
    """Whether a pose is finite and its rotation is one, to 1e-6."""
    if not (np.all(np.isfinite(pose.R)) and np.all(np.isfinite(pose.p))):
        return False
    return bool(np.abs(pose.R.T @ pose.R - np.eye(3)).max() < 1e-6 and np.linalg.det(pose.R) > 0)


def _start(placement: Placement) -> BodyState:
    """Return the state that a placement asks for."""
    body = placement.body
    state = BodyState(body)
    for name, value in (("q", placement.q), ("dq", placement.dq)):
        if value is not None and np.shape(value) != (len(body.moving_links),):
            raise PhysicsError(
                f"body '{placement.name}': {name} must have {len(body.moving_links)} "
                f"elements, got shape {np.shape(value)}"
            )
    if placement.q is not None:
        state.q[:] = placement.q
    if placement.dq is not None:
        state.dq[:] = placement.dq
    for link, q, dq in zip(body.moving_links, state.q, state.dq, strict=True):
        if not (np.isfinite(q) and np.isfinite(dq)):
            raise _fail(placement, link, f"its joint starts at q = {q}, dq = {dq}")
    state.p[0], state.R[0] = placement.X_WL.p, placement.X_WL.R
    if not (placement.fixed or body.is_root_fixed):
        state.v[0], state.w[0] = placement.v, placement.w
    if not (np.all(np.isfinite(state.v[0])) and np.all(np.isfinite(state.w[0]))):
        raise _fail(placement, body.root, "its velocity is not finite")
    state.calc_forward_kinematics(velocity=True)
    return state


def _group(body: Body, fixed: bool, watched: set[str]) -> tuple[IntArray, list[list[int]]]:
    """Return the group of each link, and the links of each group."""
    group_of = np.full(len(body.links), STATIC, dtype=np.int32)
    members: list[list[int]] = []
    for i, link in enumerate(body.links):
        parent = body.parent_indices[i]
        rigid = link.joint.type in (JointType.FIXED, JointType.TRACK)
        if parent < 0 and fixed:
            continue
        if parent >= 0 and rigid and link.name not in watched:
            group_of[i] = group_of[parent]
            if group_of[i] != STATIC:
                members[group_of[i]].append(i)
            continue
        group_of[i] = len(members)
        members.append([i])
    return group_of, members


def _mass_properties(placement: Placement, zero: BodyState, members: list[int]) -> MassProperties:
    """Return the mass of a group, in the frame of its first link."""
    base = Pose(zero.R[members[0]], zero.p[members[0]]).inverse()
    parts = []
    for i in members:
        link = placement.body.links[i]
        # Only the symmetric part of an inertia resists rotation.
        inertia = (link.inertia + link.inertia.T) / 2.0
        part = MassProperties(link.mass, link.center_of_mass, inertia)
        parts.append(part.expressed_in(base @ Pose(zero.R[i], zero.p[i])))
    whole = merge(parts)
    first = placement.body.links[members[0]]
    if not whole.mass > 0.0:
        raise _fail(placement, first, "it moves, so its mass must be positive; it is 0 kg")
    moments = np.linalg.eigvalsh(whole.inertia)
    if not (moments[0] > 0.0 and moments[0] > 1e-12 * moments[2]):
        listed = ", ".join(f"{m:.3g}" for m in moments)
        raise _fail(
            placement,
            first,
            f"it moves, so its inertia must be positive definite; its principal moments are {listed}",
        )
    return whole


def _groups(
    masses: list[MassProperties], members: list[list[int]], zero: BodyState, start: BodyState
) -> Groups:
    first = [m[0] for m in members]
    center = np.array([m.center_of_mass for m in masses]).reshape(-1, 3)
    arm = np.einsum("gij,gj->gi", start.R[first], center)
    return Groups(
        mass=np.array([m.mass for m in masses], dtype=np.float64),
        inertia=np.array([m.inertia for m in masses]).reshape(-1, 3, 3),
        zero_R=zero.R[first],
        zero_p=zero.p[first] + np.einsum("gij,gj->gi", zero.R[first], center),
        R=start.R[first],
        p=start.p[first] + arm,
        v=start.v[first] + np.cross(start.w[first], arm),
        w=start.w[first],
    )


def _links(
    body: Body,
    start: BodyState,
    zero: BodyState,
    group_of: IntArray,
    groups: Groups,
    watched: set[str],
) -> Links:
    """Place the links in their groups, where q = 0; static ones in the world, as they start."""
    n = len(body.links)
    R, p, axes = start.R.copy(), start.p.copy(), np.zeros((n, 3))
    for i, group in enumerate(group_of):
        if group != STATIC:
            R[i] = groups.zero_R[group].T @ zero.R[i]
            p[i] = groups.zero_R[group].T @ (zero.p[i] - groups.zero_p[group])
        if body.links[i].joint.type is JointType.TRACK:
            axes[i] = R[i] @ body.links[i].joint.axis
    return Links(
        group=group_of,
        R=R,
        p=p,
        track_axis=axes,
        watched=np.array([x.name in watched for x in body.links], dtype=np.int32),
        contacts=np.full((n, n), Contact.ALWAYS, dtype=np.int32),
    )


def _joints(placement: Placement, zero: BodyState, group_of: IntArray) -> Joints:
    """List the joints above the first links of the groups; FREE links have none."""
    body = placement.body
    kinds = {JointType.REVOLUTE: JointKind.HINGE, JointType.PRISMATIC: JointKind.SLIDER}
    coordinate = {link.name: i for i, link in enumerate(body.moving_links)}
    rows = []
    for i, link in enumerate(body.links):
        parent = body.parent_indices[i]
        if parent < 0 or link.joint.type is JointType.FREE or group_of[i] == group_of[parent]:
            continue
        axis = zero.R[i] @ link.joint.axis
        rows.append(
            (
                kinds.get(link.joint.type, JointKind.FIXED),
                i,
                coordinate.get(link.name, -1),
                group_of[i],
                group_of[parent],
                zero.p[i],
                axis / (np.linalg.norm(axis) or 1.0),
                *link.joint.position,
                *_drivable(placement, link),
                link.joint.equivalent_rotor_inertia,
            )
        )
    columns = list(zip(*rows, strict=True)) or [()] * 12
    integers = [np.array(c, dtype=np.int32) for c in columns[:5]]
    vectors = [np.array(c, dtype=np.float64).reshape(-1, 3) for c in columns[5:7]]
    return Joints(*integers, *vectors, *(np.array(c, dtype=np.float64) for c in columns[7:]))


def _drivable(placement: Placement, link: Link) -> tuple[float, float]:
    """Return the effort range of a joint; one that excludes zero is no range."""
    lower, upper = link.joint.effort
    if lower <= 0.0 <= upper:
        return lower, upper
    if link.joint.moves:
        _log.warning(
            "body '%s', link '%s': its effort range [%g, %g] excludes zero and is ignored",
            placement.name,
            link.name,
            lower,
            upper,
        )
    return -np.inf, np.inf
