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
        own = np.zeros((len(P), 4))
        own[:, 0] = 1.0
        for i, share in ((0, 0.5), (2, 1.0), (0, 0.5)):
            rotation = np.zeros_like(P)
            rotation[:, i] = self._excess[:, i] * P[:, i] * time * share
            turn = _quaternions(rotation)
            own = _products(own, turn)
            P = _times(_matrices(turn).swapaxes(1, 2), P)
        own[:, 1:] = _times(axes, own[:, 1:])
        about_momentum = _quaternions(L * time / self._moments[:, 1:2])
        quaternion = _products(_products(about_momentum, own), state.quaternion)
        quaternion /= np.linalg.norm(quaternion, axis=1, keepdims=True)
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
        tilted = inertia - step * np.cross(L[:, None, :], np.eye(3)[None]).swapaxes(1, 2)
        w = np.linalg.solve(tilted, L[:, :, None])[:, :, 0]
        return np.cross(L, w)


def _times(matrices: Array, vectors: Array) -> Array:
    return np.asarray((matrices @ vectors[:, :, None])[:, :, 0])


def _quaternions(rotation_vectors: Array) -> Array:
    """Return quaternions (w, x, y, z), shape (g, 4)."""
    half = np.linalg.norm(rotation_vectors, axis=1, keepdims=True) / 2.0
    return np.hstack([np.cos(half), np.sinc(half / np.pi) / 2.0 * rotation_vectors])


def _products(a: Array, b: Array) -> Array:
    real = a[:, :1] * b[:, :1] - (a[:, 1:] * b[:, 1:]).sum(axis=1, keepdims=True)
    return np.hstack([real, a[:, :1] * b[:, 1:] + b[:, :1] * a[:, 1:] + np.cross(a[:, 1:], b[:, 1:])])


def _matrices(quaternions: Array) -> Array:
    w, x, y, z = quaternions.T
    rows = [
        [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)],
        [2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)],
        [2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)],
    ]
    return np.moveaxis(np.array(rows), 2, 0)
