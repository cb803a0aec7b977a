"""Rigid-body mechanics in 4 x 4 matrices acting on homogeneous coordinates x = (r, 1).

A motion is the matrix V with dx/dt = V x for the points of a body. A force is the matrix
F = integral of (force density) x^T; the sum of all V_ij F_ij is its power. With the
pseudo-inertia P = integral of x x^T dm the momentum of a body is V P and the force that
accelerates it (dV/dt + V V) P. See G. Legnani et al., "A homogeneous matrix approach
to 3D kinematics and dynamics", Mechanism and Machine Theory 31 (1996), and P. Wensing et al.,
"Linear matrix inequalities for physically consistent inertial parameter identification", RA-L 3
(2018), for the pseudo-inertia.

Every function takes any number of leading axes.
"""

from __future__ import annotations

import numpy as np

from ..rigid import Array, skew


def _unit_motions() -> Array:
    motions = np.zeros((6, 4, 4))
    motions[:3, :3, 3] = np.eye(3)
    motions[3:, :3, :3] = [skew(axis) for axis in np.eye(3)]
    return motions


# Motions along and about the axes: as matrices, and as rows of sixteen numbers.
UNIT_MOTIONS = _unit_motions()
_ROWS = UNIT_MOTIONS.reshape(6, 16)
_TURNS = _ROWS[3:].T / 2.0
_SKEW = UNIT_MOTIONS[3:, :3, :3].reshape(3, 9)


def skews(w: Array) -> Array:
    """Return the matrices [w]x of vectors (..., 3), shape (..., 3, 3)."""
    return (w @ _SKEW).reshape(*w.shape, 3)


def motion(linear: Array, angular: Array) -> Array:
    """Return the motion matrix of the velocity at the reference point, shape (..., 4, 4)."""
    both = np.concatenate([linear, angular], axis=-1)
    return (both @ _ROWS).reshape(*both.shape[:-1], 4, 4)


def angular(V: Array) -> Array:
    """Return w of the skew part [w]x of motions or of their derivatives, shape (..., 3)."""
    return rows(V) @ _TURNS


def moments(F: Array) -> Array:
    """Return force and moment about the reference point of force matrices, shape (..., 6).

    They are the power of the force in the six unit motions.
    """
    return rows(F) @ _ROWS.T


def frames(R: Array, p: Array) -> Array:
    """Return the homogeneous matrices of poses, shape (..., 4, 4)."""
    T = np.zeros((*p.shape[:-1], 4, 4))
    T[..., :3, :3] = R
    T[..., :3, 3] = p
    T[..., 3, 3] = 1.0
    return T


def rows(matrices: Array) -> Array:
    """Return matrices (..., 4, 4) as rows of sixteen numbers, shape (..., 16)."""
    return matrices.reshape(*matrices.shape[:-2], 16)


def combined(weights: Array, matrices: Array) -> Array:
    """Return weighted sums: weights (a, b), matrices (..., b, 4, 4), result (..., a, 4, 4)."""
    return (weights @ rows(matrices)).reshape(*matrices.shape[:-3], len(weights), 4, 4)
