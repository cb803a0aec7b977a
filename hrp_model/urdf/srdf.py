"""Body to SRDF, for MoveIt and pinocchio: chains, and pairs of links without collision tests."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, takewhile
from types import MappingProxyType
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

import numpy as np

from ..body import Body, Joint, JointType, Link, link_pair
from ..diagnostics import Diagnostics
from ..frames import BodyFrames, initial_poses, legal_name, unique_name
from ..geometry import Mesh
from ..kinematics.actuation import controlled_joints
from ..rigid import Pose
from ..shapes.measure import overlap
from ..shapes.tessellate import shape_mesh, transformed
from .shapes import is_empty

_UNSAFE = re.compile(r"[^A-Za-z0-9_]+")
_LIMBS = {"LEG": ("HIP", "KNEE", "ANKLE"), "ARM": ("SHOULDER", "ELBOW", "WRIST")}
_WORD_ENDS = re.compile(r"[_\-. /:]+$|\d+$|(?<![A-Za-z])(?:joint|link|j)$", re.IGNORECASE)
_WORLD = "world"
_WHOLE = "whole_body"
_AT_ORIGIN = 1e-9


def disabled_pairs(body: Body) -> Mapping[tuple[str, str], str]:
    """Return pairs of link names, in the order of ``Body.links``, with MoveIt's reason.

    * Adjacent: one is above the other with no collision shape between them, or both are fixed
      to the same link and cannot move relative to each other.
    * User: the model disables their collisions.
    * Default: they overlap in the model's initial posture.

    Links without collision shapes are left out. Unlike MoveIt's setup assistant, this does not
    sample random postures to find pairs that never collide.
    """
    shapes = {link.name: _collision_meshes(link) for link in body.links}
    solid = [link.name for link in body.links if shapes[link.name]]
    adjacent = _adjacent(body, frozenset(solid))
    rigid = _rigid_groups(body)
    placed = _placed(body, {name: shapes[name] for name in solid})
    reasons: dict[tuple[str, str], str] = {}
    for a, b in combinations(solid, 2):
        pair = link_pair(a, b)
        if pair in adjacent or rigid[a] == rigid[b]:
            reasons[a, b] = "Adjacent"
        elif pair in body.self_collision_disabled:
            reasons[a, b] = "User"
        elif overlap(placed[a], placed[b]):
            reasons[a, b] = "Default"
    return MappingProxyType(reasons)


def _collision_meshes(link: Link) -> list[Mesh]:
    return [shape_mesh(s, solid=True) for s in link.collision if not is_empty(s)]


def _placed(body: Body, shapes: Mapping[str, list[Mesh]]) -> dict[str, list[Mesh]]:
    """Return the meshes in world coordinates, in the initial posture."""
    poses = initial_poses(body)
    return {
        name: [transformed(mesh, poses[name].matrix()) for mesh in meshes]
        for name, meshes in shapes.items()
    }


def _adjacent(body: Body, solid: frozenset[str]) -> frozenset[frozenset[str]]:
    """Return the pairs of a solid link and the next solid one above it."""
    solid_above: dict[str, str | None] = {}
    pairs = set()
    for link in body.links:
        parent = None if link.joint.type is JointType.FREE else link.parent
        nearest = parent if parent is None or parent in solid else solid_above[parent]
        solid_above[link.name] = nearest
        if nearest is not None and link.name in solid:
            pairs.add(link_pair(link.name, nearest))
    return frozenset(pairs)


def _rigid_groups(body: Body) -> dict[str, str]:
    """Return, by link name, the topmost of the links that a link is rigidly fixed to."""
    top: dict[str, str] = {}
    for link in body.links:
        if link.parent is not None and link.joint.is_fixed:
            top[link.name] = top[link.parent]
        else:
            top[link.name] = link.name
    return top


@dataclass(frozen=True, eq=False)
class Chain:
    """A serial chain of joints.

    Attributes:
        base: The parent link of the first joint.
        tip: The link that the last joint moves.
        joints: The links of its moving joints, from base to tip.
        hand: The links of the moving joints below the tip, if every branch below the tip has
            fewer joints than the chain itself.
        ends: Whether nothing else moves below the tip.
    """

    base: Link
    tip: Link
    joints: tuple[Link, ...]
    hand: tuple[Link, ...] = ()
    ends: bool = True


class Limbs:
    """The chains of a body.

    Attributes:
        children: Child links by link name, without floating ones.
        chains: Each moving joint is in one of them, or in the hand of one.
    """

    def __init__(self, body: Body) -> None:
        self.children: dict[str, list[Link]] = {link.name: [] for link in body.links}
        self._depth: dict[str, int] = dict.fromkeys(self.children, 0)
        starts = [body.root]
        for link in body.links[1:]:
            if link.joint.type is JointType.FREE:
                starts.append(link)
            elif link.parent is not None:
                self.children[link.parent].append(link)
        for link in reversed(body.links):  # children before their parents
            below = [self._num_joints(child) for child in self.children[link.name]]
            self._depth[link.name] = max(below, default=0)
        self.chains: list[Chain] = []
        for start in starts:
            self._add_chains(start)

    def _num_joints(self, link: Link) -> int:
        """Return the largest number of moving joints from a link's own to a tip."""
        return self._depth[link.name] + link.joint.moves

    def _branches(self, link: Link) -> list[Link]:
        return [child for child in self.children[link.name] if self._num_joints(child)]

    def _add_chains(self, start: Link) -> None:
        todo = [(start, branch) for branch in reversed(self._branches(start))]
        while todo:
            base, link = todo.pop()
            joints = [link] if link.joint.moves else []
            while len(branches := self._branches(link)) == 1:
                (link,) = branches
                joints += [link] if link.joint.moves else []
            is_hand = 0 < self._depth[link.name] < len(joints)
            hand = self._moving_below(link) if is_hand else ()
            if joints:
                ends = is_hand or not branches
                self.chains.append(Chain(base, link, tuple(joints), hand, ends))
            if not is_hand:
                todo += [(link, branch) for branch in reversed(branches)]

    def _moving_below(self, link: Link) -> tuple[Link, ...]:
        moving, todo = [], list(reversed(self.children[link.name]))
        while todo:
            below = todo.pop()
            moving += [below] if below.joint.moves else []
            todo += reversed(self.children[below.name])
        return tuple(moving)


