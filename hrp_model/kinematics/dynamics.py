"""Velocities, momentum and forces of a Body whose poses are known.

The matrices are those of ``homogeneous``, in world axes about a fixed point that coincides with
the root's current origin. Arrays may have any number of leading axes of postures.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..rigid import Array
from .arrays import Arrays
from .homogeneous import UNIT_MOTIONS, angular, combined, frames, moments, motion, rows, skews
from .spatial import cross
from .tree import Tree


@dataclass(frozen=True, eq=False)
class Motions:
    """Velocity and acceleration matrices of the links.

    Attributes:
        velocity: Motion V of each link, shape (..., k, 4, 4).
        acceleration: dV/dt + V V, which maps a point's coordinates to its acceleration.
    """

    velocity: Array
    acceleration: Array


def link_frames(a: Arrays) -> Array:
    """Return the poses of the links from the root's origin, shape (..., k, 4, 4)."""
    return frames(a.R, a.p - a.p[..., :1, :])


def joint_motions(tree: Tree, T: Array) -> Array:
    """Return the unit motion of each joint, shape (..., n, 4, 4)."""
    T = T.take(tree.joint_links, axis=-3)
    axes = T[..., :3, :3] @ tree.axes
    G = np.zeros(T.shape)
    G[..., :3, :3] = turn = skews(axes[..., 0])
    G[..., :3, 3] = axes[..., 1] - (turn @ T[..., :3, 3:])[..., 0]
    return G


def joint_columns(p: Array, R: Array, axes: Array, point: Array) -> Array:
    """Return the velocity of a point per unit of joint velocity, shape (..., 6, n).

    Args:
        p: Positions of the links that the joints move, shape (..., n, 3).
        R: Rotations of these links, shape (..., n, 3, 3).
        axes: As those of ``Tree``, shape (n, 3, 2).
        point: The moving point, shape (..., 3).
    """
    axes = R @ axes
    turns, slides = axes[..., 0], axes[..., 1]
    linear = slides + cross(turns, point[..., None, :] - p)
    return np.concatenate([linear, turns], axis=-1).swapaxes(-1, -2)


def velocities(tree: Tree, a: Arrays, G: Array) -> Array:
    """Return the motion of each link: the sum of the root's and those of the joints above."""
    root = motion(a.v[..., 0, :], a.w[..., 0, :])
    return root[..., None, :, :] + combined(tree.supports, G * a.dq[..., None, None])


def motions(tree: Tree, a: Arrays, G: Array) -> Motions:
    """Return velocities and accelerations of all links.

    A joint's motion G moves with its link, so dG/dt = V G - G V.
    """
    V = velocities(tree, a, G)
    turning = V[..., 0, :3, :3] @ a.v[..., 0, :, None]
    root = motion(a.dv[..., 0, :] - turning[..., 0], a.dw[..., 0, :])
    carrier, moving = V.take(tree.joint_links, axis=-3), G * a.dq[..., None, None]
    rates = carrier @ moving - moving @ carrier + G * a.ddq[..., None, None]
    A = root[..., None, :, :] + combined(tree.supports, rates)
    return Motions(V, A + V @ V)


def write_motions(tree: Tree, a: Arrays, accelerations: bool) -> None:
    """Fill in v and w of all links but the root and, on request, dv and dw."""
    T = link_frames(a)
    G = joint_motions(tree, T)
    if accelerations:
        found = motions(tree, a, G)
        write_velocities(a, T, found.velocity)
        write_accelerations(a, T, found)
    else:
        write_velocities(a, T, velocities(tree, a, G))


def write_velocities(a: Arrays, T: Array, V: Array) -> None:
    """Fill in v and w of all links but the root."""
    a.v[..., 1:, :] = (V[..., 1:, :, :] @ T[..., 1:, :, 3:])[..., :3, 0]
    a.w[..., 1:, :] = angular(V[..., 1:, :, :])


def write_accelerations(a: Arrays, T: Array, motions: Motions) -> None:
    """Fill in dv and dw of all links but the root."""
    D = motions.acceleration[..., 1:, :, :]
    a.dv[..., 1:, :] = (D @ T[..., 1:, :, 3:])[..., :3, 0]
    a.dw[..., 1:, :] = angular(D)  # V V adds only a symmetric matrix, w w^T - w.w E


