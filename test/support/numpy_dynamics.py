"""The functions of hrp_model.kinematics._dynamics in numpy: what the extension must compute.

Rigid-body mechanics in 4 x 4 matrices acting on homogeneous coordinates x = (r, 1). A motion is
the matrix V with dx/dt = V x for the points of a body. A force is the matrix F = integral of
(force density) x^T; the sum of all V_ij F_ij is its power. With the pseudo-inertia P = integral of
x x^T dm the momentum of a body is V P and the force that accelerates it (dV/dt + V V) P. See
G. Legnani et al., "A homogeneous matrix approach to 3D kinematics and dynamics", Mechanism and
Machine Theory 31 (1996), and P. Wensing et al., "Linear matrix inequalities for physically
consistent inertial parameter identification", RA-L 3 (2018), for the pseudo-inertia.
"""

from dataclasses import dataclass

import numpy as np

from hrp_model.rigid import skew


def _unit_motions():
    motions = np.zeros((6, 4, 4))
    motions[:3, :3, 3] = np.eye(3)
    motions[3:, :3, :3] = [skew(axis) for axis in np.eye(3)]
    return motions


# Motions along and about the axes: as matrices, and as rows of sixteen numbers.
UNIT_MOTIONS = _unit_motions()
ROWS = UNIT_MOTIONS.reshape(6, 16)
TURNS = ROWS[3:].T / 2.0


@dataclass
class Constants:
    """Those of a tree of k links and n joints, from the arguments ``places`` and ``constants``."""

    parents: np.ndarray
    joint_links: np.ndarray
    axes: np.ndarray  # (n, 3, 2): of rotation and translation, as columns
    rotor_inertia: np.ndarray
    mass: np.ndarray
    pseudo_inertia: np.ndarray  # (k, 4, 4)
    at_zero: np.ndarray  # (k, 4, 4): pose of each link in its parent
    supports: np.ndarray  # (k, n): 1 where the link moves with the joint


def decoded(places, constants):
    parents, joints = places.T
    count = int(joints.max(initial=-1)) + 1
    joint_links = np.array([np.flatnonzero(joints == i)[0] for i in range(count)], dtype=np.intp)
    supports = np.zeros((len(parents), count))
    supports[joint_links, np.arange(count)] = 1.0
    supports[0] = 0.0  # a joint above the root moves nothing: the root's motion is input
    for link, parent in enumerate(parents[1:], start=1):
        supports[link] += supports[parent]
    at_zero = np.zeros((len(parents), 4, 4))
    at_zero[:, :3, :3] = constants[:, 20:].reshape(-1, 3, 3).swapaxes(-1, -2)
    at_zero[:, :3, 3], at_zero[:, 3, 3] = constants[:, 17:20], 1.0
    return Constants(
        parents=parents,
        joint_links=joint_links,
        axes=constants[joint_links, :6].reshape(-1, 2, 3).swapaxes(-1, -2),
        rotor_inertia=constants[joint_links, 6],
        mass=constants[:, 7],
        pseudo_inertia=np.array([pseudo_inertia(row) for row in constants]),
        at_zero=at_zero,
        supports=supports,
    )


def pseudo_inertia(row):
    """Its second moments about the centre are tr(I)/2 E - I."""
    x = np.append(row[8:11], 1.0)
    moments = row[7] * np.outer(x, x)
    xx, yy, zz, xy, xz, yz = row[11:17]
    inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    moments[:3, :3] += np.trace(inertia) / 2.0 * np.eye(3) - inertia
    return moments


def poses(places, constants, q, p, R):
    """Fill in p and R of all links but the root: T_child = T_parent T_zero J(q)."""
    tree = decoded(places, constants)
    moved = {link: joint for joint, link in enumerate(tree.joint_links)}
    for link, parent in enumerate(tree.parents[1:], start=1):
        T = tree.at_zero[link].copy()
        if link in moved:
            turn, slide = tree.axes[moved[link]].T * q[moved[link]]
            T[:3, 3] += T[:3, :3] @ slide
            T[:3, :3] = T[:3, :3] @ rotation(turn)
        p[link], R[link] = p[parent] + R[parent] @ T[:3, 3], R[parent] @ T[:3, :3]


def rotation(turn):
    """Rodrigues' formula for a rotation vector."""
    angle = np.linalg.norm(turn)
    if angle == 0.0:
        return np.eye(3)
    K = skew(turn / angle)
    return np.eye(3) + np.sin(angle) * K + 2.0 * np.sin(angle / 2.0) ** 2 * K @ K


def columns(places, constants, p, R, links, signs, point, matrix):
    """Fill in the velocity of a point per unit of velocity of some joints, times their signs."""
    tree = decoded(places, constants)
    joints = [int(np.flatnonzero(tree.joint_links == link)[0]) for link in links]
    axes = R[..., links, :, :] @ (tree.axes[joints] * signs[:, None, None])
    turns, slides = axes[..., 0], axes[..., 1]
    linear = slides + np.cross(turns, point[..., None, :] - p[..., links, :])
    matrix[..., 0, :, :], matrix[..., 1, :, :] = linear.swapaxes(-1, -2), turns.swapaxes(-1, -2)


