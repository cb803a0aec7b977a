"""Test whether meshes overlap: their surfaces intersect, or one lies inside the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from ..geometry import Mesh
from ..rigid import Array
from ..shapes.measure import bounding_box, boxes_overlap

Rows = NDArray[np.intp]
Flags = NDArray[np.bool_]

_BLOCK = 1 << 16  # pairs of triangles tested at once


def overlap(a: Sequence[Mesh], b: Sequence[Mesh]) -> bool:
    """Return whether a mesh of ``a`` overlaps one of ``b``, all in the same frame.

    Meshes are treated as solids. Coplanar faces in contact do not count as an overlap; a corner
    or an edge that touches a face does. Of a mesh with disconnected parts only the first part is
    tested for lying inside another mesh.
    """
    return any(_overlap(x, y) for x in a for y in b)


def _overlap(a: Mesh, b: Mesh) -> bool:
    box_a, box_b = bounding_box(a), bounding_box(b)
    if box_a is None or box_b is None:
        return False
    if not boxes_overlap(*box_a, *box_b):
        return False
    A, B = a.vertices[a.triangles], b.vertices[b.triangles]
    if any(_intersect(A[i], B[j]) for i, j in _near_pairs(A, B)):
        return True
    return encloses(b, A[0, 0]) or encloses(a, B[0, 0])


def encloses(mesh: Mesh, point: Array) -> bool:
    """Return whether a point, shape (3,), lies inside a mesh.

    By the solid angle of the triangles as seen from the point (van Oosterom and Strackee 1983):
    4 pi inside, 0 outside; for a mesh with holes, whichever is nearer.
    """
    a, b, c = np.moveaxis(mesh.vertices[mesh.triangles] - point, 1, 0)
    la, lb, lc = (np.linalg.norm(v, axis=1) for v in (a, b, c))
    volume = np.einsum("ij,ij->i", a, np.cross(b, c))
    ab, bc, ca = (np.einsum("ij,ij->i", x, y) for x, y in ((a, b), (b, c), (c, a)))
    angles = 2.0 * np.arctan2(volume, la * lb * lc + ab * lc + bc * la + ca * lb)
    return bool(abs(angles.sum()) > 2.0 * np.pi)


def _near_pairs(A: Array, B: Array) -> Iterator[tuple[Rows, Rows]]:
    """Yield rows of triangles (n, 3, 3) and (m, 3, 3) whose bounding boxes overlap."""
    low_a, high_a, low_b, high_b = A.min(1), A.max(1), B.min(1), B.max(1)
    todo: list[tuple[Rows, Rows]] = [(np.arange(len(A)), np.arange(len(B)))]
    while todo:
        i, j = todo.pop()
        i = i[boxes_overlap(low_a[i], high_a[i], low_b[j].min(0), high_b[j].max(0))]
        if not len(i):
            continue
        j = j[boxes_overlap(low_b[j], high_b[j], low_a[i].min(0), high_a[i].max(0))]
        if not len(j):
            continue
        if len(i) * len(j) <= _BLOCK:
            meet = boxes_overlap(low_a[i, None], high_a[i, None], low_b[j], high_b[j])
            near_i, near_j = np.nonzero(meet)
            yield i[near_i], j[near_j]
        elif len(i) > len(j):
            todo += [(half, j) for half in _halves(i, low_a, high_a)]
        else:
            todo += [(i, half) for half in _halves(j, low_b, high_b)]


def _halves(rows: Rows, low: Array, high: Array) -> list[Rows]:
    centers = low[rows] + high[rows]
    axis = int(np.argmax(np.ptp(centers, axis=0)))
    order = rows[np.argsort(centers[:, axis], kind="stable")]
    return np.array_split(order, 2)


def _intersect(A: Array, B: Array) -> bool:
    """Return whether in any row of triangles (k, 3, 3) an edge of one pierces the other."""
    return any(
        bool(_pierces(first[:, k], first[:, (k + 1) % 3], second).any())
        for first, second in ((A, B), (B, A))
        for k in range(3)
    )


def _pierces(start: Array, end: Array, triangle: Array) -> Flags:
    """Return which segments (k, 3) to (k, 3) hit their triangle (Moeller and Trumbore 1997)."""
    direction = end - start
    e1, e2 = triangle[:, 1] - triangle[:, 0], triangle[:, 2] - triangle[:, 0]
    p = np.cross(direction, e2)
    det = np.einsum("ij,ij->i", e1, p)
    with np.errstate(divide="ignore", invalid="ignore"):
        s = start - triangle[:, 0]
        u = np.einsum("ij,ij->i", s, p) / det
        q = np.cross(s, e1)
        v = np.einsum("ij,ij->i", direction, q) / det
        t = np.einsum("ij,ij->i", e2, q) / det
        inside = (u >= 0.0) & (v >= 0.0) & (u + v <= 1.0) & (t >= 0.0) & (t <= 1.0)
    return np.asarray(inside & (det != 0.0))
