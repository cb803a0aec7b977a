"""Dynamics of all postures at once: by the compiled extension, else by ``dynamics`` in parts.

Both compute the same up to rounding; the extension is many times faster.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from ..rigid import Array
from . import dynamics
from .arrays import Arrays
from .tree import Indices, Tree

try:
    from . import _dynamics as fast

    built = True
except ImportError:
    built = False

# Postures that numpy computes at a time: their matrices fit the cache.
POSTURES_AT_A_TIME = 64


def write_poses(tree: Tree, q: Array, p: Array, R: Array) -> None:
    """Fill in p and R of all links but the root."""
    if q.ndim > 1:
        tree.fill_poses(q, p, R)
    elif built:
        fast.poses(*tree.packed, q, p, R)
    else:
        T = tree.poses(q, p[0], R[0])
        p[1:], R[1:] = T[1:, :3, 3], T[1:, :3, :3]


def poses(tree: Tree, q: Array, root_p: Array, root_R: Array) -> Array:
    """Return the homogeneous matrices of all links in one posture, shape (k, 4, 4)."""
    if not built:
        return tree.poses(q, root_p, root_R)
    T = np.zeros((len(tree.parents), 4, 4))
    T[:, 3, 3] = 1.0
    T[0, :3, :3], T[0, :3, 3] = root_R, root_p
    fast.poses(*tree.packed, q, T[:, :3, 3], T[:, :3, :3])
    return T


def joint_columns(
    tree: Tree, p: Array, R: Array, joints: Indices, signs: Array, point: Array
) -> Array:
    """Return the velocity of a point per unit of velocity of some joints, times their signs.

    Args:
        tree: Constants of the body.
        p: Positions of the links, shape (..., k, 3).
        R: Rotations of the links, shape (..., k, 3, 3).
        joints: The joints, shape (c,).
        signs: A factor for each of them, shape (c,).
        point: The moving point, shape (..., 3).

    Returns:
        Linear rows, then angular rows, shape (..., 6, c).
    """
    links = tree.joint_links[joints]
    if not built:
        axes = tree.axes[joints] * signs[:, None, None]
        return dynamics.joint_columns(p[..., links, :], R[..., links, :, :], axes, point)
    matrix = np.empty((*p.shape[:-2], 2, 3, len(links)))
    fast.columns(*tree.packed, p, R, links, signs, point, matrix)
    return matrix.reshape(*p.shape[:-2], 6, len(links))


def write_motions(tree: Tree, a: Arrays, accelerations: bool) -> None:
    """Fill in v and w of all links but the root and, on request, dv and dw."""
    if not built:
        for _, part in _parts(a, POSTURES_AT_A_TIME):
            dynamics.write_motions(tree, part, accelerations)
        return
    motion = a.p, a.R, a.dq, a.ddq, a.v, a.w, a.dv, a.dw
    fast.motions(*tree.packed, *motion, accelerations)


def inverse_dynamics(tree: Tree, a: Arrays, link: int) -> Array:
    """Fill in u and all motions.

    Returns:
        The force that supports a link and those below it and its moment about the world's
        origin, shape (..., 6).
    """
    if not built:
        return _by_numpy(a, lambda part: dynamics.inverse_dynamics(tree, part, link))
    wrench = np.empty((*a.q.shape[:-1], 6))
    motion = a.p, a.R, a.dq, a.ddq, a.v, a.w, a.dv, a.dw
    fast.forces(*tree.packed, *motion, a.u, wrench, link)
    return wrench


def gravity_efforts(tree: Tree, a: Arrays, gravity: float) -> Array:
    """Return the joint efforts that balance gravity, shape (..., n)."""
    if not built:
        return _by_numpy(a, lambda part: dynamics.gravity_efforts(tree, part, gravity))
    efforts = np.empty(a.q.shape)
    fast.weights(*tree.packed, a.p, a.R, efforts, gravity)
    return efforts


def momenta(tree: Tree, a: Arrays) -> Array:
    """Return the first six columns of ``mass_matrix``, shape (..., 6 + n, 6).

    A row is the momentum, linear and about the root's origin, if the root moves at unit speed
    along or about an axis, or one joint moves.
    """
    if not built:
        return _by_numpy(a, lambda part: dynamics.momenta(tree, part))
    return _inertias(tree, a, 6, 0)


def mass_matrix(tree: Tree, a: Arrays, fix_root: bool) -> Array:
    """Return the inertia matrix, shape (..., 6 + n, 6 + n), or (..., n, n) with a fixed root."""
    first = 6 if fix_root else 0
    if not built:
        return _by_numpy(a, lambda part: dynamics.mass_matrix(tree, part)[..., first:, first:])
    return _inertias(tree, a, 6 + a.q.shape[-1] - first, first)


def _inertias(tree: Tree, a: Arrays, columns: int, first: int) -> Array:
    *lead, n = a.q.shape
    matrix = np.zeros((*lead, 6 + n - first, columns))
    fast.inertias(*tree.packed, a.p, a.R, matrix, n, first)
    return matrix


def in_parts(a: Arrays, compute: Callable[[Arrays], Array], size: int) -> Array:
    """Return a function's values for all postures, computed for some of them at a time."""
    if a.q.ndim == 1:
        return compute(a)
    found: Array | None = None
    for chosen, part in _parts(a, size):
        values = compute(part)
        if found is None:
            found = np.empty((len(a.q), *values.shape[1:]))
        found[chosen] = values
    assert found is not None, "a batch has at least one posture"
    return found


def _by_numpy(a: Arrays, compute: Callable[[Arrays], Array]) -> Array:
    return in_parts(a, compute, POSTURES_AT_A_TIME)


def _parts(a: Arrays, size: int) -> Iterator[tuple[slice, Arrays]]:
    """Yield the postures, in parts if they are many."""
    if a.q.ndim == 1:
        yield slice(None), a
        return
    for start in range(0, len(a.q), size):
        chosen = slice(start, start + size)
        yield chosen, a.part(chosen)
