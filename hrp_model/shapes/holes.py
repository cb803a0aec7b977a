"""Join the holes of a polygon to its outline, so that one polygon without holes is left."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from ..geometry import IntArray
from ..rigid import Array
from .triangulate import MAX_CONCAVE_CORNERS, flattened

_MAX_TRIES = 64  # of bridges to one hole, from the shortest on


def polygon_with_holes(loops: Sequence[Array]) -> IntArray:
    """Return the corners of a polygon without holes that covers the same surface.

    Each hole is joined to the outline by a bridge that is passed in both directions, the shortest
    one that crosses no edge. Holes of polygons with more than MAX_CONCAVE_CORNERS corners, which
    are not triangulated exactly, are filled.

    Args:
        loops: Corners of the outline, then of its holes, each of shape (k, 3), in [m].

    Returns:
        Numbers of corners, counted over all loops.
    """
    starts = np.cumsum([0, *map(len, loops)])
    outline: IntArray = np.arange(len(loops[0]), dtype=np.int32)
    if starts[-1] > MAX_CONCAVE_CORNERS or len(loops[0]) < 3:
        return outline
    flat = flattened(np.concatenate(loops), loops[0])
    holes: list[IntArray] = [
        np.arange(a, b, dtype=np.int32) for a, b in pairwise(starts[1:]) if b - a >= 3
    ]
    # Holes turn the other way round than the outline, which is counter-clockwise.
    holes = [hole[::-1] if _double_area(flat[hole]) > 0.0 else hole for hole in holes]
    while holes:
        nearest = min(range(len(holes)), key=lambda i: _nearest(flat, outline, holes[i]))
        outline = _joined(flat, outline, holes.pop(nearest), holes)
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


def _cross(a: Array, b: Array) -> Array:
    product: Array = a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]
    return product
