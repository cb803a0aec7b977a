"""The drawing order of transparent shapes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hrp_model.shapes.boxes import OrientedBox

# More boxes are sorted by distance only, since comparing all pairs would take too long.
MAX_COMPARED = 128


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