def motions(places, constants, p, R, dq, ddq, v, w, dv, dw, accelerations):
    """Fill in v and w of all links but the root and, on request, dv and dw."""
    tree, T = decoded(places, constants), link_frames(p, R)
    V, A = rates(tree, T, dq, ddq, v, w, dv, dw)
    v[..., 1:, :] = (V[..., 1:, :, :] @ T[..., 1:, :, 3:])[..., :3, 0]
    w[..., 1:, :] = rows(V[..., 1:, :, :]) @ TURNS
    if accelerations:
        D = A[..., 1:, :, :]
        dv[..., 1:, :] = (D @ T[..., 1:, :, 3:])[..., :3, 0]
        dw[..., 1:, :] = rows(D) @ TURNS  # V V adds only a symmetric matrix, w w^T - w.w E


def forces(places, constants, p, R, dq, ddq, v, w, dv, dw, u, wrench, link):
    """Fill in u, all motions, and the wrench about the world's origin that supports a link."""
    tree, T = decoded(places, constants), link_frames(p, R)
    motions(places, constants, p, R, dq, ddq, v, w, dv, dw, True)
    _, A = rates(tree, T, dq, ddq, v, w, dv, dw)
    F = A @ (T @ tree.pseudo_inertia @ T.swapaxes(-1, -2))
    u[...] = joint_efforts(tree, T, F) + tree.rotor_inertia * ddq
    branch = [link]
    for i in range(link + 1, len(tree.parents)):
        if tree.parents[i] in branch:
            branch.append(i)
    total = rows(F[..., branch, :, :].sum(axis=-3)) @ ROWS.T
    total[..., 3:] += np.cross(p[..., 0, :], total[..., :3])
    wrench[...] = total


def weights(places, constants, p, R, u, gravity):
    """Fill in the joint efforts that balance gravity."""
    tree = decoded(places, constants)
    first = tree.pseudo_inertia[:, :3, 3:]
    moments = (R @ first)[..., 0] + tree.mass[:, None] * (p - p[..., :1, :])
    lift = np.zeros((*p.shape[:-1], 4, 4))
    lift[..., 2, :3] = gravity * moments
    lift[..., 2, 3] = gravity * tree.mass
    u[...] = joint_efforts(tree, link_frames(p, R), lift)


def inertias(places, constants, p, R, matrix, n, first):
    """Fill in columns of the inertia matrix of root and joints, by composite rigid bodies."""
    tree, T = decoded(places, constants), link_frames(p, R)
    G = joint_motions(tree, T)
    P = T @ tree.pseudo_inertia @ T.swapaxes(-1, -2)
    whole = UNIT_MOTIONS @ P.sum(axis=-3)[..., None, :, :]
    carried = np.concatenate([whole, G @ combined(tree.supports.T, P)], axis=-3)
    M = np.empty((*carried.shape[:-3], 6 + n, 6 + n))
    M[..., :6] = rows(carried) @ ROWS.T
    M[..., :6, 6:] = M[..., 6:, :6].swapaxes(-1, -2)
    # Of two joints on one branch, the lower one carries everything that both move.
    below = tree.supports[tree.joint_links]
    below[np.diag_indices_from(below)] *= 0.5
    lower = below * (rows(carried[..., 6:, :, :]) @ rows(G).swapaxes(-1, -2))
    M[..., 6:, 6:] = lower + lower.swapaxes(-1, -2)
    joints = np.arange(6, 6 + n)
    M[..., joints, joints] += tree.rotor_inertia
    matrix[...] = M[..., first:, first : first + matrix.shape[-1]]


def link_frames(p, R):
    """The poses of the links from the root's origin, shape (..., k, 4, 4)."""
    T = np.zeros((*p.shape[:-1], 4, 4))
    T[..., :3, :3], T[..., :3, 3], T[..., 3, 3] = R, p - p[..., :1, :], 1.0
    return T


def joint_motions(tree, T):
    """The unit motion of each joint, shape (..., n, 4, 4)."""
    T = T.take(tree.joint_links, axis=-3)
    axes = T[..., :3, :3] @ tree.axes
    slides = axes[..., 1] - np.cross(axes[..., 0], T[..., :3, 3])
    return motion(slides, axes[..., 0])


def motion(linear, angular):
    both = np.concatenate([linear, angular], axis=-1)
    return (both @ ROWS).reshape(*both.shape[:-1], 4, 4)


def rates(tree, T, dq, ddq, v, w, dv, dw):
    """Velocity V and dV/dt + V V of each link. A joint's motion G moves with its link."""
    G = joint_motions(tree, T)
    moving = G * dq[..., None, None]
    V = motion(v[..., 0, :], w[..., 0, :])[..., None, :, :] + combined(tree.supports, moving)
    turning = V[..., 0, :3, :3] @ v[..., 0, :, None]
    root = motion(dv[..., 0, :] - turning[..., 0], dw[..., 0, :])
    carrier = V.take(tree.joint_links, axis=-3)
    changes = carrier @ moving - moving @ carrier + G * ddq[..., None, None]
    return V, root[..., None, :, :] + combined(tree.supports, changes) + V @ V


def joint_efforts(tree, T, F):
    """The joint efforts that produce forces on the links, shape (..., n)."""
    carried = combined(tree.supports.T, F)
    return np.einsum("...i,...i", rows(joint_motions(tree, T)), rows(carried))


def rows(matrices):
    return matrices.reshape(*matrices.shape[:-2], 16)


def combined(weights, matrices):
    """Weighted sums: weights (a, b), matrices (..., b, 4, 4), result (..., a, 4, 4)."""
    return (weights @ rows(matrices)).reshape(*matrices.shape[:-3], len(weights), 4, 4)
