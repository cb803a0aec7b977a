"""Torques of the humanoid's joints from accelerations of its feet, trunk and centre of mass."""

from math import hypot

import numpy as np

from hrp_model.kinematics.state import STANDARD_GRAVITY as GRAVITY

FRICTION = 0.6  # of the soles; less than in the room, to be safe
SOLE = np.array([0.02, 0.0, -0.03])  # centre of the lower face of a sole, in its frame, in [m]
HALF = np.array([0.11, 0.05])  # of a sole, on which the pressure may act, in [m]
TWIST = 0.05  # largest moment about the vertical, for a normal force of 1 N, in [m]
# Feet and centre of mass first, where a stretched leg cannot do all; forces before moments.
WEIGHTS = np.r_[np.full(15, 10.0), np.full(12, 1.0)]
FORCE_WEIGHTS = np.r_[1.0, 1.0, 1.0, 0.02, 0.02, 0.02]
REGULAR = 1e-4  # keeps accelerations finite with a stretched leg


def clip(x, bound):
    """Return x within -bound and bound."""
    return min(max(x, -bound), bound)


def cross_matrix(a):
    """Return the matrix of the cross product a x ..., shape (3, 3)."""
    x, y, z = a
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


class WholeBody:
    """Inverse dynamics with contacts: as many wanted accelerations as the robot has freedoms.

    Six for each foot, three for the centre of mass, three for the pelvis, and one for each joint
    above it are 27 rows, as many as the root and the 21 joints have. The equation of motion
    M a + h = S^T tau + J^T f then gives the forces f of the floor by its six rows of the root,
    and the torques tau by the others: L. Sentis and O. Khatib, "Synthesis of whole-body behaviors
    through hierarchical control of behavioral primitives" (2005); L. Righetti and others,
    "Optimal distribution of contact forces with inverse dynamics control" (2013).

    Args:
        state: A ``BodyState`` of the robot.
        feet: Names of the links that touch the floor, left and right.

    Attributes:
        com, com_velocity: Of the centre of mass, in [m] and [m/s], shape (3,).
        foot, foot_velocity, foot_R: Of the soles' centres, shapes (2, 3), (2, 6), (2, 3, 3).
    """

    def __init__(self, state, feet):
        self.state, n = state, len(state.q)
        self.paths = [state.joint_path("PELVIS", foot) for foot in feet]
        self.links = [state.link(foot).index for foot in feet]
        self.mass = state.calc_total_mass()
        self.legs = [6 + np.asarray(path.joints) for path in self.paths]
        self.upper = np.setdiff1d(np.arange(6, 6 + n), self.legs)
        self.A, self.b = np.zeros((27, 6 + n)), np.zeros(27)
        for row, column in ((0, 0), (3, 3), (6, 0), (9, 3), (15, 3)):
            self.A[row : row + 3, column : column + 3] = np.eye(3)
        self.A[np.arange(18, 27), self.upper] = 1.0
        self.order = np.r_[n : n + 6, :n]  # of the columns of calc_cm_jacobian
        self.u = np.zeros(6 + n)

    def update(self, io):
        """Compute all that depends on the present state."""
        s, motion = self.state, io.motion
        s.q[:], s.dq[:], s.ddq[:] = motion.q, motion.dq, 0.0
        s.p[0], s.R[0], s.v[0], s.w[0] = motion.p[0], motion.R[0], motion.v[0], motion.w[0]
        s.dv[0], s.dw[0] = (0.0, 0.0, GRAVITY), 0.0  # gravity is an acceleration upwards
        force, moment = s.calc_inverse_dynamics()
        self.M = s.calc_mass_matrix()
        self.h = np.concatenate([force, moment - cross_matrix(s.p[0]) @ force, s.u])
        self.u[:3], self.u[3:6], self.u[6:] = s.v[0], s.w[0], s.dq
        self.A[12:15] = s.calc_cm_jacobian()[:, self.order]
        self.com, self.com_velocity = s.calc_cm(), self.A[12:15] @ self.u
        self.bias = np.zeros(15)
        self.bias[12:] = force / self.mass
        self.foot_R = s.R[self.links]
        self.foot = s.p[self.links] + self.foot_R @ SOLE
        for k, path in enumerate(self.paths):
            J, link = self.A[6 * k : 6 * k + 6], self.links[k]
            J[:3, 3:6] = cross_matrix(s.p[0] - self.foot[k])
            J[:, self.legs[k]] = path.calc_jacobian(SOLE)
            arm, dw, W = self.foot_R[k] @ SOLE, s.dw[link], cross_matrix(s.w[link])
            self.bias[6 * k : 6 * k + 3] = s.dv[link] + cross_matrix(dw) @ arm + W @ (W @ arm)
            self.bias[6 * k + 3 : 6 * k + 6] = dw
        self.bias[[2, 8, 14]] -= GRAVITY
        self.foot_velocity = (self.A[:12] @ self.u).reshape(2, 6)

    def torques(self, feet, com, pelvis, upper, load):
        """Return the torques of the joints, in [N m], shape (21,).

        Args:
            feet: Wanted accelerations of the soles, shape (2, 6).
            com: Of the centre of mass, in [m/s^2], shape (3,).
            pelvis: Angular, in [rad/s^2], shape (3,).
            upper: Of the joints above the pelvis, in [rad/s^2], shape (9,).
            load: Shares of the feet in the weight, shape (2,); 0 is a foot in the air.
        """
        b = self.b
        b[:12], b[12:15], b[15:18], b[18:] = np.ravel(feet), com, pelvis, upper
        b[:15] -= self.bias
        A, W = self.A, WEIGHTS
        H = A.T @ (W[:, None] * A)
        H[np.diag_indices_from(H)] += REGULAR
        a = np.linalg.solve(H, A.T @ (W * b))
        net = self.M @ a + self.h
        f = self.contact_forces(net[:6], load)
        return net[6:] - A[:12, 6:].T @ f

    def contact_forces(self, wrench, load):
        """Return the forces and moments of the feet that give a wrench about the pelvis: (12,).

        The shares of least squares are then bounded by friction and by where the pressure may be,
        so that a sole neither slides nor tips; what they cannot give, the robot's motion lacks.
        """
        G = self.A[:12, :6].T
        V = np.concatenate([share * FORCE_WEIGHTS for share in load])
        GV = G * V
        f = GV.T @ np.linalg.solve(GV @ G.T + 1e-9 * np.eye(6), wrench)
        for k in range(2):
            R, own = self.foot_R[k], f[6 * k : 6 * k + 6].reshape(2, 3)
            x, y, z, roll, pitch, twist = (own @ R).ravel().tolist()
            z = max(z, 0.0)
            slip = min(1.0, FRICTION * z / (hypot(x, y) + 1e-9))
            own[:] = [
                [slip * x, slip * y, z],
                [clip(roll, HALF[1] * z), clip(pitch, HALF[0] * z), clip(twist, TWIST * z)],
            ]
            own[:] = own @ R.T
        return f
