"""Kinematic chains of a robot between the links where it branches, and their names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile

from ...body import Body, JointType, Link
from ...frames import unique_name

_UNSAFE = re.compile(r"[^A-Za-z0-9_]+")
_LIMBS = {"LEG": ("HIP", "KNEE", "ANKLE"), "ARM": ("SHOULDER", "ELBOW", "WRIST")}
_WORD_ENDS = re.compile(r"[_\-. /:]+$|\d+$|(?<![A-Za-z])(?:joint|link|j)$", re.IGNORECASE)


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
