"""Constants of a Body as arrays, and forward kinematics of a batch of postures.

The latter goes link by link, vectorised over the postures. A column of a child's rotation is a sum
of few columns of its parent's: one if its frame is only permuted, two if a joint turns it about a
principal axis. These sums are computed for a block of postures at a time that fits the processor's
cache.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from ..body import Body, JointType, Link
from ..late_dataclass import dataclass
from ..rigid import Array

# Postures per block: many, so that numpy's calls cost little, but few enough that the arrays of
# a link and its parent stay in the cache.
BLOCK = 5120
_LINE = 8  # numbers in a cache line
# A vector as a sum of columns of a rotation, each with its factor.
Terms = tuple[tuple[int, float], ...]
Columns = tuple[Terms, Terms, Terms]
Indices = NDArray[np.intp]


@dataclass(frozen=True)
class Step:
    """How to compute a link's pose from its parent's.

    Attributes:
        parent: Row of the parent.
        joint: Index of the joint in q; None if the link is fixed to its parent.
        offset: Terms of the position at q = 0.
        slide: Terms of the axis of a prismatic joint; none for a revolute joint.
        before: Terms of the columns of the first rotation; none for the identity.
        axis: Column that a revolute joint turns about, and 1.0 or -1.0; None without one.
        after: Terms of the columns of the last rotation; none for the identity.
    """

    parent: int
    joint: int | None
    offset: Terms
    slide: Terms
    before: Columns | tuple[()]
    axis: tuple[int, float] | None
    after: Columns | tuple[()]


def steps_of(body: Body) -> tuple[Step, ...]:
    """Return the steps to all links but the root, parents first."""
    joints = {link.name: i for i, link in enumerate(body.moving_links)}
    return tuple(
        _step(link, parent, joints.get(link.name))
        for link, parent in zip(body.links[1:], body.parent_indices[1:], strict=True)
    )


def fill_poses(steps: Sequence[Step], q: Array, p: Array, columns: Array) -> None:
    """Compute the poses of all links but the root.

    Args:
        steps: Of the body.
        q: Joint positions, shape (m, n).
        p: Positions of the links, shape (k, 3, m); row 0, the root's, is given.
        columns: Columns of the links' rotations, shape (k, 3, 3, m); row 0 is given.
    """
    count = -(-len(q) // BLOCK)
    block = -(-len(q) // (count * _LINE)) * _LINE  # so that each begins with a cache line
    half_angles, scratch = (
        aligned((q.shape[1], block), np.empty),
        aligned((8, 3, block), np.empty),
    )
    with _unbuffered():
        for start in range(0, len(q), block):
            part = slice(start, start + block)
            size = slice(len(q[part]))
            np.multiply(q[part].T, 0.5, out=half_angles[:, size])
            _fill(steps, half_angles[:, size], p[..., part], columns[..., part], scratch[..., size])


@contextmanager
def _unbuffered() -> Iterator[None]:
    """Keep numpy from copying short rows into its buffer first."""
    before = np.setbufsize(16)
    try:
        yield
    finally:
        np.setbufsize(before)


def aligned(shape: tuple[int, ...], allocate: Callable[[int], Array]) -> Array:
    """Return an array of np.empty or np.zeros whose rows are contiguous, each from a cache line on.

    Vector instructions are twice as fast there. The stride is an odd number of cache lines, so
    that rows do not compete for the same cache sets.
    """
    row = (-(-shape[-1] // _LINE) | 1) * _LINE
    count = math.prod(shape[:-1]) * row
    memory = allocate(count + _LINE)
    start = -(memory.ctypes.data // memory.itemsize) % _LINE
    return memory[start : start + count].reshape(*shape[:-1], row)[..., : shape[-1]]


def _fill(
    steps: Sequence[Step], half_angles: Array, p: Array, columns: Array, scratch: Array
) -> None:
    """Compute the poses of one block; ``half_angles`` are half the joint positions, (n, m)."""
    first, second, temporary, (cos, sin, _) = scratch[:3], scratch[3:6], scratch[6], scratch[7]
    for row, step in enumerate(steps, start=1):
        source, target = columns[step.parent], columns[row]
        start, place = p[step.parent], p[row]
        for column, length in step.offset:
            reach = np.multiply(source[column], length, out=temporary)
            start = np.add(start, reach, out=place)
        for column, length in step.slide:
            reach = np.multiply(source[column], half_angles[step.joint], out=temporary)
            reach *= 2.0 * length
            start = np.add(start, reach, out=place)
        if start is not place:
            np.copyto(place, start)
        if step.before:
            into = first if step.axis else target
            _combine(step.before, source, into, temporary)
            source = into
        elif not step.axis:
            np.copyto(target, source)
        if step.axis:
            _cos_sin(half_angles[step.joint], cos, sin)
            turned = second if step.after else target
            _turn(step.axis, source, turned, (cos, sin), temporary)
            if step.after:
                _combine(step.after, second, target, temporary)


def _cos_sin(half_angle: Array, cos: Array, sin: Array) -> None:
    """Compute both from the tangent of the half angle, the function that numpy vectorises."""
    np.tan(half_angle, out=sin)
    np.multiply(sin, sin, out=cos)
    np.add(cos, 1.0, out=cos)
    np.divide(2.0, cos, out=cos)
    np.multiply(sin, cos, out=sin)
    np.subtract(cos, 1.0, out=cos)


def _turn(
    axis: tuple[int, float],
    source: Array,
    target: Array,
    cos_sin: tuple[Array, Array],
    temporary: Array,
) -> None:
    """Turn a frame about one of its axes: columns i, j become c i + s j, c j - s i."""
    still, direction = axis
    i, j = (still + 1) % 3, (still + 2) % 3
    if direction < 0.0:
        i, j = j, i
    cos, sin = cos_sin
    np.copyto(target[still], source[still])
    out = np.multiply(source[i], cos, out=target[i])
    np.add(out, np.multiply(source[j], sin, out=temporary), out=out)
    out = np.multiply(source[j], cos, out=target[j])
    np.subtract(out, np.multiply(source[i], sin, out=temporary), out=out)


def _combine(terms: Columns, source: Array, target: Array, temporary: Array) -> None:
    """Write the sums of columns of ``source`` given by ``terms`` into ``target``."""
    for out, ((column, factor), *more) in zip(target, terms, strict=True):
        np.multiply(source[column], factor, out=out)
        for another, weight in more:
            np.add(out, np.multiply(source[another], weight, out=temporary), out=out)


def _step(link: Link, parent: int, joint: int | None) -> Step:
    before, slide, axis, after = link.X_PL.R, np.zeros(3), None, np.eye(3)
    if joint is not None and link.joint.type is JointType.PRISMATIC:
        slide = before @ link.joint.axis
    elif joint is not None and link.joint.axis.any():
        still = int(np.abs(link.joint.axis).argmax())
        if np.count_nonzero(link.joint.axis) == 1:
            axis = (still, float(link.joint.axis[still]))
        else:
            axis, to_axis = (2, 1.0), _from_z(link.joint.axis)
            before, after = before @ to_axis, to_axis.T
    return Step(
        parent=parent,
        joint=joint,
        offset=_terms(link.X_PL.p),
        slide=_terms(slide),
        before=_columns(before),
        axis=axis,
        after=_columns(after),
    )


def _from_z(axis: Array) -> Array:
    """Return a rotation that maps Z to a unit vector, shape (3, 3)."""
    other = np.zeros(3)
    other[np.abs(axis).argmin()] = 1.0
    y = np.cross(axis, other)
    y /= np.linalg.norm(y)
    return np.column_stack([np.cross(y, axis), y, axis])


def _columns(R: Array) -> Columns | tuple[()]:
    if np.array_equal(R, np.eye(3)):
        return ()
    x, y, z = (_terms(R[:, i]) for i in range(3))
    return x, y, z


def _terms(vector: Array) -> Terms:
    return tuple((i, float(x)) for i, x in enumerate(vector) if x != 0.0)


@dataclass(frozen=True, eq=False)
class Tree:
    """Constants of a Body; k links in the body's order, n joints in the order of q.

    Attributes:
        joint_links: Link that each joint moves, shape (n,).
        link_joints: Joint that moves each link in its parent, or -1, shape (k,).
        mass: In [kg], shape (k,).
        total_mass: In [kg].
        first_moments: Mass times centre of mass of each link in its frame, in [kg m], shape (k, 3).
        rotor_inertia: Equivalent rotor inertia of each joint, shape (n,).
        steps: Steps of ``sweep.fill_poses``.
        parents: Parent of each link; -1 for the root.
        packed: Arguments of the functions of ``_dynamics``: each link's parent and joint, or -1,
            shape (k, 2); and its constants, shape (k, 29).
    """

    joint_links: Indices
    link_joints: Indices
    mass: Array
    total_mass: float
    first_moments: Array
    rotor_inertia: Array
    steps: tuple[Step, ...]
    parents: tuple[int, ...]
    packed: tuple[NDArray[np.int64], Array]

    @cached_property
    def supports(self) -> Array:
        """1.0 where the link (row) moves with the joint (column), shape (k, n).

        Computed on first use: for thousands of links it takes hundreds of megabytes.
        """
        return _supports(self.parents, self.joint_links)

    @staticmethod
    def of(body: Body) -> Tree:
        """Return the constants of a body, computed at the first call."""
        tree = _CACHE.get(body)
        if tree is None:
            tree = _CACHE[body] = _tree(body)
        return tree

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
        mass=mass,
        total_mass=float(mass.sum()),
        first_moments=mass[:, None] * np.array([x.center_of_mass for x in links]),
        rotor_inertia=rotor_inertia,
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
