"""Body to SRDF, for MoveIt and pinocchio: groups, states, pairs without collision tests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

import numpy as np

from ...body import Body, Link
from ...diagnostics import Diagnostics
from ...frames import BodyFrames, legal_name, unique_name
from ...kinematics.actuation import controlled_joints
from ...rigid import Array, Pose
from .collisions import PairStudy, Postures, disabled_pairs
from .groups import Group, gripper_postures, planning_groups

_WORLD = "world"
_AT_ORIGIN = 1e-9
_STEPS = 20  # in which a gripper opens until its fingers do not touch


def body_to_srdf(
    body: Body,
    frames: BodyFrames,
    diagnostics: Diagnostics | None = None,
    *,
    groups: Sequence[Group] | None = None,
    study: PairStudy | None = None,
) -> str:
    """Return the SRDF that matches a body's URDF.

    It has a virtual joint to the world, planning groups, end effectors, the states "initial" (the
    model's initial posture) and "zero" of each group, "open" and "close" of grippers, passive
    joints (those without a command interface), pairs of links that need no collision test, and
    the rotor inertias that pinocchio's ``loadRotorParameters`` reads.

    Args:
        body: The robot, with the collision shapes of the URDF.
        frames: The names in the URDF.
        diagnostics: Receives notes about what SRDF cannot represent; by default they are
            logged.
        groups: The planning groups; by default ``planning_groups``.
        study: The collisions: then pairs are those of ``sampled_pairs``, and states that collide
            are left out. By default pairs are those of ``disabled_pairs``.
    """
    diagnostics = Diagnostics() if diagnostics is None else diagnostics
    robot = Element("robot", name=legal_name(body.name, default="robot"))
    groups = planning_groups(body, frames) if groups is None else groups
    _add_virtual_joint(robot, body, frames)
    for group in groups:
        _add_group(robot, group, frames)
    for group, name, values in group_states(body, groups, study):
        _add_state(robot, name, group, values, frames)
    _add_end_effectors(robot, groups)
    _add_passive_joints(robot, body, frames)
    pairs = disabled_pairs(body) if study is None else study.reasons
    _add_disabled_pairs(robot, body, pairs, frames, diagnostics)
    _add_rotors(robot, body, frames)
    ElementTree.indent(robot)
    return '<?xml version="1.0"?>\n' + ElementTree.tostring(robot, encoding="unicode")


def _add_virtual_joint(robot: Element, body: Body, frames: BodyFrames) -> None:
    """Add the joint between the world and the robot.

    A fixed virtual joint has no pose in SRDF. So that of a robot that is fixed away from the origin
    is floating: MoveIt takes its pose from TF.
    """
    is_at_origin = body.is_root_fixed and _is_identity(top_pose(body, frames))
    SubElement(
        robot,
        "virtual_joint",
        name=unique_name("world_joint", frames.joint_names),
        type="fixed" if is_at_origin else "floating",
        parent_frame=world_frame(frames),
        child_link=frames.root,
    )


def world_frame(frames: BodyFrames) -> str:
    """Return the frame in which MoveIt plans: the world, under a name that the robot lacks."""
    return unique_name(_WORLD, frames.names)


def top_pose(body: Body, frames: BodyFrames) -> Pose:
    """Return the pose of the topmost frame in the world."""
    pose = body.root.X_PL
    for frame in reversed(frames.base):
        pose = pose @ frame.pose.inverse()
    return pose


def _is_identity(pose: Pose) -> bool:
    return bool(np.allclose(pose.matrix(), np.eye(4), rtol=0.0, atol=_AT_ORIGIN))


def _add_group(robot: Element, group: Group, frames: BodyFrames) -> None:
    element = SubElement(robot, "group", name=group.name)
    if group.tip:
        SubElement(element, "chain", base_link=group.base, tip_link=group.tip)
        return
    for name in group.subgroups:
        SubElement(element, "group", name=name)
    for link in group.joints if not group.subgroups else ():
        SubElement(element, "joint", name=frames.joints[link.name])
    for name in group.links:
        SubElement(element, "link", name=name)


def _add_end_effectors(robot: Element, groups: Iterable[Group]) -> None:
    tips = {group.name: group.tip for group in groups}
    for group in groups:
        if group.parent:
            SubElement(
                robot,
                "end_effector",
                name=group.name,
                parent_link=tips[group.parent],
                group=group.name,
                parent_group=group.parent,
            )


def group_states(
    body: Body, groups: Sequence[Group], study: PairStudy | None = None
) -> list[tuple[Group, str, dict[str, float]]]:
    """Return the named states of groups: group, name, and positions in [rad] or [m] by link name.

    "initial" is clamped to the limits, "zero" only there if these allow it. States in which links
    below the group's joints collide are left out, where collisions are known; grippers close as
    far as they can.
    """
    postures = Postures(body) if study is None else study.postures
    index = {link.name: i for i, link in enumerate(body.moving_links)}
    initial = postures.clamped(np.array([link.joint.initial for link in body.moving_links]))
    below = {group.name: _links_below(body, group.joints) for group in groups}

    def at(group: Group, q: Array) -> dict[str, float]:
        return {link.name: float(q[index[link.name]]) + 0.0 for link in group.joints}  # no -0.0

    def collides(group: Group, q: Array) -> bool:
        pairs = [] if study is None else study.colliding(q)
        return any(not below[group.name].isdisjoint(pair) for pair in pairs)

    def posture(values: Mapping[str, float]) -> Array:
        q = initial.copy()
        q[[index[name] for name in values]] = list(values.values())
        return postures.completed(q)

    # The whole body comes first, as pinocchio uses the first state of a name.
    ordered = [*(g for g in reversed(groups) if g.subgroups), *(g for g in groups if g.tip)]
    ordered += [group for group in groups if group.is_gripper]
    states = [(g, "initial", at(g, initial)) for g in ordered if not collides(g, initial)]
    for group in ordered:
        zero = posture(dict.fromkeys((link.name for link in group.joints), 0.0))
        if all(_allows_zero(link) for link in group.joints) and not collides(group, zero):
            states.append((group, "zero", at(group, zero)))
    for group in groups:
        found = gripper_postures(body, group.joints) if group.is_gripper else None
        if found is None:
            continue
        opened, closed = map(posture, found)
        if collides(group, opened):
            continue
        path = (closed + (opened - closed) * step / _STEPS for step in range(_STEPS + 1))
        free = next(q for q in path if not collides(group, q))
        states += [(group, "open", at(group, opened)), (group, "close", at(group, free))]
    return states


def _links_below(body: Body, joints: Iterable[Link]) -> set[str]:
    """Return the names of the links that some joints move."""
    below = {link.name for link in joints}
    for link in body.links:
        if link.parent in below:
            below.add(link.name)
    return below


def _allows_zero(link: Link) -> bool:
    lower, upper = link.joint.position_limits
    return lower <= 0.0 <= upper


def _add_state(
    robot: Element, name: str, group: Group, values: Mapping[str, float], frames: BodyFrames
) -> None:
    state = SubElement(robot, "group_state", name=name, group=group.name)
    for link, value in values.items():
        SubElement(state, "joint", name=frames.joints[link], value=repr(value))


def _add_passive_joints(robot: Element, body: Body, frames: BodyFrames) -> None:
    for joint in controlled_joints(body):
        if joint.command_interface is None:
            SubElement(robot, "passive_joint", name=frames.joints[joint.link.name])


def _add_disabled_pairs(
    robot: Element,
    body: Body,
    pairs: Mapping[tuple[str, str], str],
    frames: BodyFrames,
    diagnostics: Diagnostics,
) -> None:
    for (a, b), reason in pairs.items():
        one, other = frames.links[a], frames.links[b]
        SubElement(robot, "disable_collisions", link1=one, link2=other, reason=reason)
    overlapping = [f"'{a}' and '{b}'" for (a, b), why in pairs.items() if why == "Default"]
    if overlapping:
        message = f"links overlap in the initial posture: {', '.join(overlapping)}"
        diagnostics.note("initial-overlap", message, body.root.at)


def _add_rotors(robot: Element, body: Body, frames: BodyFrames) -> None:
    """Add rotor inertias as pinocchio reads them: gear ratio squared times "mass"."""
    rotors = SubElement(robot, "rotor_params")
    for link in body.links[1:]:
        joint = link.joint
        if not joint.moves or joint.equivalent_rotor_inertia == 0.0:
            continue
        gear = float(joint.gear_ratio) or 1.0
        rotor = float(joint.rotor_inertia)
        if rotor * gear * gear != joint.equivalent_rotor_inertia:
            rotor = float(joint.equivalent_rotor_inertia) / (gear * gear)
        name = frames.joints[link.name]
        SubElement(rotors, "joint", name=name, mass=repr(rotor), gear_ratio=repr(gear))