def chain_names(
    chains: Iterable[Chain], joints: Mapping[str, str], links: Mapping[str, str]
) -> list[str]:
    """Return a name for each chain: the common prefix of its joints' names, else its tip's name.

    A single letter for a side is completed, such as "L" of L_SHOULDER and L_ELBOW to L_ARM, and
    a single chain of numbered joints is the "manipulator". Names are unique, and consist of
    letters, digits and underscores.

    Args:
        chains: The chains of a body.
        joints: Name of the joint above each link, by link name.
        links: Frame of each link, by link name.
    """
    chains = list(chains)
    prefixes = [_common_prefix([joints[link.name] for link in chain.joints]) for chain in chains]
    names: list[str] = []
    for chain, name in zip(chains, prefixes, strict=True):
        if len(name) < 2 or prefixes.count(name) > 1:
            tip = _UNSAFE.sub("_", links[chain.tip.name]).strip("_")
            limb = _limb([joints[link.name] for link in chain.joints])
            name = f"{name}_{limb}" if name and limb else tip
            name = "manipulator" if len(chains) == 1 else name
        if not name[:1].isalpha():
            name = f"chain_{name}".rstrip("_")
        names.append(unique_name(name, names))
    return names


def _limb(names: Iterable[str]) -> str | None:
    """Return the limb of a humanoid that joints with these names belong to, if it is certain."""
    text = " ".join(names).upper()
    limbs = [limb for limb, words in _LIMBS.items() if any(word in text for word in words)]
    return limbs[0] if len(limbs) == 1 else None


def _common_prefix(names: Sequence[str]) -> str:
    """Return the common first words of names, without a trailing "joint" or number."""
    columns = zip(*names, strict=False)
    prefix = "".join(x[0] for x in takewhile(lambda column: len(set(column)) == 1, columns))
    if any(_splits_word(name, len(prefix)) for name in names):
        prefix = re.sub(r"[A-Za-z]+$", "", prefix)
    while prefix != (shorter := _WORD_ENDS.sub("", prefix)):
        prefix = shorter
    return _UNSAFE.sub("_", prefix).strip("_")


def _splits_word(name: str, at: int) -> bool:
    """Return whether the characters before and at an index belong to one word."""
    before, after = name[at - 1 : at], name[at : at + 1]
    if not (before.isalpha() and after.isalpha()):
        return False
    return not (before.islower() and after.isupper())


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
