"""Planning groups of a robot: the chains of its joints, its arms together, and its grippers."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping, Sequence
from itertools import takewhile
from math import isfinite

import numpy as np

from ...body import Body, JointType, Link
from ...frames import BodyFrames, initial_poses, unique_name
from ...kinematics.actuation import controlled_joints
from ...kinematics.state import BodyState
from ...late_dataclass import dataclass
from ...rigid import Array
from ...shapes.measure import geometry_box, union

_UNSAFE = re.compile(r"[^A-Za-z0-9_]+")
_LIMBS = {
    "LEG": ("LEG", "HIP", "KNEE", "ANKLE"),
    "ARM": ("ARM", "SHOULDER", "ELBOW", "WRIST"),
    "HEAD": ("HEAD", "NECK"),
}
_WORD_ENDS = re.compile(r"[_\-. /:]+$|\d+$|(?<![A-Za-z])(?:joint|link|j)$", re.IGNORECASE)
WHOLE, BOTH_ARMS, UPPER_BODY = "whole_body", "both_arms", "upper_body"
_MIN_ARM_JOINTS = 3
_MIN_CLOSING = 0.1  # of the distance of fingers to their middle
# Tips this much of the robot's height above its lowest tip are feet, too.
_FOOT_HEIGHT = 0.1


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


@dataclass(frozen=True, eq=False)
class Group:
    """A planning group.

    Attributes:
        name: Unique; letters, digits and underscores.
        joints: The links of its moving joints.
        base, tip: Frames at the ends of a chain; empty for other groups.
        links: Frames of an end effector without joints.
        subgroups: Names of the groups that it consists of.
        parent: The group whose tip carries it, if it is an end effector; else empty.
        is_arm: Whether it is a chain that is no leg and can place its tip.
        is_leg: Whether it is a chain on which the robot stands.
    """

    name: str
    joints: tuple[Link, ...]
    base: str = ""
    tip: str = ""
    links: tuple[str, ...] = ()
    subgroups: tuple[str, ...] = ()
    parent: str = ""
    is_arm: bool = False
    is_leg: bool = False

    @property
    def is_gripper(self) -> bool:
        """Whether it is an end effector with joints."""
        return bool(self.parent and self.joints)


def planning_groups(body: Body, frames: BodyFrames) -> list[Group]:
    """Return the groups of a body, each after those that it consists of.

    A chain for each limb, each followed by its end effector: a gripper if joints move it. Then, if
    there are several, the arms together, the upper body, and the whole body.

    Args:
        body: The robot.
        frames: Its names in the URDF.
    """
    limbs = Limbs(body)
    names = chain_names(limbs.chains, frames.joints, frames.links)
    arms, legs = _arms_and_legs(body, limbs.chains, names)
    found: list[Group] = []
    taken = [*names, WHOLE, BOTH_ARMS, UPPER_BODY]
    for chain, name in zip(limbs.chains, names, strict=True):
        base, tip = frames.links[chain.base.name], frames.links[chain.tip.name]
        is_arm, is_leg = name in arms, name in legs
        found.append(Group(name, chain.joints, base, tip, is_arm=is_arm, is_leg=is_leg))
        if chain.ends:
            kind = "gripper" if chain.hand else "end_effector"
            end = unique_name(f"{name}_{kind}", taken)
            taken.append(end)
            fixed = () if chain.hand else _fixed_below(chain.tip, limbs, frames)
            found.append(Group(end, chain.hand, links=fixed, parent=name))
    return found + _combined(found, names, legs)


def _combined(groups: Sequence[Group], names: Sequence[str], legs: Container[str]) -> list[Group]:
    """Return the groups that consist of chains of these names."""
    by_name = {group.name: group for group in groups}
    arms = [name for name in names if by_name[name].is_arm]
    members = {BOTH_ARMS: arms if len(arms) > 1 else []}
    if arms and legs:
        members[UPPER_BODY] = [name for name in names if name not in legs]
    members[WHOLE] = list(names)
    found: list[Group] = []
    for name, parts in members.items():
        if len(parts) > 1 and parts not in [list(group.subgroups) for group in found]:
            joints = tuple(link for part in parts for link in by_name[part].joints)
            found.append(Group(unique_name(name, by_name), joints, subgroups=tuple(parts)))
    return found


def _arms_and_legs(
    body: Body, chains: Sequence[Chain], names: Sequence[str]
) -> tuple[set[str], set[str]]:
    """Return the names of the chains that are arms, and of those that are legs.

    Chains are what their names say or, where these say nothing, legs if they stand at the lowest
    point of a free robot. An arm has at least three joints with motors.
    """
    driven = {j.link.name for j in controlled_joints(body) if j.command_interface is not None}
    poses = initial_poses(body)
    heights = [float(poses[link.name].p[2]) for link in body.links]
    foot = min(heights) + _FOOT_HEIGHT * (max(heights) - min(heights))
    arms, legs = set(), set()
    for chain, name in zip(chains, names, strict=True):
        limb = _limb([name, *(link.joint.name for link in chain.joints)])
        if limb is None and not body.is_root_fixed and poses[chain.tip.name].p[2] <= foot:
            limb = "LEG"
        motors = sum(link.name in driven for link in chain.joints)
        if chain.ends and motors >= _MIN_ARM_JOINTS and limb in ("ARM", None):
            arms.add(name)
        elif limb == "LEG":
            legs.add(name)
    return arms, legs


def _fixed_below(tip: Link, limbs: Limbs, frames: BodyFrames) -> tuple[str, ...]:
    """Return the frames of the links and devices fixed to the tip of a chain, or else its own."""
    below: list[str] = []
    todo = list(limbs.children[tip.name])
    while todo:
        link = todo.pop(0)
        if link.joint.is_fixed:
            below.append(frames.links[link.name])
            todo += limbs.children[link.name]
    rigid = {frames.links[tip.name], *below}
    for frame in frames.fixed:  # each after its parent
        if frame.parent in rigid:
            rigid.add(frame.name)
            below.append(frame.name)
    return tuple(below) or (frames.links[tip.name],)


def gripper_postures(
    body: Body, fingers: Sequence[Link]
) -> tuple[dict[str, float], dict[str, float]] | None:
    """Return the open and the closed posture of a gripper, as positions by link name.

    Closed is the end of each joint's range, in [rad] or [m], at which its link is nearest to the
    middle of all fingers. None if a range is infinite, or if this tells nothing.

    Args:
        body: The robot.
        fingers: The links of the gripper's joints.
    """
    limits = [link.joint.position_limits for link in fingers]
    if not fingers or not all(isfinite(value) for pair in limits for value in pair):
        return None
    state = BodyState(body)
    indices = [body.moving_links.index(link) for link in fingers]
    centers = np.zeros((2, len(fingers), 3))  # at the lower and upper ends
    for end in range(2):
        state.q[indices] = [pair[end] for pair in limits]
        state.calc_forward_kinematics()
        centers[end] = [_center(body, state, link) for link in fingers]
    middle = centers.mean(axis=(0, 1))
    distances = np.linalg.norm(centers - middle, axis=2)
    if np.abs(distances[1] - distances[0]).min() < _MIN_CLOSING * distances.mean():
        return None
    is_upper_closed = distances[1] < distances[0]
    opened, closed = {}, {}
    for link, (lower, upper), upper_closes in zip(fingers, limits, is_upper_closed, strict=True):
        opened[link.name], closed[link.name] = (lower, upper) if upper_closes else (upper, lower)
    return opened, closed


def _center(body: Body, state: BodyState, link: Link) -> Array:
    index = body.link_index(link.name)
    T_WL = np.eye(4)
    T_WL[:3, :3], T_WL[:3, 3] = state.R[index], state.p[index]
    boxes = (geometry_box(shape.geometry) for shape in link.visual or link.collision)
    shapes = link.visual or link.collision
    box = union(
        found.transformed(T_WL @ shape.T_FG)
        for shape, found in zip(shapes, boxes, strict=True)
        if found is not None
    )
    return state.p[index] if box is None else box.center
