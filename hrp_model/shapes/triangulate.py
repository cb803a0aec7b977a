"""Triangulate polygons, also with holes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..geometry import IntArray
from ..rigid import Array

_NONE = np.empty((0, 3), dtype=np.int32)
# Larger concave polygons would take seconds each; no published model comes near.
MAX_CONCAVE_CORNERS = 2000
_BLOCK = 100_000  # corners processed at once, to bound the memory of temporary arrays
_MAX_CORNERS = 1000  # with the ends of bridges; more would take seconds
_MAX_TRIES = 64  # of bridges to one hole, from the shortest on


def polygons_to_triangles(
    points: ArrayLike, index_list: ArrayLike
) -> tuple[IntArray, IntArray, IntArray]:
    """Triangulate polygons, keeping their winding.

    Convex polygons, and those with more than MAX_CONCAVE_CORNERS corners, become fans around
    their last corner; other polygons are triangulated by ear clipping. Polygons with fewer than
    three corners, larger ones with fewer than three distinct corners, and those with an index
    outside of ``points`` are dropped. Triangles are always kept, even degenerate ones, so that
    their numbers are those of the file.

    Args:
        points: In [m], shape (n, 3).
        index_list: Corners of all polygons, each followed by a negative number, which may be
            missing after the last.

    Returns:
        triangles: Rows of ``points``, shape (m, 3).
        corner_positions: Position in ``index_list`` of each corner, to look up other
            attributes of corners, shape (m, 3).
        polygons: Index of each triangle's polygon, counting dropped ones, shape (m,).
    """
    xyz = np.asarray(points, dtype=np.float64).reshape(-1, 3)
    indices = np.asarray(index_list, dtype=np.int32).reshape(-1)
    starts, lengths = _extents(indices)
    corners: list[IntArray] = []
    numbers: list[IntArray] = []
    for length in (np.flatnonzero(np.bincount(lengths)[3:]) + 3).tolist():
        chosen = np.flatnonzero(lengths == length).astype(np.int32)
        offsets: IntArray = np.arange(length, dtype=np.int32)
        positions = starts[chosen, None] + offsets
        usable = _are_usable(indices[positions], len(xyz))
        if not usable.all():
            chosen, positions = chosen[usable], positions[usable]
        for number, part in _cut(xyz, indices, chosen, positions):
            corners.append(part)
            numbers.append(number)
    if not corners:
        return _NONE, _NONE, _NONE[:, 0]
    if len(corners) == 1:  # in order already
        corner_positions, polygons = corners[0], numbers[0]
    else:
        order = np.argsort(np.concatenate(numbers), kind="stable")
        corner_positions = np.concatenate(corners)[order]
        polygons = np.concatenate(numbers)[order]
    return indices[corner_positions], corner_positions, polygons


def strip_corners(count: int) -> IntArray:
    """Return the positions of the triangles in a strip of corners, shape (count - 2, 3).

    Each corner from the third on makes a triangle with the two before it; every second triangle
    is turned, so that all have the winding of the first.
    """
    first = np.arange(max(count - 2, 0), dtype=np.int32)
    odd = first % 2
    return np.stack((first + odd, first + 1 - odd, first + 2), axis=1)


def fan_corners(count: int) -> IntArray:
    """Return the positions of the triangles in a fan around its first corner, as for strips."""
    second = np.arange(1, max(count - 1, 1), dtype=np.int32)
    return np.stack((np.zeros_like(second), second, second + 1), axis=1)


def oversized_polygon(index_list: NDArray[Any]) -> int:
    """Return the corner count of the largest polygon if it exceeds MAX_CONCAVE_CORNERS, else 0."""
    if len(index_list) <= MAX_CONCAVE_CORNERS:
        return 0
    corners = int(_extents(index_list)[1].max())
    return corners if corners > MAX_CONCAVE_CORNERS else 0


def _extents(indices: NDArray[Any]) -> tuple[IntArray, IntArray]:
    """Return the start of each polygon in an index list, and its number of corners."""
    ends = np.flatnonzero(indices < 0).astype(np.int32)
    starts = np.concatenate(([0], ends + 1), dtype=np.int32)
    return starts, np.concatenate((ends, [len(indices)]), dtype=np.int32) - starts


def _are_usable(rows: IntArray, count: int) -> NDArray[np.bool_]:
    """Return which polygons (p, k) of ``count`` points are not dropped, shape (p,)."""
    if rows.shape[1] == 3:
        usable: NDArray[np.bool_] = rows.max(axis=1) < count
    else:
        ordered = np.sort(rows, axis=1)
        distinct = 1 + np.count_nonzero(np.diff(ordered, axis=1), axis=1)
        usable = (ordered[:, -1] < count) & (distinct >= 3)
    return usable


def _cut(
    xyz: Array, indices: IntArray, numbers: IntArray, positions: IntArray
) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield (polygon numbers, corner positions) for polygons that all have k corners.

    Args:
        xyz: Points, shape (n, 3).
        indices: The index list.
        numbers: Index of each polygon, shape (p,).
        positions: Positions of their corners in the list, shape (p, k).
    """
    k = positions.shape[1]
    if k == 3:
        yield numbers, positions
        return
    convex = np.ones(len(numbers), dtype=bool)
    if k <= MAX_CONCAVE_CORNERS:
        step = max(_BLOCK // k, 1)
        for i in range(0, len(numbers), step):
            convex[i : i + step] = _are_convex(xyz[indices[positions[i : i + step]]])
    fans = positions[np.flatnonzero(convex)[:, None], _fan(k).ravel()].reshape(-1, 3)
    yield np.repeat(numbers[convex], k - 2), fans
    for number, row in zip(numbers[~convex], positions[~convex], strict=True):
        ears = row[_ears(xyz[indices[row]])]
        yield np.full(len(ears), number), ears


def _are_convex(corners: Array) -> NDArray[np.bool_]:
    """Return which polygons are convex and simple, shape (p, k, 3) to (p,)."""
    edges = np.roll(corners, -1, axis=1) - corners
    turns = np.cross(np.roll(edges, 1, axis=1), edges)
    normals = _newell(corners - corners[:, :1])
    sines = np.einsum("pki,pi->pk", turns, normals)
    # All corners of a star polygon are convex, too, but its fan has triangles of both signs.
    spokes = corners[:, 1:] - corners[:, :1]
    fan = np.einsum("pki,pi->pk", np.cross(spokes[:, :-1], spokes[:, 1:]), normals)
    convex: NDArray[np.bool_] = (sines > 0.0).all(axis=1) & (fan > 0.0).all(axis=1)
    return convex


def _newell(corners: Array) -> Array:
    """Return area vectors of polygons (Newell's method), shape (..., k, 3) to (..., 3)."""
    area: Array = np.cross(corners, np.roll(corners, -1, axis=-2)).sum(axis=-2) / 2.0
    return area


def _ears(corners: Array) -> IntArray:
    """Cut one polygon of any kind into k - 2 triangles by ear clipping, given by corner numbers.

    Clipping an ear of a simple polygon changes only the ears beside it (J. O'Rourke,
    "Computational Geometry in C", section 1.4), so the time is quadratic in k. A polygon that
    touches itself may gain other ears, so the search is repeated a few times. If no ear is
    left, for example because the polygon intersects itself, the corner with the smallest area
    is cut off.
    """
    polygon = flattened(corners, corners)
    size = float(np.ptp(polygon, axis=0).max())
    min_area = 1e-12 * size * size  # size**2 would raise OverflowError
    left = np.arange(len(polygon))
    candidates = np.ones(len(polygon), dtype=bool)
    triangles = []
    start, searches = 0, 8
    while len(left) > 3:
        at = _first_ear(polygon, candidates, start, min_area)
        if at is None and searches:
            searches -= 1
            candidates[:] = True
            at = _first_ear(polygon, candidates, start, min_area)
        if at is None:
            at = int(np.argmin(np.abs(_double_areas(_tips(polygon, np.arange(len(left)))))))
        triangles.append(left[[at - 1, at, (at + 1) % len(left)]])
        left, polygon = np.delete(left, at), np.delete(polygon, at, axis=0)
        candidates = np.delete(candidates, at)
        candidates[[at - 1, at % len(left)]] = True
        start = max(at - 1, 0)
    return np.array([*triangles, left], dtype=np.int32)


def _first_ear(
    polygon: Array, candidates: NDArray[np.bool_], start: int, min_area: float
) -> int | None:
    """Return a convex corner whose triangle contains no other corner, or None.

    Args:
        polygon: Counter-clockwise, shape (k, 2).
        candidates: Corners that may be ears, shape (k,); set to False for those that are not.
        start: Corner to start from.
        min_area: Twice the minimum area of a triangle, in [m^2].
    """
    numbers = np.flatnonzero(candidates)
    convex = _double_areas(_tips(polygon, numbers)) > min_area
    candidates[numbers[~convex]] = False
    numbers = numbers[convex]
    split = int(np.searchsorted(numbers, start))
    for at in [*numbers[split:].tolist(), *numbers[:split].tolist()]:
        triangle = polygon[[at - 1, at, (at + 1) % len(polygon)]]
        low, high = triangle.min(axis=0), triangle.max(axis=0)
        near = polygon[((polygon >= low) & (polygon <= high)).all(axis=1)]
        corner = (near[:, None] == triangle).all(axis=2).any(axis=1)
        sides = triangle[[1, 2, 0]] - triangle
        inside = _cross(sides, near[:, None] - triangle) >= -min_area
        if not (inside.all(axis=1) & ~corner).any():
            return int(at)
        candidates[at] = False
    return None


def _fan(corners: int) -> IntArray:
    """Return the triangles around the last corner of a polygon, shape (corners - 2, 3).

    Same as in Choreonoid, so that polygons that are not planar have the same surface.
    """
    first = np.arange(corners - 2, dtype=np.int32)
    return np.stack((first, first + 1, np.full_like(first, corners - 1)), axis=1)


def flattened(points: Array, polygon: Array) -> Array:
    """Return points projected to a plane in which a polygon is counter-clockwise, shape (k, 2)."""
    normal = _newell(polygon - polygon[0])
    drop = int(np.argmax(np.abs(normal)))
    flat = points[:, [(drop + 1) % 3, (drop + 2) % 3]]
    return flat[:, ::-1] if normal[drop] < 0.0 else flat


def _tips(polygon: Array, numbers: NDArray[np.intp]) -> Array:
    """Return corners of a polygon with their predecessors and successors, shape (m, 3, 2)."""
    tips: Array = polygon[np.stack((numbers - 1, numbers, (numbers + 1) % len(polygon)), axis=1)]
    return tips


def _double_areas(tips: Array) -> Array:
    """Return twice the signed area of each tip; negative at concave corners, shape (m,)."""
    return _cross(tips[:, 1] - tips[:, 0], tips[:, 2] - tips[:, 1])


def _cross(a: Array, b: Array) -> Array:
    product: Array = a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]
    return product


