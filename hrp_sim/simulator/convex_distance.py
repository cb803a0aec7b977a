"""Distance of convex hulls by the algorithm of Gilbert, Johnson and Keerthi (1988)."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from hrp_model.rigid import Array

_MAX_ITERATIONS = 200
_ACCURACY = 1e-9


def hull_distance(a: Array, b: Array) -> float:
    """Return the distance of the convex hulls of two sets of points, in [m]; 0 if they touch.

    Args:
        a: Points in [m], shape (n, 3), at least one.
        b: Likewise.
    """
    nearest = a[0] - b[0]
    simplex = nearest[None, :]
    size = float(np.max(np.abs(a - a[0]), initial=0.0) + np.max(np.abs(b - b[0]), initial=0.0))
    smallest = (_ACCURACY * (size + 1.0)) ** 2
    for _ in range(_MAX_ITERATIONS):
        square = float(nearest @ nearest)
        if square <= smallest:
            return 0.0
        support = a[np.argmin(a @ nearest)] - b[np.argmax(b @ nearest)]
        if square - float(nearest @ support) <= _ACCURACY * square:
            break
        nearest, simplex = _nearest(np.vstack([simplex, support]))
        if float(nearest @ nearest) >= square:  # limited by rounding
            break
    return float(np.linalg.norm(nearest))


def _nearest(points: Array) -> tuple[Array, Array]:
    """Return the point of a simplex nearest to the origin, and the corners that it depends on.

    All of the up to fifteen subsets of corners are tried, which is robust against rounding.
    """
    best = points[0], points[:1]
    least = np.inf
    for count in range(1, min(len(points), 4) + 1):
        for chosen in combinations(range(len(points)), count):
            corners = points[list(chosen)]
            edges = corners[1:] - corners[0]
            weights = np.linalg.lstsq(edges.T, -corners[0], rcond=None)[0]
            if np.any(weights < -1e-12) or weights.sum() > 1.0 + 1e-12:
                continue
            point = corners[0] + weights @ edges
            if (square := float(point @ point)) < least:
                least, best = square, (point, corners)
    return best
