"""Boxes around shapes, and in which order shapes hide each other."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hrp_model.rigid import Array

# Comparing each with each other would take too long for more; they are sorted by distance.
MAX_COMPARED = 128


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
        """Return the box in a frame E, from the rows of [R_EF | p_EF], shape (3, 4)."""
        return OrientedBox(
            X_EF[:, :3] @ self.center + X_EF[:, 3], X_EF[:, :3] @ self.axes, self.half
        )


def box_around(points: Array, A_FG: Array) -> OrientedBox:
    """Return the least box around points in F, among some likely ones.

    Its edges are along the axes of F, along those of the geometry, or along the principal axes
    of the points, as is best for what is flat.

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
    # A little thickness, so that of two boxes around something flat the flatter one is less.
    return min(boxes, key=lambda box: float(np.prod(box.half / (size or 1.0) + 1e-6)))


def back_to_front(boxes: Sequence[OrientedBox]) -> list[int]:
    """Return the order in which what is in these boxes is drawn so that the nearer hides.

    If a plane along a face of one of two boxes keeps them apart, what is on the same side as
    the eye hides the other: exactly so, however far their centres are. Where no such plane
    tells, the one with the more distant centre counts as hidden.

    Args:
        boxes: In the frame of the eye, which is at its origin.
    """
    distances = np.array([float(np.linalg.norm(box.center)) for box in boxes])
    by_distance = np.argsort(-distances, kind="stable")
    if not 1 < len(boxes) <= MAX_COMPARED:
        return [int(i) for i in by_distance]
    # Next is the farthest of those that hide nothing of what is still to be drawn.
    hides = _hides(boxes)
    hidden = hides.sum(axis=1)  # how many of the rest each of them hides
    rest = [int(i) for i in by_distance]
    order: list[int] = []
    while rest:
        order.append(next((i for i in rest if not hidden[i]), rest[0]))
        rest.remove(order[-1])
        hidden -= hides[:, order[-1]]
    return order


def _box_along(points: Array, axes: Array) -> OrientedBox:
    along = points @ axes
    low, high = along.min(axis=0), along.max(axis=0)
    return OrientedBox(axes @ (low + high) / 2.0, axes, (high - low) / 2.0)


def _hides(boxes: Sequence[OrientedBox]) -> NDArray[np.bool_]:
    """Return which box can hide which but not be hidden by it, shape (n, n) of bool."""
    n = len(boxes)
    centers, axes, halves = (np.stack(parts) for parts in zip(*boxes, strict=True))
    # Along each axis of box i, as [i, axis, j]: the middle of box j and half its length.
    rows = axes.swapaxes(1, 2).reshape(-1, 3)
    middle = (rows @ centers.T).reshape(n, 3, n)
    edges = np.abs(rows @ (rows * halves.reshape(-1, 1)).T).reshape(n, 3, n, 3)
    half = edges[..., 0] + edges[..., 1] + edges[..., 2]
    own = np.einsum("iki->ik", middle)[..., np.newaxis]
    face = halves[..., np.newaxis]
    tolerance = 1e-6 * (1.0 + halves.max())
    above = middle - half >= own + face - tolerance
    below = middle + half <= own - face + tolerance
    # Who has the eye, at 0, on his side of such a plane is not hidden by the other.
    i_is_not = ((above & (own + face >= 0.0)) | (below & (own - face <= 0.0))).any(axis=1)
    j_is_not = ((above & (own + face < 0.0)) | (below & (own - face > 0.0))).any(axis=1)
    not_hidden: NDArray[np.bool_] = i_is_not | j_is_not.T
    return not_hidden & ~not_hidden.T
