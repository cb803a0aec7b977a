"""A joint path as a serial chain from a fixed base to a target."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..body import Body, Joint, JointType, Link
from ..rigid import Array, Pose
from .fast_dynamics import joint_columns, poses
from .tree import Tree


def links_between(parents: Sequence[int], base: int, target: int) -> tuple[list[int], list[int]]:
    """Return the links whose joints lie between two links, from base to target.

    Returns:
        Links above the base, crossed upwards, and links above the target, crossed downwards.
    """
    up, down = _to_root(parents, base), _to_root(parents, target)
    while up and down and up[-1] == down[-1]:
        up.pop()
        down.pop()
    return up, down[::-1]


def _to_root(parents: Sequence[int], link: int) -> list[int]:
    path = []
    while parents[link] >= 0:
        path.append(link)
        link = parents[link]
    return path


class Chain:
    """Constants of a serial chain of n joints from a base to a target.

    A joint that is crossed upwards, from its link to the parent, has its axis reversed.

    Args:
        body: The model.
        up: Links whose joints are crossed upwards.
        down: Links whose joints are crossed downwards, following ``up``.
    """

    def __init__(self, body: Body, up: list[int], down: list[int]) -> None:
        links = [Link(name="base", parent=None, joint=Joint(type=JointType.FIXED, name="base"))]
        pose = Pose()
        for index in [*up, *down]:
            link, upward = body.links[index], index in up
            pose = pose if upward else pose @ link.X_PL
            if link.joint.moves:
                joint = Joint(
                    type=link.joint.type,
                    name=link.name,
                    id=len(links),
                    axis=-link.joint.axis if upward else link.joint.axis,
                )
                parent = links[-1].name
                links.append(Link(name=f"{index}", parent=parent, joint=joint, X_PL=pose))
                pose = Pose()
            pose = pose @ link.X_PL.inverse() if upward else pose
        fixed = Joint(type=JointType.FIXED, name="target")
        links.append(Link(name="target", parent=links[-1].name, joint=fixed, X_PL=pose))
        self._tree = Tree.of(Body(name="chain", links=tuple(links)))

    def poses(self, q: Array, base_p: Array, base_R: Array) -> Array:
        """Return the frames of base, joints and target in the world, shape (n + 2, 4, 4)."""
        return poses(self._tree, q, base_p, base_R)

    def jacobian(self, T: Array) -> Array:
        """Return the target's linear and angular velocity per joint velocity, shape (6, n)."""
        n = len(self._tree.joint_links)
        p, R = T[:, :3, 3], T[:, :3, :3]
        return joint_columns(self._tree, p, R, np.arange(n), np.ones(n), p[-1])
