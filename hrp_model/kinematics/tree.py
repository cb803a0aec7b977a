"""What never changes while a Body moves, as flat arrays over its links and joints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..body import JointType
from ..rigid import Array, skew

if TYPE_CHECKING:
    from ..body import Body, Link

Indices = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Tree:
    """A Body's constants; k links in the body's order, n joints in the order of q.

    Attributes:
        joint_links: Link that each joint moves, shape (n,).
        axes: Unit axis of each joint, in its link's frame, shape (n, 3).
        revolute: 1.0 for a revolute joint, 0.0 for a prismatic one, shape (n, 1).
        supports: 1.0 where the link (row) moves with the joint (column), shape (k, n).
        mass: In [kg], shape (k,).
        center_of_mass: In the link's frame, in [m], shape (k, 3).
        inertia: About the centre of mass, link axes, in [kg m^2], shape (k, 3, 3).
        rotor_inertia: Equivalent rotor inertia of each joint, shape (n,).
        at_zero: Pose of each link in its parent at q = 0, shape (k, 4, 4).
        motion: What sin q, 1 - cos q and q each add to that, shape (n, 3, 16).
        rounds: See ``poses``.
    """

    joint_links: Indices
    axes: Array
    revolute: Array
    supports: Array
    mass: Array
    center_of_mass: Array
    inertia: Array
    rotor_inertia: Array
    at_zero: Array
    motion: Array
    rounds: tuple[tuple[Indices, Indices], ...]

    @staticmethod
    def of(body: Body) -> Tree:
        """Gather the constants of a body."""
        moving = body.moving_links
        links = body.links
        joint_links = np.array([body.link_index(x.name) for x in moving], dtype=np.intp)
        return Tree(
            joint_links=joint_links,
            axes=np.array([x.joint.axis for x in moving]).reshape(-1, 3),
            revolute=np.array(
                [[1.0 if x.joint.type is JointType.REVOLUTE else 0.0] for x in moving]
            ).reshape(-1, 1),
            supports=_supports(body.parent_indices, joint_links),
            mass=np.array([x.mass for x in links]),
            center_of_mass=np.array([x.center_of_mass for x in links]),
            inertia=np.array([x.inertia for x in links]),
            rotor_inertia=np.array([x.joint.equivalent_rotor_inertia for x in moving]),
            at_zero=np.array([x.X_PL.matrix() for x in links]),
            motion=np.array([_motion(x) for x in moving]).reshape(-1, 3, 16),
            rounds=_rounds(body.parent_indices),
        )

    def poses(self, q: Array, root_p: Array, root_R: Array) -> tuple[Array, Array]:
        """Return the positions (k, 3) and rotations (k, 3, 3) of all links in the world.

        T_child = T_parent Trans(b) Rot(Rb) J(q). The products along the branches are
        formed by doubling: after round r each matrix spans 2^r links, so a tree of
        depth d takes log2(d) matrix products over all links at once.
        """
        T = self.at_zero.copy()
        T[0, :3, :3] = root_R
        T[0, :3, 3] = root_p
        half = np.sin(0.5 * q)
        terms = np.stack([np.sin(q), 2.0 * half * half, q], axis=-1)[:, None, :]
        T[self.joint_links] += (terms @ self.motion).reshape(-1, 4, 4)
        for rows, above in self.rounds:
            T[rows] = T[above] @ T[rows]
        return T[:, :3, 3], T[:, :3, :3]


def _motion(link: Link) -> Array:
    """Return the terms of Rb (E + sin q [a]x + (1 - cos q) [a]x^2) or b + q Rb a."""
    terms = np.zeros((3, 4, 4))
    R, a = link.X_PL.R, link.joint.axis
    if link.parent is None:  # the root's pose is given, not computed
        return terms.reshape(3, 16)
    if link.joint.type is JointType.REVOLUTE:
        terms[0, :3, :3] = R @ skew(a)
        terms[1, :3, :3] = R @ skew(a) @ skew(a)
    else:
        terms[2, :3, 3] = R @ a
    return terms.reshape(3, 16)


def _supports(parents: tuple[int, ...], joint_links: Indices) -> Array:
    on_path = np.eye(len(parents))
    for link, parent in enumerate(parents[1:], start=1):
        on_path[link] += on_path[parent]
    on_path[:, 0] = 0.0  # a joint above the root moves nothing: the root's motion is given
    return on_path[:, joint_links]


def _rounds(parents: tuple[int, ...]) -> tuple[tuple[Indices, Indices], ...]:
    """Return, for each doubling, the links that have one above their span, and that one."""
    above = np.array(parents, dtype=np.intp)
    rounds: list[tuple[Indices, Indices]] = []
    while True:
        rows = np.flatnonzero(above >= 0)
        if not len(rows):
            return tuple(rounds)
        rounds.append((rows, above[rows]))
        above = np.where(above >= 0, above[above], -1)
