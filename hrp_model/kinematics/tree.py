"""What never changes while a Body moves, as flat arrays over its links and joints."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from ..body import JointType
from ..rigid import Array, skew
from .sweep import Step, fill_poses, steps_of

if TYPE_CHECKING:
    from ..body import Body, Link

Indices = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Tree:
    """A Body's constants; k links in the body's order, n joints in the order of q.

    Attributes:
        joint_links: Link that each joint moves, shape (n,).
        link_joints: Joint that moves each link in its parent, or -1, shape (k,).
        axes: What turns and what slides with each joint, as two columns in its link's frame:
            (axis, 0) for a revolute joint, (0, axis) for a prismatic one, shape (n, 3, 2).
        revolute: Whether each joint is revolute, shape (n,).
        mass: In [kg], shape (k,).
        total_mass: In [kg].
        pseudo_inertia: Integral of x x^T dm over each link, with the homogeneous coordinates
            x = (position, 1) in the link's frame, shape (k, 4, 4).
        rotor_inertia: Equivalent rotor inertia of each joint, shape (n,).
        at_zero: Pose of each link in its parent at q = 0, links in ``order``, shape (k, 4, 4).
        motion: What sin q, 1 - cos q and q each add to that, shape (n, 3, 16).
        order: Links by their depth in the tree, shape (k,).
        place: Where each link is in ``order``, shape (k,).
        rounds: See ``poses``: first row, and the rows above all from that one on.
        steps: See ``sweep``.
        parents: Of each link; -1 for the root.
    """

    joint_links: Indices
    link_joints: Indices
    axes: Array
    revolute: NDArray[np.bool_]
    mass: Array
    total_mass: float
    pseudo_inertia: Array
    rotor_inertia: Array
    at_zero: Array
    motion: Array
    order: Indices
    place: Indices
    rounds: tuple[tuple[int, Indices], ...]
    steps: tuple[Step, ...]
    parents: tuple[int, ...]

    @cached_property
    def supports(self) -> Array:
        """1.0 where the link (row) moves with the joint (column), shape (k, n).

        Made when it is asked for: of thousands of links it takes hundreds of megabytes.
        """
        return _supports(self.parents, self.joint_links)

    @cached_property
    def below(self) -> Array:
        """1.0 where the joint (column) lies between the root and the joint (row), shape (n, n).

        0.5 on the diagonal.
        """
        below = self.supports[self.joint_links]
        below[np.diag_indices_from(below)] *= 0.5
        return below

    @staticmethod
    def of(body: Body) -> Tree:
        """Return the constants of a body, gathered at the first call."""
        found = _TREES.get(body)
        if found is None:
            found = _TREES[body] = _gather(body)
        return found

    def branch(self, link: int) -> slice | Indices:
        """Return a link and all links beyond it."""
        if link == 0:
            return slice(None)
        inside = [link]
        for i in range(link + 1, len(self.parents)):
            if self.parents[i] in inside:
                inside.append(i)
        return np.array(inside, dtype=np.intp)

    def poses(self, q: Array, root_p: Array, root_R: Array) -> Array:
        """Return the homogeneous matrices of all links in the world, shape (k, 4, 4).

        T_child = T_parent Trans(b) Rot(Rb) J(q). The products along the branches are
        formed by doubling: after round r each matrix spans 2^r links, so a tree of
        depth d takes log2(d) matrix products over all links at once.
        """
        T = self.at_zero.copy()
        T[0, :3, :3] = root_R
        T[0, :3, 3] = root_p
        half = np.sin(0.5 * q)
        terms = np.array([np.sin(q), 2.0 * half * half, q]).T[:, None, :]
        T[self.place[self.joint_links]] += (terms @ self.motion).reshape(-1, 4, 4)
        for start, above in self.rounds:
            T[start:] = T.take(above, axis=0) @ T[start:]
        return T.take(self.place, axis=0)

    def fill_poses(self, q: Array, p: Array, R: Array) -> None:
        """Compute the poses of all links but the root in m postures.

        Args:
            q: Joint positions, shape (m, n).
            p: Positions, shape (m, k, 3); the root's are given. Fastest if m is innermost
                in memory.
            R: Rotations, shape (m, k, 3, 3), likewise.
        """
        fill_poses(self.steps, q, p.transpose(1, 2, 0), R.transpose(1, 3, 2, 0))


_TREES: WeakKeyDictionary[Body, Tree] = WeakKeyDictionary()


def _gather(body: Body) -> Tree:
    moving, links = body.moving_links, body.links
    joint_links = np.array([body.link_index(x.name) for x in moving], dtype=np.intp)
    link_joints = np.full(len(links), -1, dtype=np.intp)
    link_joints[joint_links] = np.arange(len(moving))
    mass = np.array([x.mass for x in links])
    depth = _depths(body.parent_indices)
    order = np.argsort(depth, kind="stable")
    place = np.argsort(order)
    at_zero = np.array([x.X_PL.matrix() for x in links])
    return Tree(
        joint_links=joint_links,
        link_joints=link_joints,
        axes=np.array([_axes(x) for x in moving]).reshape(-1, 3, 2),
        revolute=np.array([x.joint.type is JointType.REVOLUTE for x in moving], dtype=bool),
        mass=mass,
        total_mass=float(mass.sum()),
        pseudo_inertia=np.array([_pseudo_inertia(x) for x in links]),
        rotor_inertia=np.array([x.joint.equivalent_rotor_inertia for x in moving]),
        at_zero=at_zero[order],
        motion=np.array([_motion(x) for x in moving]).reshape(-1, 3, 16),
        order=order,
        place=place,
        rounds=_rounds(body.parent_indices, order, place),
        steps=steps_of(body),
        parents=body.parent_indices,
    )


def _axes(link: Link) -> Array:
    column = 0 if link.joint.type is JointType.REVOLUTE else 1
    axes = np.zeros((3, 2))
    if link.parent is not None:  # the root's motion is given, not caused by its joint
        axes[:, column] = link.joint.axis
    return axes


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


def _pseudo_inertia(link: Link) -> Array:
    """Return the second moments of a link's mass: those about the centre are tr(I)/2 E - I."""
    x = np.append(link.center_of_mass, 1.0)
    moments = link.mass * np.outer(x, x)
    inertia = (link.inertia + link.inertia.T) / 2.0
    moments[:3, :3] += np.trace(inertia) / 2.0 * np.eye(3) - inertia
    return moments


