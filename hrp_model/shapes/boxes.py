"""Boxes around shapes whose edges are along any axes."""

from __future__ import annotations

from math import inf
from typing import NamedTuple

import numpy as np

from ..rigid import Array


class OrientedBox(NamedTuple):
    """A box in a frame F.

    Attributes:
        center: In [m], shape (3,).
        axes: Unit vectors along its edges as columns, shape (3, 3).
        half: Half the length of its edges, in [m], shape (3,).
    """

    center: Array
    axes: Array
    half: Array

    def moved(self, X_EF: Array) -> OrientedBox:
        """Return the box expressed in a frame E, from [R_EF | p_EF], shape (3, 4)."""
        return OrientedBox(
            X_EF[:, :3] @ self.center + X_EF[:, 3], X_EF[:, :3] @ self.axes, self.half
        )

    def contains(self, point: Array) -> bool:
        """Return whether a point in F, shape (3,), is inside."""
        return bool((np.abs((point - self.center) @ self.axes) < self.half).all())


def box_around(points: Array, A_FG: Array) -> OrientedBox:
    """Return the smallest of several candidate boxes around points in F.

    Their edges are along the axes of F, along those of the geometry, or along the principal axes
    of the points, which suit flat shapes.

    Args:
        points: In F, in [m], shape (n, 3).
        A_FG: From the geometry's own frame to F, shape (3, 3).
    """
    size = float(np.ptp(points, axis=0).max())
    candidates = [np.eye(3)]
    if 0.0 < size < inf:
        from_mean = (points - points.mean(axis=0)) / size
        candidates.append(np.linalg.eigh(from_mean.T @ from_mean)[1])
    lengths = np.linalg.norm(A_FG, axis=0)
    if lengths.all() and np.allclose((A_FG / lengths).T @ (A_FG / lengths), np.eye(3)):
        candidates.append(A_FG / lengths)
    boxes = [_box_along(points, axes) for axes in candidates]
    # A little thickness, so that volumes of flat boxes can be compared.
    return min(boxes, key=lambda box: float(np.prod(box.half / (size or 1.0) + 1e-6)))


def _box_along(points: Array, axes: Array) -> OrientedBox:
    along = points @ axes
    low, high = along.min(axis=0), along.max(axis=0)
    return OrientedBox(axes @ (low + high) / 2.0, axes, (high - low) / 2.0)
