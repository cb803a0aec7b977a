"""Motion of rigid groups: their states, and how they move while nothing acts on them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import ode
from numpy.typing import NDArray

from hrp_model.rigid import Array

# A step that leads beyond these has failed, in [m], [m/s] and [rad/s].
_MAX_POSITION, _MAX_SPEED, _MAX_TURN_RATE = 1e6, 1e5, 1e5
# Relative difference up to which moments of inertia are equal.
_SAME_MOMENTS = 1e-9
# The matrix of the cross product with a vector is the vector times this, row by row.
_CROSS = np.array(
    [[0, 0, 0, 0, 0, -1, 0, 1, 0], [0, 0, 1, 0, 0, 0, -1, 0, 0], [0, -1, 0, 1, 0, 0, 0, 0, 0]],
    dtype=float,
)
# The matrix that multiplies a quaternion (w, x, y, z) by another one is that one times this.
_FACTOR = np.array(
    [
        [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1],
        [0, -1, 0, 0, 1, 0, 0, 0, 0, 0, 0, -1, 0, 0, 1, 0],
        [0, 0, -1, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, -1, 0, 0],
        [0, 0, 0, -1, 0, 0, -1, 0, 0, 1, 0, 0, 1, 0, 0, 0],
    ],
    dtype=float,
)


@dataclass(frozen=True, eq=False, slots=True)
class GroupStates:
    """Poses and velocities of g rigid groups in W.

    Attributes:
        p: Mass centres, in [m], shape (g, 3).
        quaternion: Rotations as (w, x, y, z), shape (g, 4).
        R: The same as matrices, shape (g, 3, 3).
        v: Velocities of the mass centres, in [m/s], shape (g, 3).
        w: Angular velocities, in [rad/s], shape (g, 3).
    """

    p: Array
    quaternion: Array
    R: Array
    v: Array
    w: Array

    @classmethod
    def of(cls, groups: list[ode.Body]) -> GroupStates:
        """Read the states from ODE."""
        return cls(
            p=np.array([g.getPosition() for g in groups]).reshape(-1, 3),
            quaternion=np.array([g.getQuaternion() for g in groups]).reshape(-1, 4),
            R=np.array([g.getRotation() for g in groups]).reshape(-1, 3, 3),
            v=np.array([g.getLinearVel() for g in groups]).reshape(-1, 3),
            w=np.array([g.getAngularVel() for g in groups]).reshape(-1, 3),
        )

    def valid(self) -> NDArray[np.bool_]:
        """Return which groups have states within bounds, shape (g,)."""
        good: NDArray[np.bool_] = np.abs((self.quaternion**2).sum(axis=1) - 1.0) < 1e-3
        bounds = (self.p, _MAX_POSITION), (self.v, _MAX_SPEED), (self.w, _MAX_TURN_RATE)
        for values, bound in bounds:
            good &= (np.abs(values) < bound).all(axis=1)
        return good


class FreeMotion:
    """The motion of rigid groups without forces, of second order, as in ``_core_integrate.c``.

    Args:
        inertia: About their mass centres, in their axes, in [kg m^2], shape (g, 3, 3).
    """

    def __init__(self, inertia: Array) -> None:
        self._inertia = inertia
        # Ascending moments, shape (g, 3); principal axes are the columns of (g, 3, 3).
        self._moments, axes = np.linalg.eigh(inertia)
        axes[:, :, 2] = np.cross(axes[:, :, 0], axes[:, :, 1])
        self._axes = axes
        middle = self._moments[:, 1:2]
        is_same = np.abs(self._moments - middle) <= _SAME_MOMENTS * middle
        # By how much the inverse moments differ from that of the middle one.
        self._excess = np.where(is_same, 0.0, 1.0 / self._moments - 1.0 / middle)

    def after(self, time: float, state: GroupStates) -> GroupStates:
        """Return the states after free motion for a time in [s].

        The energy of a spin is the sum of a spherical top's and of one about the first and last
        principal axis each. Each part alone gives a rotation; they are composed symmetrically.
        """
        axes = state.R @ self._axes  # in W
        P = self._moments * _times(axes.swapaxes(1, 2), state.w)
        L = _times(axes, P)
        x, y, z = P.T
        first, _, last = self._excess.T * (time / 2.0)
        # Halves of the angles about the first axis, the last, and the first again.
        a = first * x / 2.0
        y, z = _turned(2.0 * a, y, z)
        b = last * z
        x, y = _turned(2.0 * b, x, y)
        c = first * x / 2.0
        cosine, sine = np.cos(b), np.sin(b)
        own = np.array([sine * np.sin(c - a), sine * np.cos(c - a)])
        own = np.array([cosine * np.sin(a + c), *own]).T
        spun = np.empty((len(P), 4))
        spun[:, 0], spun[:, 1:] = cosine * np.cos(a + c), _times(axes, own)
        about_momentum = _quaternions(L * (time / self._moments[:, 1:2]))
        quaternion = _products(_products(about_momentum, spun), state.quaternion)
        quaternion /= np.sqrt((quaternion * quaternion).sum(axis=1, keepdims=True))
        R = _matrices(quaternion)
        axes = R @ self._axes
        w = _times(axes, _times(axes.swapaxes(1, 2), L) / self._moments)
        return GroupStates(state.p + state.v * time, quaternion, R, state.v, w)

    def torque_of_ode(self, step: float, state: GroupStates) -> Array:
        """Return the gyroscopic torques that ODE adds in a step, in W, in [N m], shape (g, 3).

        PyODE cannot switch them off. ODE solves I w' + h w' x L = L for w', and adds L x w'.
        """
        inertia = state.R @ self._inertia @ state.R.swapaxes(1, 2)
        L = _times(inertia, state.w)
        L_cross = (L @ _CROSS).reshape(-1, 3, 3)
        w = np.linalg.solve(inertia - step * L_cross, L[:, :, None])
        return np.asarray((L_cross @ w)[:, :, 0])


def _times(matrices: Array, vectors: Array) -> Array:
    return np.asarray((matrices @ vectors[:, :, None])[:, :, 0])


def _turned(angle: Array, y: Array, z: Array) -> tuple[Array, Array]:
    """Return the components of a vector in axes that turn by an angle from y to z."""
    cosine, sine = np.cos(angle), np.sin(angle)
    return cosine * y + sine * z, cosine * z - sine * y


def _quaternions(rotation_vectors: Array) -> Array:
    """Return quaternions (w, x, y, z), shape (g, 4)."""
    half = np.sqrt((rotation_vectors * rotation_vectors).sum(axis=1)) / 2.0
    scale = np.sinc(half / np.pi) / 2.0
    return np.array([np.cos(half), *(scale * rotation_vectors.T)]).T


def _products(a: Array, b: Array) -> Array:
    """Return products of quaternions, shape (g, 4)."""
    return _times((a @ _FACTOR).reshape(-1, 4, 4), b)


def _matrices(quaternions: Array) -> Array:
    w, x, y, z = quaternions.T
    rows = [
        [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)],
        [2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)],
        [2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)],
    ]
    return np.array(rows).transpose(2, 0, 1)
