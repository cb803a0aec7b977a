"""Boxes around geometries, their areas, volumes and overlaps, and distinct rows of their arrays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import inf
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..geometry import Box, Capsule, Geometry, IntArray, Mesh, Shape, Sphere
from ..rigid import Array

_Words = NDArray[np.uint32]
# An odd multiplier with well-mixed bits: the fractional part of the golden ratio in 64 bits.
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)
Rows = NDArray[np.intp]
Flags = NDArray[np.bool_]
_BLOCK = 1 << 16  # pairs of triangles tested at once


class BoundingBox(NamedTuple):
    """An axis-aligned box in some frame.

    Attributes:
        low, high: Minimum and maximum corner in [m], each of shape (3,).
    """

    low: Array
    high: Array

    @property
    def center(self) -> Array:
        """Its centre in [m], shape (3,)."""
        return (self.low + self.high) / 2.0

    @property
    def half(self) -> Array:
        """Half of its edge lengths in [m], shape (3,)."""
        return (self.high - self.low) / 2.0

    @property
    def radius(self) -> float:
        """Radius of the sphere through its corners, in [m]."""
        return float(np.linalg.norm(self.high - self.low)) / 2.0

    def transformed(self, T: Array) -> BoundingBox:
        """Return the bounding box of this box under an affine map T of shape (4, 4)."""
        center, half = T[:3, :3] @ self.center + T[:3, 3], np.abs(T[:3, :3]) @ self.half
        return BoundingBox(center - half, center + half)


def union(boxes: Iterable[BoundingBox]) -> BoundingBox | None:
    """Return the smallest box around all boxes; None for no boxes."""
    low_and_high = list(zip(*boxes, strict=True))
    if not low_and_high:
        return None
    return BoundingBox(np.min(low_and_high[0], axis=0), np.max(low_and_high[1], axis=0))


def boxes_overlap(
    low_a: Array, high_a: Array, low_b: Array, high_b: Array, *, touching: bool = True
) -> NDArray[np.bool_]:
    """Return which axis-aligned boxes of one frame overlap.

    The corners of ``a`` and ``b``, shapes (..., n), are broadcast. Boxes that only touch count as
    overlapping if ``touching``.
    """
    below = np.less_equal if touching else np.less
    return np.asarray(np.all(below(low_a, high_b) & below(low_b, high_a), axis=-1))


def geometry_box(geometry: Geometry) -> BoundingBox | None:
    """Return the bounding box of a geometry in its own frame; None for a mesh without triangles."""
    if isinstance(geometry, Mesh):
        return bounding_box(geometry)
    if isinstance(geometry, Box):
        half = geometry.size / 2.0
    else:
        radius = geometry.radius
        along = radius if isinstance(geometry, Sphere) else geometry.height / 2.0
        along += radius if isinstance(geometry, Capsule) else 0.0
        half = np.array([radius, along, radius])
    return BoundingBox(-half, half)


def bounding_box(mesh: Mesh) -> BoundingBox | None:
    """Return the bounding box of the vertices that triangles use; None if there are none.

    Indices of vertices that do not exist, which simulation and exporters report, are ignored.
    """
    vertices = used_vertices(mesh)
    return BoundingBox(vertices.min(axis=0), vertices.max(axis=0)) if len(vertices) else None


def used_vertices(mesh: Mesh) -> Array:
    """Return the vertices of triangles, in their order, each once, shape (n, 3)."""
    triangles, count = mesh.triangles, len(mesh.vertices)
    used = np.zeros(count, dtype=bool)
    used[triangles[(triangles >= 0) & (triangles < count)]] = True
    vertices: Array = mesh.vertices[used]
    return vertices


def area(mesh: Mesh) -> float:
    """Return the total area of the triangles, in [m^2]."""
    a, b, c = _corners(mesh)
    return float(np.linalg.norm(np.cross(b - a, c - a), axis=1).sum() / 2.0)


def is_empty(shape: Shape) -> bool:
    """Return whether a shape is a mesh without area."""
    return isinstance(shape.geometry, Mesh) and area(shape.geometry) == 0.0


def signed_volume(mesh: Mesh) -> float:
    """Return the volume that the triangles enclose, in [m^3]; negative when they face inward.

    Divergence theorem: one sixth of the sum of a . (b x c). Meaningless for a mesh with
    holes, where it depends on the origin.
    """
    a, b, c = _corners(mesh)
    return float(np.einsum("ij,ij->", a, np.cross(b, c)) / 6.0)


def _corners(mesh: Mesh) -> tuple[Array, Array, Array]:
    corners = mesh.vertices[mesh.triangles]
    return corners[:, 0], corners[:, 1], corners[:, 2]


def unique_rows(rows: NDArray[np.float32]) -> tuple[NDArray[np.float32], IntArray]:
    """Return the unique rows in order of first use, and the index of each row among them.

    Rows are equal if all their bits are equal. Negative zeros become positive.

    Args:
        rows: Shape (n, k).

    Returns:
        Shapes (m, k) and (n,).
    """
    rows = np.ascontiguousarray(rows) + np.float32(0.0)  # no -0.0
    words = rows.view(np.uint32)
    first = _first_use(_hashes(words))
    if not np.array_equal(words[first], words):  # unequal rows have the same hash
        width = np.dtype((np.void, words.shape[1] * words.itemsize))
        first = _first_use(words.view(width).ravel())
    is_first = first == np.arange(len(rows), dtype=np.int32)
    rank = np.cumsum(is_first, dtype=np.int32) - np.int32(1)
    return rows[is_first], rank[first]


def _first_use(keys: NDArray[np.generic]) -> IntArray:
    """Return for each key the index of the first equal key, using little memory."""
    if not len(keys):
        return np.zeros(0, np.int32)
    order = np.argsort(keys).astype(np.int32)
    ordered = keys[order]
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    del ordered
    first = np.empty(len(keys), np.int32)
    lengths = np.diff(starts, append=len(keys))
    first[order] = np.repeat(np.minimum.reduceat(order, starts), lengths)
    return first


def _hashes(words: _Words) -> NDArray[np.uint64]:
    """Return a hash of each row; hashes sort ten times as fast as rows."""
    hashes = np.zeros(len(words), np.uint64)
    for column in words.T:
        hashes ^= column
        hashes *= _FACTOR
        hashes ^= hashes >> _HALF
    return hashes


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
