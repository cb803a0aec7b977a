"""Body to SRDF, for MoveIt and pinocchio."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

import numpy as np

from ...body import Body, Joint, Link
from ...diagnostics import Diagnostics
from ...frames import BodyFrames, legal_name, unique_name
from ...kinematics.actuation import controlled_joints
from ...rigid import Pose
from .chains import Chain, Limbs, chain_names
from .collision_pairs import disabled_pairs

_WORLD = "world"
_WHOLE = "whole_body"
_AT_ORIGIN = 1e-9


def body_to_srdf(body: Body, frames: BodyFrames, diagnostics: Diagnostics | None = None) -> str:
    """Return the SRDF that matches a body's URDF.

    It has a virtual joint to the world, a group for each limb and one for all, end
    effectors, the states "initial" (the model's initial posture) and "zero" of each group,
    passive joints (those without a command interface), pairs of links that need no collision
    test, and the rotor inertias that pinocchio's ``loadRotorParameters`` reads.

    Args:
        body: The robot, with the collision shapes of the URDF.
        frames: The names in the URDF.
        diagnostics: Receives notes about what SRDF cannot represent; by default they are
            logged.
    """
    diagnostics = Diagnostics() if diagnostics is None else diagnostics
    robot = Element("robot", name=legal_name(body.name, default="robot"))
    _add_virtual_joint(robot, body, frames, diagnostics)
    _add_groups(robot, body, frames)
    _add_passive_joints(robot, body, frames)
    _add_disabled_pairs(robot, body, frames, diagnostics)
    _add_rotors(robot, body, frames)
    ElementTree.indent(robot)
    return '<?xml version="1.0"?>\n' + ElementTree.tostring(robot, encoding="unicode")


def _add_virtual_joint(
    robot: Element, body: Body, frames: BodyFrames, diagnostics: Diagnostics
) -> None:
    """Add the joint between the world and the robot.

    A fixed virtual joint has no pose in SRDF. So a robot that is fixed away from the origin
    gets none, and MoveIt plans in the frame of the root.
    """
    if body.is_root_fixed and not _is_identity(top_pose(body, frames)):
        message = "the root is fixed away from the world's origin, so the SRDF has no virtual joint"
        diagnostics.note("no-virtual-joint", message, body.root.at)
        return
    SubElement(
        robot,
        "virtual_joint",
        name=unique_name("world_joint", frames.joint_names),
        type="fixed" if body.is_root_fixed else "floating",
        parent_frame=unique_name(_WORLD, frames.names),
        child_link=frames.root,
    )


def top_pose(body: Body, frames: BodyFrames) -> Pose:
    """Return the pose of the topmost frame in the world."""
    pose = body.root.X_PL
    for frame in reversed(frames.base):
        pose = pose @ frame.pose.inverse()
    return pose


def _is_identity(pose: Pose) -> bool:
    return bool(np.allclose(pose.matrix(), np.eye(4), rtol=0.0, atol=_AT_ORIGIN))


def _add_groups(robot: Element, body: Body, frames: BodyFrames) -> None:
    """Add the groups, then their states and end effectors, which refer to groups."""
    limbs = Limbs(body)
    names = chain_names(limbs.chains, frames.joints, frames.links)
    joints: dict[str, tuple[Link, ...]] = {}
    end_effectors: list[Element] = []
    taken = [*names, _WHOLE]
    for chain, name in zip(limbs.chains, names, strict=True):
        group = SubElement(robot, "group", name=name)
        base, tip = frames.links[chain.base.name], frames.links[chain.tip.name]
        SubElement(group, "chain", base_link=base, tip_link=tip)
        joints[name] = chain.joints
        if chain.ends:
            end = unique_name(f"{name}_end_effector", taken)
            taken.append(end)
            _add_end_group(SubElement(robot, "group", name=end), chain, limbs, frames)
            attributes = {"name": end, "parent_link": tip, "group": end, "parent_group": name}
            end_effectors.append(Element("end_effector", attributes))
            if chain.hand:
                joints[end] = chain.hand
    if len(joints) > 1:
        whole = unique_name(_WHOLE, joints)
        group = SubElement(robot, "group", name=whole)
        for name in joints:
            SubElement(group, "group", name=name)
        # The whole body comes first, as pinocchio uses the first state of a name.
        joints = {whole: tuple(x for xs in joints.values() for x in xs), **joints}
    _add_states(robot, joints, frames)
    robot.extend(end_effectors)


def _add_end_group(group: Element, chain: Chain, limbs: Limbs, frames: BodyFrames) -> None:
    """Add the members of an end effector: fingers, or links fixed to the tip."""
    if chain.hand:
        for link in chain.hand:
            SubElement(group, "joint", name=frames.joints[link.name])
        return
    tip = frames.links[chain.tip.name]
    for name in _fixed_below(chain.tip, limbs, frames) or [tip]:
        SubElement(group, "link", name=name)


def _fixed_below(tip: Link, limbs: Limbs, frames: BodyFrames) -> list[str]:
    """Return the frames of the links and devices that are fixed to the tip of a chain."""
    below: list[str] = []
    todo = list(limbs.children[tip.name])
    while todo:
        link = todo.pop(0)
        below.append(frames.links[link.name])
        todo += limbs.children[link.name]
    rigid = {frames.links[tip.name], *below}
    for frame in frames.fixed:  # each after its parent
        if frame.parent in rigid:
            rigid.add(frame.name)
            below.append(frame.name)
    return below


def _add_states(robot: Element, groups: Mapping[str, Sequence[Link]], frames: BodyFrames) -> None:
    for group, links in groups.items():
        initial = [link.joint.initial for link in links]
        _add_state(robot, "initial", group, links, initial, frames)
    for group, links in groups.items():
        if all(_allows_zero(link.joint) for link in links):
            _add_state(robot, "zero", group, links, [0.0] * len(links), frames)


def _allows_zero(joint: Joint) -> bool:
    lower, upper = joint.position_limits
    return lower <= 0.0 <= upper


def _add_state(
    robot: Element,
    name: str,
    group: str,
    links: Iterable[Link],
    values: Iterable[float],
    frames: BodyFrames,
) -> None:
    state = SubElement(robot, "group_state", name=name, group=group)
    for link, value in zip(links, values, strict=True):
        text = repr(float(value) + 0.0)  # no -0.0
        SubElement(state, "joint", name=frames.joints[link.name], value=text)


def _add_passive_joints(robot: Element, body: Body, frames: BodyFrames) -> None:
    for joint in controlled_joints(body):
        if joint.command_interface is None:
            SubElement(robot, "passive_joint", name=frames.joints[joint.link.name])


def _add_disabled_pairs(
    robot: Element, body: Body, frames: BodyFrames, diagnostics: Diagnostics
) -> None:
    overlapping = []
    for (a, b), reason in disabled_pairs(body).items():
        one, other = frames.links[a], frames.links[b]
        SubElement(robot, "disable_collisions", link1=one, link2=other, reason=reason)
        if reason == "Default":
            overlapping.append(f"'{a}' and '{b}'")
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
