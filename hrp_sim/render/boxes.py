"""Oriented bounding boxes, and the drawing order of transparent shapes."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hrp_model.rigid import Array

# More boxes are sorted by distance only, since comparing all pairs would take too long.
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
        """Return the box expressed in a frame E, from [R_EF | p_EF], shape (3, 4)."""
        return OrientedBox(
            X_EF[:, :3] @ self.center + X_EF[:, 3], X_EF[:, :3] @ self.axes, self.half
        )


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


def back_to_front(boxes: Sequence[OrientedBox]) -> list[int]:
    """Return the order in which to draw the contents of boxes, from back to front.

    If a plane along a face of one of two boxes separates them, the box on the side of the camera
    is in front, whatever the distances of their centres. If there is no such plane, the box with
    the nearer centre counts as in front.

    Args:
        boxes: In the camera frame.
    """
    distances = np.array([float(np.linalg.norm(box.center)) for box in boxes])
    by_distance = np.argsort(-distances, kind="stable")
    if not 1 < len(boxes) <= MAX_COMPARED:
        return [int(i) for i in by_distance]
    # Next is the farthest of those that hide none of the rest.
    hides = _hides(boxes)
    hidden = hides.sum(axis=1)  # number of the rest that each of them hides
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
    """Return whether box i can hide box j but not the other way round, shape (n, n)."""
    n = len(boxes)
    centers, axes, halves = (np.stack(parts) for parts in zip(*boxes, strict=True))
    # Along each axis of box i, as [i, axis, j]: centre of box j and half its extent.
    rows = axes.swapaxes(1, 2).reshape(-1, 3)
    middle = (rows @ centers.T).reshape(n, 3, n)
    edges = np.abs(rows @ (rows * halves.reshape(-1, 1)).T).reshape(n, 3, n, 3)
    half = edges[..., 0] + edges[..., 1] + edges[..., 2]
    own = np.einsum("iki->ik", middle)[..., np.newaxis]
    face = halves[..., np.newaxis]
    tolerance = 1e-6 * (1.0 + halves.max())
    above = middle - half >= own + face - tolerance
    below = middle + half <= own - face + tolerance
    # A box on the same side of such a plane as the camera, at 0, is not hidden by the other.
    i_is_not = ((above & (own + face >= 0.0)) | (below & (own - face <= 0.0))).any(axis=1)
    j_is_not = ((above & (own + face < 0.0)) | (below & (own - face > 0.0))).any(axis=1)
    not_hidden: NDArray[np.bool_] = i_is_not | j_is_not.T
    return not_hidden & ~not_hidden.T
