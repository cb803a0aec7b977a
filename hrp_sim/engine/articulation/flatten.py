"""Converts a Placement to an Articulation: groups, masses, joints; and to one at another pose."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import replace
from functools import partial

import numpy as np

from hrp_model import Body, Diagnostic, Diagnostics, Joint, JointType, Pose
from hrp_model.inertia import MassProperties
from hrp_model.kinematics import BodyState
from hrp_model.rigid import Array, is_rotation
from hrp_model.validate import report_limits

from ..engine import PhysicsError, PhysicsSettings, Placement
from .articulation import (
    NO_CONTACT,
    STATIC,
    Articulation,
    Contact,
    Geoms,
    Groups,
    IntArray,
    JointKind,
    Joints,
    Links,
    Loops,
    link_error,
)
from .collision_shapes import flatten_shapes
from .couplings import flatten_extra_joints, flatten_gears
from .numeric_limits import MAX_SHAPE_PAIRS, check_body, check_start, repair_masses
from .rigid_groups import (
    force_sensor_links,
    group_lifts,
    group_masses,
    rigid_groups,
    zero_state,
)

_log = logging.getLogger("hrp_sim")

# A link with a free joint has no joint in the engine; a track moves its surface alone.
_JOINT_KINDS = {
    JointType.REVOLUTE: JointKind.HINGE,
    JointType.PRISMATIC: JointKind.SLIDER,
    JointType.FIXED: JointKind.FIXED,
    JointType.TRACK: JointKind.FIXED,
}
# Square of the angle by which an explicit spring oscillates in a step; stable below 4.
_MAX_SPRING_PHASE = 0.25
_BASE_JOINT = Joint(type=JointType.FIXED, name="root")  # of a fixed root with a force sensor


def flatten(
    placement: Placement, settings: PhysicsSettings, shapes: Geoms | None = None
) -> Articulation:
    """Return the body of a placement as flat arrays.

    Args:
        placement: The body and its initial state.
        settings: Of the physics.
        shapes: Used unchanged; None creates them, which takes time.

    Raises:
        PhysicsError: A number is not finite, a mass or inertia is invalid, an axis is zero, or a
            shape is invalid; the message names the body and the link.
    """
    check_body(placement)
    report_limits(placement.body, Diagnostics(listener=partial(_log_warning, placement.name)))
    start = start_state(placement)
    zero = zero_state(placement.body, placement.X_WL)
    with_sensors = force_sensor_links(placement.body)
    group_of, members = rigid_groups(placement.body, placement.fixed)
    masses = group_masses(placement, members, zero)
    for group, repair in repair_masses(placement, group_of, members, masses, settings).items():
        masses[group] = repair.after
    lift = group_lifts(placement.body, members, zero)
    groups = _groups(masses, lift, members, zero, start)
    links = _links(placement.body, start, zero, group_of, groups, with_sensors)
    joints = _joints(placement, zero, group_of)
    joints = _with_implicit_springs(joints, groups, settings.time_step)
    loops = flatten_extra_joints(placement, links)
    contacts = _contacts(placement.body, group_of, joints, loops)
    geoms = flatten_shapes(placement, links, settings) if shapes is None else shapes
    if settings.self_collision:
        _check_pairs(placement, contacts, geoms)
    gears = flatten_gears(placement, joints)
    return Articulation(
        placement, start.q, start.dq, links, groups, joints, loops, gears, contacts, geoms
    )


def _log_warning(body: str, diagnostic: Diagnostic) -> None:
    _log.warning("body '%s': %s", body, diagnostic)


def start_state(placement: Placement) -> BodyState:
    """Return the initial state of a placement.

    Raises:
        PhysicsError: A number is not finite or too large, the pose is not rigid, or q or dq has
            the wrong shape.
    """
    body = placement.body
    if not is_rotation(placement.X_WL.R):
        raise link_error(placement, body.root, "its placement is not a finite rigid transform")
    state = BodyState(body)
    for name, value in (("q", placement.q), ("dq", placement.dq)):
        if value is not None and np.shape(value) != (len(body.moving_links),):
            raise PhysicsError(
                f"body '{placement.name}': {name} must be of shape ({len(body.moving_links)},), "
                f"not {np.shape(value)}"
            )
    if placement.q is not None:
        state.q[:] = placement.q
    if placement.dq is not None:
        state.dq[:] = placement.dq
    state.p[0], state.R[0] = placement.X_WL.p, placement.X_WL.R
    if not placement.fixed:
        state.v[0], state.w[0] = placement.v, placement.w
    check_start(placement, state.q, state.dq)
    state.calc_forward_kinematics(velocity=True)
    return state


def _groups(
    masses: list[MassProperties],
    lift: Array,
    members: list[list[int]],
    zero: BodyState,
    start: BodyState,
) -> Groups:
    first = [m[0] for m in members]
    center = np.array([m.center_of_mass for m in masses]).reshape(-1, 3)
    arm = np.einsum("gij,gj->gi", start.R[first], center)
    return Groups(
        mass=np.array([m.mass for m in masses], dtype=np.float64),
        inertia=np.array([m.inertia for m in masses]).reshape(-1, 3, 3),
        lift=np.hstack([lift[:, :1], lift[:, 1:] - lift[:, :1] * center]),
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
    with_sensors: set[str],
) -> Links:
    """Return the poses of links in their groups at q = 0; of static links in W."""
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
        watched=np.array([x.name in with_sensors for x in body.links], dtype=np.int32),
    )


def _joints(placement: Placement, zero: BodyState, group_of: IntArray) -> Joints:
    """Return the joints of the groups to their parents; free groups have none."""
    body = placement.body
    coordinate = {link.name: i for i, link in enumerate(body.moving_links) if link.parent}
    above, parents = [], []
    for i, (link, parent) in enumerate(zip(body.links, body.parent_indices, strict=True)):
        is_free = not placement.fixed if parent < 0 else link.joint.type is JointType.FREE
        onto = STATIC if parent < 0 else group_of[parent]
        if not is_free and group_of[i] != onto:
            above.append(i)
            parents.append(onto)
    links = [body.links[i] for i in above]
    joints = [x.joint if x.parent else _BASE_JOINT for x in links]
    axes = [zero.R[i] @ _unit(body.links[i].joint.axis) for i in above]
    q = np.array([x.joint.position_limits for x in links], dtype=np.float64)
    effort = np.array([x.joint.effort_limits for x in links], dtype=np.float64)
    inert = [
        (x.equivalent_rotor_inertia, x.damping, x.friction, x.stiffness, x.rest_position)
        if x.moves
        else (0.0,) * 5
        for x in joints
    ]
    rotor, damping, friction, stiffness, rest = np.array(inert).reshape(-1, 5).T.copy()
    return Joints(
        kind=_integers(_JOINT_KINDS[x.type] for x in joints),
        link=_integers(above),
        coordinate=_integers(coordinate.get(x.name, -1) for x in links),
        child=group_of[above],
        parent=_integers(parents),
        anchor=zero.p[above],
        axis=np.array(axes, dtype=np.float64).reshape(-1, 3),
        lower=np.ascontiguousarray(q.reshape(-1, 2)[:, 0]),
        upper=np.ascontiguousarray(q.reshape(-1, 2)[:, 1]),
        effort_lower=np.ascontiguousarray(effort.reshape(-1, 2)[:, 0]),
        effort_upper=np.ascontiguousarray(effort.reshape(-1, 2)[:, 1]),
        rotor_inertia=rotor,
        damping=damping,
        friction=friction,
        stiffness=stiffness,
        rest=rest,
    )


def _with_implicit_springs(joints: Joints, groups: Groups, step: float) -> Joints:
    """Return joints with the damping of springs that are too stiff to be explicit.

    A spring at the end of a step, instead of in its middle, damps by k h. The mobility along the
    axis is at most that of the two groups if nothing else held them.
    """
    if not joints.stiffness.any():
        return joints
    is_hinge = joints.kind == JointKind.HINGE
    of_hinges, of_sliders = 1.0 / np.linalg.eigvalsh(groups.inertia)[:, 0], 1.0 / groups.mass
    mobility = np.zeros(len(joints.kind))
    for ends in (joints.child, joints.parent):
        free = ends != STATIC
        mobility[free] += np.where(is_hinge, of_hinges[ends], of_sliders[ends])[free]
    is_stiff = joints.stiffness * mobility * step**2 > _MAX_SPRING_PHASE
    damping = np.where(is_stiff, joints.stiffness * step, 0.0)
    return replace(joints, damping=joints.damping + damping)


def _integers(values: Iterable[int]) -> IntArray:
    return np.array([int(v) for v in values], dtype=np.int32)


def _unit(axis: Array) -> Array:
    """Return a unit vector, or zero for zero: the axis of a fixed joint is not used."""
    return axis / (float(np.linalg.norm(axis)) or 1.0)


def _contacts(body: Body, group_of: IntArray, joints: Joints, loops: Loops) -> IntArray:
    """Return a ``Contact`` for every pair of links.

    Links of one group, and of groups connected directly by a joint, never collide. Other links
    of the same tree do unless they overlap initially, or, if one carries the other, touch; a FREE
    joint separates trees.
    """
    count = group_of.max(initial=STATIC) + 2
    tree, carried = np.arange(count) - 1, np.eye(count, dtype=np.bool_)  # [g + 1] of group g
    for child, parent in zip(joints.child, joints.parent, strict=True):
        tree[child + 1] = tree[parent + 1]
        carried[child + 1] |= carried[parent + 1]
    same_tree = tree[group_of + 1][:, None] == tree[group_of + 1]
    contacts = np.full(same_tree.shape, Contact.ALWAYS, dtype=np.int32)
    contacts[same_tree] = Contact.UNLESS_OVERLAPPING
    contacts[(carried | carried.T)[group_of + 1][:, group_of + 1]] = Contact.UNLESS_TOUCHING
    connected = np.eye(len(tree), dtype=np.bool_)
    for a, b in (
        *zip(joints.child, joints.parent, strict=True),
        *zip(loops.a, loops.b, strict=True),
    ):
        connected[a + 1, b + 1] = connected[b + 1, a + 1] = True
    contacts[connected[group_of + 1][:, group_of + 1]] = Contact.NEVER
    for pair in body.self_collision_disabled:
        i, j = (body.link_index(name) for name in (min(pair), max(pair)))
        contacts[i, j] = contacts[j, i] = Contact.NEVER
    return contacts


def _check_pairs(placement: Placement, contacts: IntArray, geoms: Geoms) -> None:
    """Check the number of pairs of own shapes that may collide, which an engine lists."""
    touching = geoms.link[geoms.material != NO_CONTACT]
    shapes = np.bincount(touching, minlength=len(contacts))
    pairs = int(shapes @ ((contacts != Contact.NEVER) @ shapes)) // 2
    if pairs > MAX_SHAPE_PAIRS:
        raise PhysicsError(
            f"body '{placement.name}': {pairs} pairs of its {len(touching)} collision shapes may "
            f"collide, more than the {MAX_SHAPE_PAIRS} that can be simulated; set "
            "self_collision: false, exclude pairs of links, or use fewer shapes"
        )


def with_placement(initial: Articulation, placement: Placement) -> Articulation:
    """Return an articulation with the initial state of moving groups and joints of a placement.

    Static links stay; see ``with_base_pose``.

    Raises:
        PhysicsError: The placement has another model, has another value of ``fixed`` than the
            body, or is not finite.
    """
    name = placement.name
    if placement.body is not initial.placement.body:
        raise PhysicsError(
            f"body '{name}' cannot be moved to a placement of another model; remove it and add "
            "the other one"
        )
    if placement.fixed != initial.placement.fixed:
        old, new = ("fixed", "free") if initial.placement.fixed else ("free", "fixed")
        raise PhysicsError(f"body '{name}' is {old} and cannot become {new}; remove and add it")
    start = start_state(placement)
    groups, members = np.unique(initial.links.group, return_index=True)
    head = members[groups != STATIC]  # the first link of each group, whose axes are G's
    arm = np.einsum("gij,gj->gi", start.R[head], -initial.links.p[head])
    moved = replace(
        initial.groups,
        R=start.R[head],
        p=start.p[head] + arm,
        v=start.v[head] + np.cross(start.w[head], arm),
        w=start.w[head],
    )
    return replace(initial, placement=placement, q=start.q, dq=start.dq, groups=moved)


def with_base_pose(initial: Articulation, X_WL: Pose, settings: PhysicsSettings) -> Articulation:
    """Return the articulation of the initial placement with another pose of its fixed root.

    Args:
        initial: Of a body with static links.
        X_WL: New pose of its root.
        settings: With which ``initial`` was created.

    Raises:
        PhysicsError: The pose is not a finite rigid transform.
    """
    if is_bit_identical(X_WL, initial.placement.X_WL):
        return initial
    moved = flatten(replace(initial.placement, X_WL=X_WL), settings, initial.geoms)
    return replace(moved, geoms=_move_static_shapes(initial, moved))


def is_bit_identical(a: Pose, b: Pose) -> bool:
    """Return whether two poses are equal to the last bit, including the signs of zeros."""
    return a.R.tobytes() == b.R.tobytes() and a.p.tobytes() == b.p.tobytes()


def _move_static_shapes(initial: Articulation, moved: Articulation) -> Geoms:
    """Return the shapes, those of static links moved along with their links."""
    R, p = initial.geoms.R.copy(), initial.geoms.p.copy()
    for k, link in enumerate(initial.geoms.link):
        if initial.links.group[link] == STATIC:
            turn = moved.links.R[link] @ initial.links.R[link].T
            R[k] = turn @ initial.geoms.R[k]
            p[k] = moved.links.p[link] + turn @ (initial.geoms.p[k] - initial.links.p[link])
    return replace(initial.geoms, R=R, p=p)
