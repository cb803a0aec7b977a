"""Momentum of a Body, and its Jacobian with respect to the velocities of root and joints."""

from __future__ import annotations

import numpy as np

from ..rigid import Array
from .arrays import Arrays
from .dynamics import carried_momenta, joint_motions, link_frames, pseudo_inertias, velocities
from .homogeneous import angular, moments, skews
from .tree import Tree


def total_momentum(tree: Tree, a: Arrays) -> Array:
    """Return linear momentum, then angular momentum about the root's origin, shape (..., 6)."""
    T = link_frames(a)
    V = velocities(tree, a, joint_motions(tree, T))
    return moments((V @ pseudo_inertias(tree, T)).sum(axis=-3))


def momentum_jacobian(tree: Tree, a: Arrays, base: int | None) -> Array:
    """Return the Jacobian of the momentum, the angular one about the centre of mass.

    Args:
        tree: Constants of the body.
        a: Its poses.
        base: The link that does not move; None if the root moves freely.

    Returns:
        Linear rows, then angular rows; columns are the joints and, without a fixed link,
        the root's linear velocity and its angular velocity. Shape (..., 6, n) or (..., 6, n + 6).
    """
    T = link_frames(a)
    G = joint_motions(tree, T)
    P = pseudo_inertias(tree, T)
    H = moments(carried_momenta(tree, P, G)).swapaxes(-1, -2)
    root, joints = H[..., :6], H[..., 6:]
    if base is None:
        H = np.concatenate([joints, root], axis=-1)
    else:
        # The base does not move, so the root moves opposite to the joints between the two.
        back = np.concatenate([G[..., :3, 3], angular(G)], axis=-1) * tree.supports[base][:, None]
        H = joints - root @ back.swapaxes(-1, -2)
    arm = skews(P[..., :3, 3].sum(axis=-2) / _positive(tree.total_mass))
    H[..., 3:, :] -= arm @ H[..., :3, :]
    return H


def _positive(mass: float) -> float:
    """Return a divisor for the first moment of mass, which is zero if the mass is."""
    return mass if mass != 0.0 else 1.0
