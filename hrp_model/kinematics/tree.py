"""Constants of a Body as arrays over its links and joints."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from ..body import Body, JointType, Link
from ..rigid import Array, skew
from .sweep import Step, fill_poses, steps_of

Indices = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Tree:
    """Constants of a Body; k links in the body's order, n joints in the order of q.

    Attributes:
        joint_links: Link that each joint moves, shape (n,).
        link_joints: Joint that moves each link in its parent, or -1, shape (k,).
        axes: Rotation axis and translation axis of each joint in its link's frame, as columns:
            (axis, 0) for a revolute joint, (0, axis) for a prismatic one, shape (n, 3, 2).
        revolute: Whether each joint is revolute, shape (n,).
        mass: In [kg], shape (k,).
        total_mass: In [kg].
        pseudo_inertia: Integral of x x^T dm over each link, with the homogeneous coordinates
            x = (position, 1) in the link's frame, shape (k, 4, 4).
        rotor_inertia: Equivalent rotor inertia of each joint, shape (n,).
        at_zero: Pose of each link in its parent at q = 0, links in ``order``, shape (k, 4, 4).
        motion: Factors of sin q, 1 - cos q and q to be added to that, shape (n, 3, 16).
        order: Links by their depth in the tree, shape (k,).
        place: Index of each link in ``order``, shape (k,).
        rounds: For each round of ``poses``: the first row, and the rows that those from it on
            are multiplied with.
        steps: Steps of ``sweep.fill_poses``.
        parents: Parent of each link; -1 for the root.
        packed: Arguments of the functions of ``_dynamics``: each link's parent and joint, or -1,
            shape (k, 2); and its constants, shape (k, 29).
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
    packed: tuple[NDArray[np.int64], Array]

    @cached_property
    def supports(self) -> Array:
        """1.0 where the link (row) moves with the joint (column), shape (k, n).

        Computed on first use: for thousands of links it takes hundreds of megabytes.
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
        """Return the constants of a body, computed at the first call."""
        tree = _CACHE.get(body)
        if tree is None:
            tree = _CACHE[body] = _tree(body)
        return tree

    def branch(self, link: int) -> slice | Indices:
        """Return a link and all links below it."""
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
            p: Positions, shape (m, k, 3); those of the root are input. Fastest if m is
                innermost in memory.
            R: Rotations, shape (m, k, 3, 3), likewise.
        """
        fill_poses(self.steps, q, p.transpose(1, 2, 0), R.transpose(1, 3, 2, 0))


_CACHE: WeakKeyDictionary[Body, Tree] = WeakKeyDictionary()


def _tree(body: Body) -> Tree:
    moving, links = body.moving_links, body.links
    joint_links = np.array([body.link_index(x.name) for x in moving], dtype=np.intp)
    link_joints = np.full(len(links), -1, dtype=np.intp)
    link_joints[joint_links] = np.arange(len(moving))
    mass = np.array([x.mass for x in links])
    depth = _depths(body.parent_indices)
    order = np.argsort(depth, kind="stable")
    place = np.argsort(order)
    at_zero = np.array([x.X_PL.matrix() for x in links])
    axes = np.array([_axes(x) for x in moving]).reshape(-1, 3, 2)
    rotor_inertia = np.array([x.joint.equivalent_rotor_inertia for x in moving])
    constants = np.zeros((len(links), 29))
    constants[joint_links, :6] = axes.swapaxes(-1, -2).reshape(-1, 6)
    constants[joint_links, 6] = rotor_inertia
    constants[:, 7] = mass
    constants[:, 8:11] = [x.center_of_mass for x in links]
    constants[:, 11:17] = [_six_moments(x) for x in links]
    constants[:, 17:20] = [x.X_PL.p for x in links]
    constants[:, 20:] = [x.X_PL.R.T.ravel() for x in links]
    return Tree(
        joint_links=joint_links,
        link_joints=link_joints,
        axes=axes,
        revolute=np.array([x.joint.type is JointType.REVOLUTE for x in moving], dtype=bool),
        mass=mass,
        total_mass=float(mass.sum()),
        pseudo_inertia=np.array([_pseudo_inertia(x) for x in links]),
        rotor_inertia=rotor_inertia,
        at_zero=at_zero[order],
        motion=np.array([_motion(x) for x in moving]).reshape(-1, 3, 16),
        order=order,
        place=place,
        rounds=_rounds(body.parent_indices, order, place),
        steps=steps_of(body),
        parents=body.parent_indices,
        packed=(np.column_stack([body.parent_indices, link_joints]).astype(np.int64), constants),
    )


def _axes(link: Link) -> Array:
    column = 0 if link.joint.type is JointType.REVOLUTE else 1
    axes = np.zeros((3, 2))
    if link.parent is not None:  # the motion of the root is input, not caused by its joint
        axes[:, column] = link.joint.axis
    return axes


def _motion(link: Link) -> Array:
    """Return the terms of Rb (E + sin q [a]x + (1 - cos q) [a]x^2) or b + q Rb a."""
    terms = np.zeros((3, 4, 4))
    R, a = link.X_PL.R, link.joint.axis
    if link.parent is None:  # the pose of the root is input, not computed
        return terms.reshape(3, 16)
    if link.joint.type is JointType.REVOLUTE:
        terms[0, :3, :3] = R @ skew(a)
        terms[1, :3, :3] = R @ skew(a) @ skew(a)
    else:
        terms[2, :3, 3] = R @ a
    return terms.reshape(3, 16)


def _pseudo_inertia(link: Link) -> Array:
    """Return the pseudo-inertia; its second moments about the centre are tr(I)/2 E - I."""
    x = np.append(link.center_of_mass, 1.0)
    moments = link.mass * np.outer(x, x)
    inertia = (link.inertia + link.inertia.T) / 2.0
    moments[:3, :3] += np.trace(inertia) / 2.0 * np.eye(3) - inertia
    return moments


def _six_moments(link: Link) -> Array:
    """Return the moments and products of inertia xx, yy, zz, xy, xz, yz about the centre."""
    inertia = (link.inertia + link.inertia.T) / 2.0
    return inertia[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]


def _supports(parents: tuple[int, ...], joint_links: Indices) -> Array:
    supports = np.zeros((len(parents), len(joint_links)))
    supports[joint_links, np.arange(len(joint_links))] = 1.0
    supports[0] = 0.0  # a joint above the root moves nothing: the root's motion is input
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
    """Return, for each doubling, the first link with one above its span, and the links above."""
    above = np.array([-1 if parents[x] < 0 else place[parents[x]] for x in order], dtype=np.intp)
    rounds: list[tuple[int, Indices]] = []
    while True:
        rows = np.flatnonzero(above >= 0)
        if not len(rows):
            return tuple(rounds)
        # Links are sorted by depth, so the rows that still have a link above are the last ones.
        rounds.append((int(rows[0]), above[rows]))
        above = np.where(above >= 0, above[above], -1)