def polygon_with_holes(loops: Sequence[Array]) -> IntArray:
    """Return the corners of a polygon without holes that covers the same surface.

    Each hole is joined to the outline by a bridge that is passed in both directions, the shortest
    one that crosses no edge. Holes of polygons with more than a thousand corners are filled.

    Args:
        loops: Corners of the outline, then of its holes, each of shape (k, 3), in [m].

    Returns:
        Numbers of corners, counted over all loops.
    """
    starts = np.cumsum([0, *map(len, loops)])
    outline: IntArray = np.arange(len(loops[0]), dtype=np.int32)
    if starts[-1] + 2 * len(loops) > _MAX_CORNERS or len(loops[0]) < 3:
        return outline
    flat = flattened(np.concatenate(loops), loops[0])
    holes: list[IntArray] = [
        np.arange(a, b, dtype=np.int32) for a, b in pairwise(starts[1:]) if b - a >= 3
    ]
    # Holes turn the other way round than the outline, which is counter-clockwise.
    holes = [hole[::-1] if _double_area(flat[hole]) > 0.0 else hole for hole in holes]
    first = outline
    holes.sort(key=lambda hole: _nearest(flat, first, hole))
    for i, hole in enumerate(holes):
        outline = _joined(flat, outline, hole, holes[i + 1 :])
    return outline


