"""Convex hulls of points, by qhull."""

from ..rigid import Array

def facets(points: Array) -> bytes:
    """Return the triangles of the convex hull, that face outward, as int32 indices, (f, 3).

    Args:
        points: Contiguous, shape (n, 3).

    Raises:
        ValueError: The points have no volume, or one of them is not finite.
    """