def _supports(parents: tuple[int, ...], joint_links: Indices) -> Array:
    supports = np.zeros((len(parents), len(joint_links)))
    supports[joint_links, np.arange(len(joint_links))] = 1.0
    supports[0] = 0.0  # a joint above the root moves nothing: the root's motion is given
    for link, parent in enumerate(parents[1:], start=1):
        supports[link] += supports[parent]
    return supports


def _depths(parents: tuple[int, ...]) -> Indices:
    depth = np.zeros(len(parents), dtype=np.intp)
    for link, parent in enumerate(parents[1:], start=1):
        depth[link] = depth[parent] + 1
    return depth


def _rounds(
    parents: tuple[int, ...], order: Indices, place: Indices
) -> tuple[tuple[int, Indices], ...]:
    """Return, for each doubling, the links that have one above their span, and that one."""
    above = np.array([-1 if parents[x] < 0 else place[parents[x]] for x in order], dtype=np.intp)
    rounds: list[tuple[int, Indices]] = []
    while True:
        rows = np.flatnonzero(above >= 0)
        if not len(rows):
            return tuple(rounds)
        # The deeper a link, the longer it has one above: those rows are the last ones.
        rounds.append((int(rows[0]), above[rows]))
        above = np.where(above >= 0, above[above], -1)
