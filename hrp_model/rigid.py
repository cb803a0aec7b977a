"""Rigid transforms and rotations. X_AB is the pose of frame B in frame A."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from math import atan2, cos, frexp, hypot, inf, isfinite, ldexp, sin, sqrt

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .late_dataclass import dataclass

Array = NDArray[np.float64]

# Shared, read-only defaults.
IDENTITY_3 = np.eye(3)
IDENTITY_4 = np.eye(4)
ZERO_3 = np.zeros(3)
for _array in (IDENTITY_3, IDENTITY_4, ZERO_3):
    _array.setflags(write=False)
_FLOAT64 = np.dtype(np.float64)


def frozen_array(value: ArrayLike, shape: tuple[int, ...], name: str) -> Array:
    """Return a read-only, C-contiguous float64 array with the elements of ``value``.

    An array that already is all this, and whose data is read-only, is shared; any other is copied.

    Raises:
        ValueError: ``value`` does not have the given shape; the message calls it ``name``.
    """
    if type(value) is not np.ndarray or value.dtype is not _FLOAT64 or not _is_immutable(value):
        value = np.array(value, dtype=np.float64, order="C")
        value.setflags(write=False)
    if value.shape != shape:
        raise ValueError(f"{name} must have shape {shape}, got {value.shape}")
    return value


def _is_immutable(array: Array) -> bool:
    """Whether an array is contiguous and its data is read-only, also through its base."""
    flags = array.flags
    if flags.writeable or not flags.c_contiguous:
        return False
    return flags.owndata or isinstance(array.base, bytes)


@dataclass(frozen=True, eq=False)
class Pose:
    """Pose X_AB of a frame B in a frame A.

    Attributes:
        R: Rotation R_AB, shape (3, 3).
        p: Position p_AB of B's origin, expressed in A, in [m], shape (3,).
    """

    R: Array = field(default_factory=lambda: IDENTITY_3)
    p: Array = field(default_factory=lambda: ZERO_3)

    def __post_init__(self) -> None:
        object.__setattr__(self, "R", frozen_array(self.R, (3, 3), "R"))
        object.__setattr__(self, "p", frozen_array(self.p, (3,), "p"))

    def __matmul__(self, other: Pose) -> Pose:
        """Compose: X_AC = X_AB @ X_BC."""
        return Pose(self.R @ other.R, self.R @ other.p + self.p)

    def inverse(self) -> Pose:
        """Return X_BA."""
        return Pose(self.R.T, -self.R.T @ self.p)

    def matrix(self) -> Array:
        """Return the homogeneous matrix, shape (4, 4)."""
        T = np.eye(4)
        T[:3, :3] = self.R
        T[:3, 3] = self.p
        return T


def unit_vector(vector: Sequence[float] | Array) -> Array | None:
    """Return a vector scaled to length one, or None for the zero vector, shape (3,)."""
    x, y, z = vector.tolist() if isinstance(vector, np.ndarray) else vector
    largest = max(abs(x), abs(y), abs(z))
    if largest == 0.0:
        return None
    # Scaling by a power of two is exact and keeps the squares from overflow and underflow.
    exponent = -frexp(largest)[1]
    x, y, z = ldexp(x, exponent), ldexp(y, exponent), ldexp(z, exponent)
    length = sqrt(x * x + y * y + z * z)
    return np.array([x / length, y / length, z / length])


def axis_by_name(name: str) -> Array | None:
    """Return the unit vector of an axis name such as "X", "y" or "-Z", shape (3,), or None."""
    letter = name.strip().upper()
    if letter.lstrip("+-") not in ("X", "Y", "Z"):
        return None
    axis = np.zeros(3)
    axis["XYZ".index(letter[-1])] = -1.0 if letter.startswith("-") else 1.0
    return axis


def is_rotation(R: Array, tolerance: float = 1e-6) -> bool:
    """Whether a matrix of shape (3, 3) is orthonormal and right-handed.

    ``tolerance`` bounds the elements of R^T R - E.
    """
    return rotation_error(R) <= tolerance


def rotation_error(R: Array) -> float:
    """Return how far a matrix of shape (3, 3) is from a rotation.

    The largest absolute value of an element of R^T R - E; infinite if R is left-handed or not
    finite. Models have tens of thousands of shapes, and numbers of Python are faster than such
    small arrays.
    """
    (a, b, c), (d, e, f), (g, h, i) = R.tolist()
    errors = (
        abs(a * a + d * d + g * g - 1.0),
        abs(b * b + e * e + h * h - 1.0),
        abs(c * c + f * f + i * i - 1.0),
        abs(a * b + d * e + g * h),
        abs(a * c + d * f + g * i),
        abs(b * c + e * f + h * i),
    )
    if not isfinite(sum(errors)):
        return inf
    determinant = a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g)
    return max(errors) if determinant > 0.0 else inf


def axis_angle_matrix(axis: Sequence[float] | Array, angle: float) -> Array:
    """Return the rotation by ``angle`` [rad] about a unit ``axis``, shape (3, 3).

    Rodrigues' formula: R = E + sin(t) [a]x + (1 - cos(t)) [a]x^2.
    """
    x, y, z = axis.tolist() if isinstance(axis, np.ndarray) else axis
    c, s = cos(angle), sin(angle)
    k = 1.0 - c
    return np.array(
        [
            [c + x * x * k, x * y * k - z * s, x * z * k + y * s],
            [y * x * k + z * s, c + y * y * k, y * z * k - x * s],
            [z * x * k - y * s, z * y * k + x * s, c + z * z * k],
        ]
    )


def rpy_matrix(roll: float, pitch: float, yaw: float) -> Array:
    """Return Rz(yaw) Ry(pitch) Rx(roll), URDF's and ROS's fixed-axis angles [rad], shape (3, 3)."""
    cr, sr, cp, sp, cy, sy = cos(roll), sin(roll), cos(pitch), sin(pitch), cos(yaw), sin(yaw)
    return np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )


def matrix_rpy(R: Array) -> tuple[float, float, float]:
    """Return (roll, pitch, yaw) in [rad], the inverse of ``rpy_matrix``.

    At pitch = +-pi/2 only roll -+ yaw is defined; yaw is then set to zero. Near it yaw is
    ill-conditioned, so roll and pitch are computed from Rz(-yaw) R: the composition of the
    three angles then reproduces R to full precision.
    """
    yaw = atan2(R[1, 0], R[0, 0]) if hypot(R[0, 0], R[1, 0]) > 1e-12 else 0.0
    c, s = cos(yaw), sin(yaw)
    roll = atan2(s * R[0, 2] - c * R[1, 2], c * R[1, 1] - s * R[0, 1])
    return roll, atan2(-R[2, 0], c * R[0, 0] + s * R[1, 0]), yaw


def matrix_quaternion(R: Array) -> tuple[float, float, float, float]:
    """Return the unit quaternion (x, y, z, w) of a rotation matrix, with w >= 0.

    Shepperd's method: dividing by the largest of the four squares keeps full precision for
    every rotation.
    """
    (m00, m01, m02), (m10, m11, m12), (m20, m21, m22) = R.tolist()
    squares = (
        1.0 + m00 - m11 - m22,
        1.0 - m00 + m11 - m22,
        1.0 - m00 - m11 + m22,
        1.0 + m00 + m11 + m22,
    )
    largest = squares.index(max(squares))
    if largest == 3:
        q = (m21 - m12, m02 - m20, m10 - m01, squares[3])
    elif largest == 0:
        q = (squares[0], m01 + m10, m02 + m20, m21 - m12)
    elif largest == 1:
        q = (m01 + m10, squares[1], m12 + m21, m02 - m20)
    else:
        q = (m02 + m20, m12 + m21, squares[2], m10 - m01)
    norm = (q[0] ** 2 + q[1] ** 2 + q[2] ** 2 + q[3] ** 2) ** 0.5
    if q[3] < 0:
        norm = -norm
    return q[0] / norm, q[1] / norm, q[2] / norm, q[3] / norm


def quaternion_matrix(xyzw: Sequence[float] | Array) -> Array:
    """Return the rotation of a quaternion (x, y, z, w) of any length, shape (3, 3).

    A quaternion of length zero gives the identity.
    """
    x, y, z, w = xyzw.tolist() if isinstance(xyzw, np.ndarray) else xyzw
    largest = max(abs(x), abs(y), abs(z), abs(w))
    if largest == 0.0:
        return IDENTITY_3
    exponent = -frexp(largest)[1]  # as in unit_vector
    x, y, z, w = (ldexp(value, exponent) for value in (x, y, z, w))
    s = 2.0 / (x * x + y * y + z * z + w * w)
    return np.array(
        [
            [1.0 - s * (y * y + z * z), s * (x * y - z * w), s * (x * z + y * w)],
            [s * (x * y + z * w), 1.0 - s * (x * x + z * z), s * (y * z - x * w)],
            [s * (x * z - y * w), s * (y * z + x * w), 1.0 - s * (x * x + y * y)],
        ]
    )


def skew(v: Array) -> Array:
    """Return the matrix [v]x of the cross product: [v]x u = v x u, shape (3, 3)."""
    x, y, z = v
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
