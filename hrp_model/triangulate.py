"""Polygons to triangles."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .geometry import IntArray
from .rigid import Array

_NONE = np.empty((0, 3), dtype=np.int32)


def polygons_to_triangles(
    points: ArrayLike, index_list: ArrayLike
) -> tuple[IntArray, IntArray, IntArray]:
    """Cut polygons into triangles that keep their winding.

    Convex polygons become fans around their first corner; others lose one ear after
    another. Polygons with fewer than three distinct vertices, or with an index that is
    no row of ``points``, give no triangle.

    Args:
        points: In [m], shape (n, 3).
        index_list: Corners of all polygons, a negative number after each; the last may
            be missing.

    Returns:
        triangles: Rows of ``points``, shape (m, 3).
        corner_positions: Where in ``index_list`` each corner stands, so that whatever
            else is given per corner can follow, shape (m, 3).
        polygons: Number of each triangle's polygon, dropped ones counted, shape (m,).
    """
    xyz = np.asarray(points, dtype=np.float64).reshape(-1, 3)
    indices = np.asarray(index_list, dtype=np.int32).reshape(-1)
    ends = np.flatnonzero(indices < 0)
    starts = np.concatenate(([0], ends + 1))
    lengths = np.concatenate((ends, [len(indices)])) - starts
    corners: list[IntArray] = []
    numbers: list[IntArray] = []
    for length in np.unique(lengths[lengths >= 3]):
        chosen = np.flatnonzero(lengths == length).astype(np.int32)
        positions = (starts[chosen, None] + np.arange(length)).astype(np.int32)
        valid = (indices[positions] < len(xyz)).all(axis=1)
        for number, part in _cut(xyz, indices, chosen[valid], positions[valid]):
            corners.append(part)
            numbers.append(number)
    if not corners:
        return _NONE, _NONE, _NONE[:, 0]
    polygons = np.concatenate(numbers)
    order = np.argsort(polygons, kind="stable")
    corner_positions = np.concatenate(corners)[order]
    return indices[corner_positions], corner_positions, polygons[order]


def _cut(
    xyz: Array, indices: IntArray, numbers: IntArray, positions: IntArray
) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield (polygon numbers, corner positions) for polygons that all have k corners.

    Args:
        xyz: Points, shape (n, 3).
        indices: The index list.
        numbers: Number of each polygon, shape (p,).
        positions: Where in the list their corners stand, shape (p, k).
    """
    rows = np.sort(indices[positions], axis=1)
    distinct = 1 + (np.diff(rows, axis=1) != 0).sum(axis=1) >= 3
    numbers, positions = numbers[distinct], positions[distinct]
    k = positions.shape[1]
    fan = np.array([(0, i, i + 1) for i in range(1, k - 1)])
    convex = _are_convex(xyz[indices[positions]]) if k > 3 else np.ones(len(numbers), dtype=bool)
    yield np.repeat(numbers[convex], k - 2), positions[convex][:, fan].reshape(-1, 3)
    for number, row in zip(numbers[~convex], positions[~convex], strict=True):
        ears = row[_ears(xyz[indices[row]])]
        yield np.full(len(ears), number), ears


def _are_convex(corners: Array) -> NDArray[np.bool_]:
    """Tell which polygons turn one way only, and once around, shape (p, k, 3) to (p,)."""
    edges = np.roll(corners, -1, axis=1) - corners
    turns = np.cross(np.roll(edges, 1, axis=1), edges)
    normals = _newell(corners - corners[:, :1])
    sines = np.einsum("pki,pi->pk", turns, normals)
    # A star also turns one way only; seen from its first corner it folds back.
    spokes = corners[:, 1:] - corners[:, :1]
    fan = np.einsum("pki,pi->pk", np.cross(spokes[:, :-1], spokes[:, 1:]), normals)
    convex: NDArray[np.bool_] = (sines > 0.0).all(axis=1) & (fan > 0.0).all(axis=1)
    return convex


def _newell(corners: Array) -> Array:
    """Return the area vectors of closed polygons (Newell), shape (..., k, 3) to (..., 3)."""
    area: Array = np.cross(corners, np.roll(corners, -1, axis=-2)).sum(axis=-2) / 2.0
    return area


def _ears(corners: Array) -> IntArray:
    """Cut one polygon of any kind into k - 2 triangles, given by corner numbers."""
    normal = _newell(corners - corners[0])
    drop = int(np.argmax(np.abs(normal)))
    flat = corners[:, [(drop + 1) % 3, (drop + 2) % 3]]
    if normal[drop] < 0.0:
        flat = flat[:, ::-1]  # seen from its front the polygon turns counter-clockwise
    left = np.arange(len(corners))
    triangles = []
    start = 0
    while len(left) > 3:
        at = _ear(flat[left], start)
        triangles.append(left[[at - 1, at, (at + 1) % len(left)]])
        left = np.delete(left, at)
        start = max(at - 1, 0)
    return np.array([*triangles, left], dtype=np.int32)


def _ear(polygon: Array, start: int) -> int:
    """Return a convex corner whose triangle holds no other corner, searched from ``start``.

    Corners without a turn, and polygons that cross themselves, leave none in the end; then
    the corner with the smallest turn goes.
    """
    before, after = np.roll(polygon, 1, axis=0), np.roll(polygon, -1, axis=0)
    turns = _cross(polygon - before, after - polygon)
    least = 1e-12 * float(np.ptp(polygon, axis=0).max()) ** 2
    convex = np.flatnonzero(turns > least)
    for at in np.roll(convex, -int(np.searchsorted(convex, start))).tolist():
        triangle = np.array((before[at], polygon[at], after[at]))
        corner = (polygon[:, None] == triangle).all(axis=2).any(axis=1)
        sides = np.roll(triangle, -1, axis=0) - triangle
        inside = _cross(sides, polygon[:, None] - triangle) >= -least
        if not (inside.all(axis=1) & ~corner).any():
            return int(at)
    return int(np.argmin(np.abs(turns)))


def _cross(a: Array, b: Array) -> Array:
    product: Array = a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]
    return product