def pseudo_inertias(tree: Tree, T: Array) -> Array:
    """Return the links' pseudo-inertias in world axes, shape (..., k, 4, 4)."""
    return T @ tree.pseudo_inertia @ T.swapaxes(-1, -2)


def center_of_mass(tree: Tree, a: Arrays) -> Array:
    """Return the centre of mass in the world, shape (..., 3)."""
    first, share = tree.pseudo_inertia[:, :3, 3] / tree.total_mass, tree.mass / tree.total_mass
    offset = np.einsum("...kij,kj->...i", a.R, first)
    return np.asarray(offset + np.einsum("...ki,k->...i", a.p, share))


def first_moments(tree: Tree, a: Arrays) -> Array:
    """Return the links' first moments of mass about the root's origin, shape (..., k, 3)."""
    local = tree.pseudo_inertia[:, :3, 3:]
    return (a.R @ local)[..., 0] + tree.mass[:, None] * (a.p - a.p[..., :1, :])


def inverse_dynamics(tree: Tree, a: Arrays, link: int) -> Array:
    """Fill in u and all motions; return the wrench that supports a link, see ``fast_dynamics``."""
    T = link_frames(a)
    G = joint_motions(tree, T)
    found = motions(tree, a, G)
    write_velocities(a, T, found.velocity)
    write_accelerations(a, T, found)
    forces = found.acceleration @ pseudo_inertias(tree, T)
    a.u[...] = joint_efforts(tree, G, forces) + tree.rotor_inertia * a.ddq
    return wrench_at_origin(a, forces[..., tree.branch(link), :, :])


def joint_efforts(tree: Tree, G: Array, forces: Array) -> Array:
    """Return the joint torques that produce forces on the links, shape (..., n)."""
    carried = combined(tree.supports.T, forces)
    return np.asarray(np.einsum("...i,...i", rows(G), rows(carried)))


def gravity_efforts(tree: Tree, a: Arrays, gravity: float) -> Array:
    """Return the joint torques that balance gravity, shape (..., n)."""
    lift = np.zeros((*a.p.shape[:-1], 4, 4))
    lift[..., 2, :3] = gravity * first_moments(tree, a)
    lift[..., 2, 3] = gravity * tree.mass
    return joint_efforts(tree, joint_motions(tree, link_frames(a)), lift)


def wrench_at_origin(a: Arrays, forces: Array) -> Array:
    """Return the sum of forces as force and moment about the world's origin, shape (..., 6)."""
    wrench = moments(forces.sum(axis=-3))
    arm = skews(a.p[..., 0, :])
    wrench[..., 3:] += (arm @ wrench[..., :3, None])[..., 0]
    return wrench


def momenta(tree: Tree, a: Arrays) -> Array:
    """Return the momentum if the root or one joint moves at unit speed, shape (..., 6 + n, 6)."""
    T = link_frames(a)
    return moments(_carried_momenta(tree, T, joint_motions(tree, T)))


def mass_matrix(tree: Tree, a: Arrays) -> Array:
    """Return the inertia matrix by composite rigid bodies, shape (..., 6 + n, 6 + n)."""
    T = link_frames(a)
    G = joint_motions(tree, T)
    carried = _carried_momenta(tree, T, G)
    n = len(tree.joint_links)
    M = np.empty((*carried.shape[:-3], 6 + n, 6 + n))
    M[..., :6] = columns = moments(carried)
    M[..., :6, 6:] = columns[..., 6:, :].swapaxes(-1, -2)
    # Of two joints on one branch, the lower one carries everything that both move.
    lower = tree.below * (rows(carried[..., 6:, :, :]) @ rows(G).swapaxes(-1, -2))
    M[..., 6:, 6:] = lower + lower.swapaxes(-1, -2)
    joints = np.arange(6, 6 + n)
    M[..., joints, joints] += tree.rotor_inertia
    return M


def _carried_momenta(tree: Tree, T: Array, G: Array) -> Array:
    """Return the momentum of the links moved by the root or one joint, (..., 6 + n, 4, 4)."""
    P = pseudo_inertias(tree, T)
    total = P.sum(axis=-3)
    total = (total + total.swapaxes(-1, -2)) / 2.0  # rounding errors make it differ a little
    whole = UNIT_MOTIONS @ total[..., None, :, :]
    return np.concatenate([whole, G @ combined(tree.supports.T, P)], axis=-3)
