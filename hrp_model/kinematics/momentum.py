"""Momentum of a Body, and its Jacobian with respect to the velocities of root and joints."""

from __future__ import annotations

import numpy as np

from ..rigid import Array
from .arrays import Arrays
from .fast_dynamics import joint_columns, momenta
from .tree import Tree


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
