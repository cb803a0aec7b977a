"""Mass properties: merging parts and moving them between frames."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from math import inf

import numpy as np

from .late_dataclass import dataclass
from .rigid import Array, Pose


@dataclass(frozen=True, eq=False)
class MassProperties:
    """Mass, center of mass and inertia of a rigid part, expressed in a frame F.

    Attributes:
        mass: In [kg].
        center_of_mass: p_FFcm in [m], shape (3,).
        inertia: About the center of mass, axes of F, in [kg m^2], shape (3, 3).
    """

    mass: float = 0.0
    center_of_mass: Array = field(default_factory=lambda: np.zeros(3))
    inertia: Array = field(default_factory=lambda: np.zeros((3, 3)))

    def expressed_in(self, X_LF: Pose) -> MassProperties:
        """Return the same part, expressed in a frame L."""
        return MassProperties(
            self.mass,
            X_LF.R @ self.center_of_mass + X_LF.p,
            X_LF.R @ self.inertia @ X_LF.R.T,
        )


def merge(parts: Iterable[MassProperties]) -> MassProperties:
    """Return the total mass properties of rigidly joined parts, all expressed in one frame.

    With d_k from the common to the part's center of mass, the parallel axis
    theorem gives I = sum(I_k + m_k (d_k.d_k E - d_k d_k^T)). If the total mass is zero, the
    inertias are summed as they are, with the center of mass at the origin.
    """
    parts = tuple(parts)
    mass = sum(part.mass for part in parts)
    if mass == 0.0:
        return MassProperties(0.0, np.zeros(3), sum((p.inertia for p in parts), np.zeros((3, 3))))
    center = sum((p.mass * p.center_of_mass for p in parts), np.zeros(3)) / mass
    inertia = np.zeros((3, 3))
    for part in parts:
        inertia += part.inertia + part.mass * point_inertia(part.center_of_mass - center)
    return MassProperties(mass, center, inertia)


def point_inertia(d: Array) -> Array:
    """Return d.d E - d d^T: the inertia of a unit point mass at ``d``, in [m^2], shape (3, 3)."""
    return (d @ d) * np.eye(3) - np.outer(d, d)


def equivalent_box(mass: float, inertia: Array) -> tuple[Array, Array] | None:
    """Return the solid box of uniform density with a mass and an inertia.

    A box of edges a, b, c has the principal moment m (b^2 + c^2) / 12 about the axis of a. Where
    no real body has such moments, as one exceeds the sum of the others, an edge is zero.

    Args:
        mass: In [kg].
        inertia: About the centre of mass, in [kg m^2], shape (3, 3), symmetric.

    Returns:
        Its edges in [m], shape (3,), and the rotation from its axes to those of the inertia,
        shape (3, 3); None if the mass is not positive or a number is not finite.
    """
    if not (0.0 < mass < inf and np.isfinite(inertia).all()):
        return None
    moments, R = np.linalg.eigh(inertia)
    if np.linalg.det(R) < 0.0:
        R[:, 2] = -R[:, 2]
    squares = 6.0 / mass * (moments.sum() - 2.0 * moments)
    return np.sqrt(np.maximum(squares, 0.0)), R


def tensor(numbers: Array) -> Array | None:
    """Return the inertia matrix of 9 numbers (row by row) or 6 (xx xy xz yy yz zz).

    Returns:
        Shape (3, 3); None for any other count.
    """
    if len(numbers) == 6:
        xx, xy, xz, yy, yz, zz = numbers
        return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    return numbers.reshape(3, 3) if len(numbers) == 9 else None


def symmetric(inertia: Array) -> Array:
    """Return the mean of a matrix and its transpose, shape (3, 3)."""
    if _has_equal_halves(inertia):
        return inertia
    mean: Array = (inertia + inertia.T) / 2.0
    return mean


def describe_asymmetry(inertia: Array, advice: str) -> str:
    """Return a message about an asymmetric matrix and the matrix that is used instead.

    Args:
        inertia: Shape (3, 3).
        advice: How to correct a file in which one triangle seems to be missing.
    """
    text = "is not symmetric; the mean of both halves is used"
    halves = {"upper": np.triu(inertia, 1), "lower": np.tril(inertia, -1)}
    written = [name for name, half in halves.items() if half.any()]
    if len(written) == 1:
        text += (
            ", which halves the products of inertia. It looks like only the "
            f"{written[0]} triangle was written: {advice}"
        )
    return text


def is_symmetric(inertia: Array) -> bool:
    """Whether a matrix is symmetric within a relative tolerance of 1e-6, for rounded digits."""
    if _has_equal_halves(inertia):
        return True
    return bool(np.abs(inertia - inertia.T).max() <= 1e-6 * np.abs(inertia).max())


def _has_equal_halves(matrix: Array) -> bool:
    """Whether a matrix equals its transpose; faster than numpy for a single 3 x 3 matrix."""
    (_, xy, xz), (yx, _, yz), (zx, zy, _) = matrix.tolist()
    return bool(xy == yx and xz == zx and yz == zy)
