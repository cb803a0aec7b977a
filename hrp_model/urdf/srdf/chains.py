"""The limbs of a robot: chains of joints between the links where it branches."""

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
    """Joints one after the other.

    Attributes:
        base: The link that the first joint stands on.
        tip: The link that the last joint moves.
        joints: The links of its moving joints, from base to tip.
        hand: The links of the moving joints beyond the tip, when these are small: when no
            branch beyond the tip has as many joints as the chain itself.
        ends: Whether nothing else moves beyond the tip.
    """

    base: Link
    tip: Link
    joints: tuple[Link, ...]
    hand: tuple[Link, ...] = ()
    ends: bool = True


class Limbs:
    """Finds the chains of a body.

    Attributes:
        children: Links fixed to a link by a joint, by its name; one that floats is no child.
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
            below = [self._reach(child) for child in self.children[link.name]]
            self._depth[link.name] = max(below, default=0)
        self.chains: list[Chain] = []
        for start in starts:
            self._find(start)

    def _reach(self, link: Link) -> int:
        """Return the most moving joints on a way from above a link to a tip."""
        return self._depth[link.name] + link.joint.moves

    def _branches(self, link: Link) -> list[Link]:
        return [child for child in self.children[link.name] if self._reach(child)]

    def _find(self, start: Link) -> None:
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
        found, todo = [], list(reversed(self.children[link.name]))
        while todo:
            below = todo.pop()
            found += [below] if below.joint.moves else []
            todo += reversed(self.children[below.name])
        return tuple(found)


def chain_names(
    chains: Iterable[Chain], joints: Mapping[str, str], links: Mapping[str, str]
) -> list[str]:
    """Return a name for each chain: what its joints' names begin with, else that of its tip.

    A side alone is completed, "L" of L_SHOULDER and L_ELBOW to L_ARM, and a single chain of
    joints with numbers for names is the "manipulator". Names are unique, of letters, digits
    and underscores.

    Args:
        chains: The chains of a body.
        joints: Name of the joint above each link, by link name.
        links: Frame of each link, by link name.
    """
    chains = list(chains)
    wanted = [_common_name([joints[link.name] for link in chain.joints]) for chain in chains]
    names: list[str] = []
    for chain, name in zip(chains, wanted, strict=True):
        if len(name) < 2 or wanted.count(name) > 1:
            tip = _UNSAFE.sub("_", links[chain.tip.name]).strip("_")
            limb = _limb([joints[link.name] for link in chain.joints])
            name = f"{name}_{limb}" if name and limb else tip
            name = "manipulator" if len(chains) == 1 else name
        if not name[:1].isalpha():
            name = f"chain_{name}".rstrip("_")
        names.append(unique_name(name, names))
    return names


def _limb(names: Iterable[str]) -> str | None:
    """Return which limb of a humanoid joints with these names belong to."""
    text = " ".join(names).upper()
    found = [limb for limb, words in _LIMBS.items() if any(word in text for word in words)]
    return found[0] if len(found) == 1 else None


def _common_name(names: Sequence[str]) -> str:
    """Return the words that names begin with, without a last "joint" and numbers."""
    columns = zip(*names, strict=False)
    prefix = "".join(x[0] for x in takewhile(lambda column: len(set(column)) == 1, columns))
    if any(_splits_word(name, len(prefix)) for name in names):
        prefix = re.sub(r"[A-Za-z]+$", "", prefix)
    while prefix != (shorter := _WORD_ENDS.sub("", prefix)):
        prefix = shorter
    return _UNSAFE.sub("_", prefix).strip("_")


def _splits_word(name: str, at: int) -> bool:
    """Tell whether letters before and after a place belong to one word."""
    before, after = name[at - 1 : at], name[at : at + 1]
    if not (before.isalpha() and after.isalpha()):
        return False
    return not (before.islower() and after.isupper())
