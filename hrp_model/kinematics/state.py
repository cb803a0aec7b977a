"""The state of a Body, with the algorithms of OpenHRP's hrp::Body on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .spatial import cross, force_cross, motion_cross, spatial_inertia
from .tree import Tree

if TYPE_CHECKING:
    from ..body import Body
    from ..rigid import Array

STANDARD_GRAVITY = 9.80665


class BodyState:
    """Where a Body is and how it moves.

    Joint vectors have one element per moving link, in the order of
    ``body.moving_links``. Link arrays have one row per link, in the order of
    ``body.links``; row 0, the root, is input, the others are computed. All vectors are
    in world axes. The arrays are written in place: they may be kept as views.

    The root's motion is given, so a joint of its own has no effect. Any other joint that is
    neither revolute nor prismatic holds its link still.

    Attributes:
        body: The model.
        q, dq, ddq: Joint positions in [rad] or [m] and their derivatives, shape (n,).
        u: Joint torques in [N m] or forces in [N], shape (n,).
        p, R: Positions in [m], shape (k, 3), and rotations, shape (k, 3, 3), of the links.
        v, w: Velocities of the links' origins in [m/s] and angular velocities in [rad/s],
            shape (k, 3).
        dv, dw: Accelerations of the links' origins in [m/s^2] and angular accelerations in
            [rad/s^2], shape (k, 3).
    """

    def __init__(self, body: Body) -> None:
        self.body = body
        self._tree = Tree.of(body)
        joints, links = len(body.moving_links), len(body.links)
        self.q = np.array([link.joint.initial for link in body.moving_links], dtype=np.float64)
        self.dq, self.ddq, self.u = np.zeros((3, joints))
        self.p, self.v, self.w, self.dv, self.dw = np.zeros((5, links, 3))
        self.R = np.tile(np.eye(3), (links, 1, 1))
        self.p[0] = body.root.X_PL.p
        self.R[0] = body.root.X_PL.R
        self.calc_forward_kinematics()

    def calc_forward_kinematics(self, velocity: bool = False, acceleration: bool = False) -> None:
        """Compute ``p`` and ``R`` of every link from ``q`` and the root's.

        Args:
            velocity: Also compute ``v`` and ``w`` from ``dq`` and the root's.
            acceleration: Also compute ``dv`` and ``dw`` from ``ddq`` and the root's, and the
                velocities, which they depend on.
        """
        p, R = self._tree.poses(self.q, self.p[0], self.R[0])
        self.p[1:], self.R[1:] = p[1:], R[1:]
        if velocity or acceleration:
            self._calc_velocities(acceleration)

    def calc_cm(self) -> Array:
        """Return the centre of mass in the world, in [m], shape (3,), at ``p`` and ``R``.

        Raises:
            ValueError: The body has no mass.
        """
        total = self._tree.mass.sum()
        if total == 0.0:
            raise ValueError(f"body '{self.body.name}' has no mass, so no centre of mass")
        return np.asarray(self._tree.mass @ self._centers() / total)

    def calc_mass_matrix(self) -> Array:
        """Return the joint-space inertia matrix at ``p`` and ``R``, by composite rigid bodies.

        Returns:
            With a free root, shape (6 + n, 6 + n): rows and columns are the root's linear
            acceleration, its angular acceleration about the root's origin, both in world
            axes, then the joints. With a fixed root, shape (n, n). Equivalent rotor
            inertias are on the diagonal.
        """
        tree = self._tree
        n = len(self.q)
        s = self._screws()
        inertias = self._spatial_inertias().reshape(-1, 36)
        composite = (tree.supports.T @ inertias).reshape(n, 6, 6)
        forces = (composite @ s[:, :, None])[:, :, 0]
        # The later of two joints on one branch carries everything that both move.
        below = tree.supports[tree.joint_links]
        lower = below * (forces @ s.T)
        M = lower + lower.T
        M[np.diag_indices(n)] = np.einsum("ij,ij->i", forces, s) + tree.rotor_inertia
        if self.body.is_root_fixed:
            return M
        swap = [3, 4, 5, 0, 1, 2]
        whole = inertias.sum(axis=0).reshape(6, 6)
        return np.block([[whole[swap][:, swap], forces[:, swap].T], [forces[:, swap], M]])

    def calc_inverse_dynamics(self) -> tuple[Array, Array]:
        """Compute ``u`` from ``q``, ``dq``, ``ddq`` and the root's motion, and every link's motion.

        Gravity is felt by accelerating the root upwards: add 9.80665 to ``dv[0, 2]``.

        Returns:
            Force in [N] and moment about the world's origin in [N m] that the world has to
            apply to the root, each of shape (3,).
        """
        self.calc_forward_kinematics(acceleration=True)
        tree = self._tree
        r = self.p - self.p[0]
        # The reference point is at rest where the root's origin is now, hence dv - w x v.
        motion = np.concatenate([self.w, self.v - cross(self.w, r)], axis=1)
        rate = self.dv - cross(self.dw, r) - cross(self.w, self.v)
        acceleration = np.concatenate([self.dw, rate], axis=1)
        inertias = self._spatial_inertias()
        momentum = (inertias @ motion[:, :, None])[:, :, 0]
        forces = (inertias @ acceleration[:, :, None])[:, :, 0] + force_cross(motion, momentum)
        carried = tree.supports.T @ forces
        self.u[:] = np.einsum("ij,ij->i", self._screws(), carried) + tree.rotor_inertia * self.ddq
        moment, force = np.split(forces.sum(axis=0), 2)
        return force, moment + np.cross(self.p[0], force)

    def gravity_torque(self, gravity: float = STANDARD_GRAVITY) -> Array:
        """Return the joint torques that hold the body still at ``p`` and ``R``, shape (n,).

        Args:
            gravity: Along -Z of the world, in [m/s^2].
        """
        weight = np.zeros((len(self.p), 6))
        weight[:, 5] = self._tree.mass * gravity
        weight[:, :3] = cross(self._centers() - self.p[0], weight[:, 3:])
        return np.asarray(np.einsum("ij,ij->i", self._screws(), self._tree.supports.T @ weight))

    def _centers(self) -> Array:
        """Return the links' centres of mass in the world, shape (k, 3)."""
        return self.p + (self.R @ self._tree.center_of_mass[:, :, None])[:, :, 0]

    def _spatial_inertias(self) -> Array:
        inertia = self.R @ self._tree.inertia @ self.R.transpose(0, 2, 1)
        return spatial_inertia(self._tree.mass, self._centers() - self.p[0], inertia)

    def _screws(self) -> Array:
        """Return each joint's unit motion at the root's origin, shape (n, 6)."""
        tree = self._tree
        axes = (self.R[tree.joint_links] @ tree.axes[:, :, None])[:, :, 0]
        turning = tree.revolute * axes
        moment = cross(self.p[tree.joint_links] - self.p[0], turning)
        return np.concatenate([turning, moment + axes - turning], axis=1)

    def _calc_velocities(self, acceleration: bool) -> None:
        """Sum the joints' motions along the branches, at the root's present origin."""
        tree = self._tree
        r = self.p[1:] - self.p[0]
        s = self._screws()
        root = np.concatenate([self.w[0], self.v[0]])
        motion = root + tree.supports @ (s * self.dq[:, None])
        self.w[1:] = motion[1:, :3]
        self.v[1:] = motion[1:, 3:] + cross(motion[1:, :3], r)
        if not acceleration:
            return
        turn = motion_cross(motion[tree.joint_links], s) * self.dq[:, None]
        root = np.concatenate([self.dw[0], self.dv[0] - np.cross(self.w[0], self.v[0])])
        rate = root + tree.supports @ (s * self.ddq[:, None] + turn)
        self.dw[1:] = rate[1:, :3]
        self.dv[1:] = rate[1:, 3:] + cross(rate[1:, :3], r) + cross(self.w[1:], self.v[1:])
