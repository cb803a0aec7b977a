"""Poses, motions, forces and momentum of all postures at once, by a C extension.

Arrays may have a leading axis of postures.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..rigid import Array
from . import _dynamics
from .arrays import Arrays
from .tree import Indices, Tree


def write_poses(tree: Tree, q: Array, p: Array, R: Array) -> None:
    """Fill in p and R of all links but the root."""
    if q.ndim > 1:
        tree.fill_poses(q, p, R)
    else:
        _dynamics.poses(*tree.packed, q, p, R)


def poses(tree: Tree, q: Array, root_p: Array, root_R: Array) -> Array:
    """Return the homogeneous matrices of all links in one posture, shape (k, 4, 4)."""
    T = np.zeros((len(tree.parents), 4, 4))
    T[:, 3, 3] = 1.0
    T[0, :3, :3], T[0, :3, 3] = root_R, root_p
    _dynamics.poses(*tree.packed, q, T[:, :3, 3], T[:, :3, :3])
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
    matrix = np.empty((*p.shape[:-2], 2, 3, len(links)))
    _dynamics.columns(*tree.packed, p, R, links, signs, point, matrix)
    return matrix.reshape(*p.shape[:-2], 6, len(links))


def write_motions(tree: Tree, a: Arrays, accelerations: bool) -> None:
    """Fill in v and w of all links but the root and, on request, dv and dw."""
    motion = a.p, a.R, a.dq, a.ddq, a.v, a.w, a.dv, a.dw
    _dynamics.motions(*tree.packed, *motion, accelerations)


def inverse_dynamics(tree: Tree, a: Arrays, link: int) -> Array:
    """Fill in u and all motions.

    Returns:
        The force that supports a link and those below it and its moment about the world's
        origin, shape (..., 6).
    """
    wrench = np.empty((*a.q.shape[:-1], 6))
    motion = a.p, a.R, a.dq, a.ddq, a.v, a.w, a.dv, a.dw
    _dynamics.forces(*tree.packed, *motion, a.u, wrench, link)
    return wrench


def gravity_efforts(tree: Tree, a: Arrays, gravity: float) -> Array:
    """Return the joint efforts that balance gravity, shape (..., n)."""
    efforts = np.empty(a.q.shape)
    _dynamics.weights(*tree.packed, a.p, a.R, efforts, gravity)
    return efforts


def momenta(tree: Tree, a: Arrays) -> Array:
    """Return the first six columns of ``mass_matrix``, shape (..., 6 + n, 6).

    A row is the momentum, linear and about the root's origin, if the root moves at unit speed
    along or about an axis, or one joint moves.
    """
    return _inertias(tree, a, 6, 0)


def mass_matrix(tree: Tree, a: Arrays, fix_root: bool) -> Array:
    """Return the inertia matrix, shape (..., 6 + n, 6 + n), or (..., n, n) with a fixed root."""
    first = 6 if fix_root else 0
    return _inertias(tree, a, 6 + a.q.shape[-1] - first, first)


def _inertias(tree: Tree, a: Arrays, columns: int, first: int) -> Array:
    *lead, n = a.q.shape
    matrix = np.zeros((*lead, 6 + n - first, columns))
    _dynamics.inertias(*tree.packed, a.p, a.R, matrix, n, first)
    return matrix


def in_parts(a: Arrays, compute: Callable[[Arrays], Array], size: int) -> Array:
    """Return a function's values for all postures, computed for some of them at a time."""
    if a.q.ndim == 1:
        return compute(a)
    found: Array | None = None
    for start in range(0, len(a.q), size):
        chosen = slice(start, start + size)
        values = compute(a.part(chosen))
        if found is None:
            found = np.empty((len(a.q), *values.shape[1:]))
        found[chosen] = values
    assert found is not None, "a batch has at least one posture"
    return found


def center_of_mass(tree: Tree, a: Arrays) -> Array:
    """Return the centre of mass in the world, shape (..., 3)."""
    first, share = tree.first_moments / tree.total_mass, tree.mass / tree.total_mass
    offset = np.einsum("...kij,kj->...i", a.R, first)
    return np.asarray(offset + np.einsum("...ki,k->...i", a.p, share))


def total_momentum(tree: Tree, a: Arrays) -> Array:
    """Return linear momentum, then angular momentum about the root's origin, shape (..., 6)."""
    rates = np.concatenate([a.v[..., 0, :], a.w[..., 0, :], a.dq], axis=-1)
    return np.asarray((rates[..., None, :] @ momenta(tree, a))[..., 0, :])


def cm_jacobian(tree: Tree, a: Arrays, base: int | None) -> Array:
    """Return the Jacobian of the centre of mass, shape (..., 3, n) or (..., 3, n + 6).

    Args:
        tree: Constants of the body, which has a mass.
        a: Its poses.
        base: The link that does not move; None if the root moves freely.

    Returns:
        Columns are the joints and, without a fixed link, the root's linear velocity and its
        angular velocity.
    """
    return _jacobian(tree, a, base, momenta(tree, a)[..., :3]) / tree.total_mass


def angular_momentum_jacobian(tree: Tree, a: Arrays, base: int | None) -> Array:
    """Return the Jacobian of the angular momentum about the centre of mass, as ``cm_jacobian``."""
    moved = momenta(tree, a)
    H = _jacobian(tree, a, base, moved)
    # At velocity v of the root it is m c x v about its origin, c being the centre from there.
    center = moved[..., :3, 3:].swapaxes(-1, -2) / (tree.total_mass or 1.0)
    return np.asarray(H[..., 3:, :] - center @ H[..., :3, :])


def _jacobian(tree: Tree, a: Arrays, base: int | None, moved: Array) -> Array:
    """Return columns of joints, or of joints and root, from rows of root and joints."""
    root, joints = moved[..., :6, :].swapaxes(-1, -2), moved[..., 6:, :].swapaxes(-1, -2)
    if base is None:
        return np.concatenate([joints, root], axis=-1)
    if base == 0:
        return joints
    # The base does not move, so the root moves opposite to the joints between the two.
    return np.asarray(joints - root @ (_root_columns(tree, a) * tree.supports[base]))


def joint_inertias(tree: Tree, a: Arrays) -> Array:
    """Return the diagonal of the inertia matrix for the joints alone, shape (..., n).

    The whole matrix would take gigabytes for thousands of joints.
    """
    moved = momenta(tree, a)[..., 6:, :]
    return np.asarray(
        np.einsum("...ij,...ji->...i", moved, _root_columns(tree, a)) + tree.rotor_inertia
    )


def _root_columns(tree: Tree, a: Arrays) -> Array:
    """Return the motion of each joint about the root's origin, shape (..., 6, n)."""
    n = len(tree.joint_links)
    return joint_columns(tree, a.p, a.R, np.arange(n), np.ones(n), a.p[..., 0, :])