def _nearest(flat: Array, outline: IntArray, hole: IntArray) -> float:
    """Return the smallest squared distance between corners of both."""
    return float(np.square(flat[outline][:, None] - flat[hole]).sum(axis=2).min())


def _joined(flat: Array, outline: IntArray, hole: IntArray, others: list[IntArray]) -> IntArray:
    """Return an outline with a hole, joined by a bridge."""
    distances = np.square(flat[outline][:, None] - flat[hole]).sum(axis=2)
    edges = np.concatenate(
        [np.stack((loop, np.roll(loop, -1)), axis=1) for loop in (outline, hole, *others)]
    )
    order = np.argsort(distances, axis=None, kind="stable")[:_MAX_TRIES]
    best = divmod(int(order[0]), len(hole))
    for at in order.tolist():
        i, j = divmod(at, len(hole))
        if not _crosses(flat, int(outline[i]), int(hole[j]), edges) and _is_inside(
            flat, outline, i, int(hole[j])
        ):
            best = i, j
            break
    i, j = best
    around = np.concatenate((np.roll(hole, -j), hole[j : j + 1]))
    return np.concatenate((outline[: i + 1], around, outline[i:]))


def _is_inside(flat: Array, outline: IntArray, i: int, target: int) -> bool:
    """Return whether a bridge leaves a corner of the outline to its inner side."""
    before, corner, after = (
        flat[outline[i - 1]],
        flat[outline[i]],
        flat[outline[(i + 1) % len(outline)]],
    )
    to = flat[target] - corner
    left_of_next = _cross(after - corner, to) > 0.0
    left_of_last = _cross(corner - before, to) > 0.0
    if _cross(corner - before, after - corner) >= 0.0:
        return bool(left_of_next and left_of_last)
    return bool(left_of_next or left_of_last)


def _crosses(flat: Array, start: int, end: int, edges: IntArray) -> bool:
    """Return whether a segment touches an edge elsewhere than at its own ends."""
    p, q = flat[start], flat[end]
    a, b = flat[edges[:, 0]], flat[edges[:, 1]]
    shares = (
        (a == p).all(axis=1) | (b == p).all(axis=1) | (a == q).all(axis=1) | (b == q).all(axis=1)
    )
    of_a, of_b = _cross(q - p, a - p), _cross(q - p, b - p)
    of_p, of_q = _cross(b - a, p - a), _cross(b - a, q - a)
    meets = (of_a * of_b <= 0.0) & (of_p * of_q <= 0.0)
    return bool((meets & ~shares).any())


def _double_area(polygon: Array) -> float:
    return float(_cross(polygon, np.roll(polygon, -1, axis=0)).sum())
