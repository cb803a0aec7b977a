"""Convex hulls and tight oriented boxes of points."""

from __future__ import annotations

from math import pi, sqrt

import numpy as np

from ..geometry import IntArray, Mesh
from ..rigid import IDENTITY_3, Array, Pose, axis_angle_matrix
from ..shapes.measure import used_vertices
from ..shapes.unique_rows import unique_rows

# Thickness given to flat shapes, in [m], and its maximum as a share of their size: bodies without
# volume cannot be simulated.
_THICKNESS, _MAX_THICKNESS_SHARE = 1e-3, 1e-2
# Shapes thinner than this share of their size are flat: hulls and inertias would lose all digits.
_FLAT = 1e-5
_SAMPLED_DIRECTIONS = 256
_STARTS = 4  # boxes from which the search starts
_SAME = 1.0 + 1e-6  # volumes within this factor are equal
_MAX_DIRECTIONS = 8  # of face normals and of edges


def convex_hull(points: Array) -> Mesh:
    """Return the convex hull of points, shape (n, 3), as triangles that face outward.

    Points in a plane or on a line are given a thickness of 1 mm, or of a hundredth of their
    size if that is less.
    """
    from scipy.spatial import ConvexHull  # slow to import

    points = thickened(points)
    hull = ConvexHull(points - points.mean(axis=0))
    triangles: IntArray = hull.simplices
    corners = hull.points[triangles]
    facing = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    inward = np.einsum("fi,fi->f", facing, hull.equations[:, :3]) < 0.0
    triangles[inward] = triangles[inward, ::-1]
    used, renumbered = np.unique(triangles, return_inverse=True)
    return Mesh(points[used], renumbered.astype(np.int32))


def is_flat(points: Array) -> bool:
    """Return whether points, shape (n, 3), nearly lie in a plane."""
    _, extents = principal(points)
    return bool(extents.min() <= _FLAT * extents.max())


def thickened(points: Array) -> Array:
    """Return points that span a volume; flat ones are doubled on both sides of their plane."""
    axes, extents = principal(points)
    size = extents.max()
    for axis, extent in zip(axes.T, extents, strict=True):
        if extent <= _FLAT * size:
            offset = axis * (_thickness(size) / 2.0)
            points = np.concatenate([points + offset, points - offset])
    return points


def tight_box(mesh: Mesh, R_GF: Array = IDENTITY_3) -> tuple[Pose, Array]:
    """Return an oriented box of nearly minimal volume around the triangles of a mesh.

    Candidates are boxes along the axes of a frame F, of the mesh's frame, of its principal axes,
    and of its largest faces and longest edges. The best ones are rotated as long as their volume
    decreases; the first of equal boxes wins. The box always contains all corners.

    Args:
        mesh: In its frame G, with at least one triangle.
        R_GF: Axes of F in G, shape (3, 3).

    Returns:
        Pose of the box in G, and its size, shape (3,), always positive.
    """
    points = used_vertices(mesh)
    center = points.mean(axis=0)
    points = points - center
    extreme = _extreme_points(points)
    simple = np.stack([R_GF, IDENTITY_3, principal(points)[0]])
    starts = np.concatenate([simple, _along_faces(mesh)])
    volumes = _volumes(extreme, starts)
    order = np.argsort(np.where(volumes <= volumes.min() * _SAME, 0.0, volumes), kind="stable")
    minima = [_local_minimum(extreme, starts[i], volumes[i]) for i in order[:_STARTS]]
    smallest = min(volume for volume, _ in minima)
    R = next(R for volume, R in minima if volume <= smallest * _SAME)
    along = points @ R
    low, high = along.min(axis=0), along.max(axis=0)
    size = high - low
    size = np.maximum(size * (1.0 + 1e-12), _thickness(size.max()) * (size <= _FLAT * size.max()))
    return Pose(R, R @ ((low + high) / 2.0) + center), size


def _thickness(size: float) -> float:
    return min(_THICKNESS, _MAX_THICKNESS_SHARE * size)


def principal(points: Array) -> tuple[Array, Array]:
    """Return principal axes as the columns of a rotation, and the extents along them."""
    centered = points - points.mean(axis=0)
    axes: Array = np.linalg.eigh(centered.T @ centered)[1]
    if np.linalg.det(axes) < 0.0:
        axes[:, 0] *= -1.0
    return axes, np.ptp(centered @ axes, axis=0)


def _extreme_points(points: Array) -> Array:
    """Return the points that are farthest in one of many directions."""
    # Directions evenly distributed on the sphere: a spiral with the golden angle.
    i = np.arange(_SAMPLED_DIRECTIONS)
    z = 1.0 - (2.0 * i + 1.0) / _SAMPLED_DIRECTIONS
    angle = pi * (3.0 - sqrt(5.0)) * i
    radius = np.sqrt(1.0 - z**2)
    directions = np.stack([radius * np.cos(angle), radius * np.sin(angle), z])
    # Normalize the extents first, or most directions would select the ends of a long body.
    axes, extents = principal(points)
    normalized = (points @ axes) / np.maximum(extents, _FLAT * extents.max())
    farthest = [int(np.argmax(normalized @ direction)) for direction in directions.T]
    chosen: Array = points[np.unique(farthest)]
    return chosen


def _along_faces(mesh: Mesh) -> Array:
    """Return frames with axes along normals of large faces and long edges, shape (k, 3, 3)."""
    corners = mesh.vertices[mesh.triangles]
    sides = np.roll(corners, -1, axis=1) - corners
    normals = _directions(np.cross(sides[:, 0], sides[:, 1]))
    axes = np.concatenate([normals, _directions(sides.reshape(-1, 3))])
    first, second = np.nonzero(~np.eye(len(axes), dtype=bool))
    x, z = axes[first], np.cross(axes[first], axes[second])
    lengths = np.linalg.norm(z, axis=1)
    x, z = x[lengths > 0.1], z[lengths > 0.1] / lengths[lengths > 0.1, None]
    return np.stack([x, np.cross(z, x), z], axis=2)


def _directions(vectors: Array) -> Array:
    """Return the directions with the largest total length of vectors, up to sign, (k, 3)."""
    lengths = np.linalg.norm(vectors, axis=1)
    vectors, lengths = vectors[lengths > 0.0], lengths[lengths > 0.0]
    directions = vectors / lengths[:, None]
    largest = np.abs(directions).argmax(axis=1)
    directions *= np.sign(np.take_along_axis(directions, largest[:, None], axis=1))
    _, kind = unique_rows(np.round(directions, 4).astype(np.float32))
    _, first = np.unique(kind, return_index=True)
    order = np.argsort(-np.bincount(kind, weights=lengths), kind="stable")
    chosen: Array = directions[first[order[:_MAX_DIRECTIONS]]]
    return chosen


def _volumes(points: Array, boxes: Array) -> Array:
    """Return volumes of boxes along the columns of rotations, (k, 3, 3).

    A small margin lets flat boxes be compared by their area.
    """
    along = points @ boxes
    extents = along.max(axis=1) - along.min(axis=1)
    volumes: Array = np.prod(extents + 1e-6 * extents.max(axis=1, keepdims=True), axis=1)
    return volumes


def _local_minimum(points: Array, R: Array, volume: float) -> tuple[float, Array]:
    """Rotate a box about its axes by ever smaller angles as long as its volume decreases."""
    for rotations in _ROTATIONS:
        while True:
            trials = R @ rotations
            volumes = _volumes(points, trials)
            best = int(np.argmin(volumes))
            if volumes[best] * _SAME >= volume:
                break
            volume, R = float(volumes[best]), trials[best]
    return volume, R


def _rotations(angle: float) -> Array:
    """Return the rotations by +-angle about each axis, shape (6, 3, 3)."""
    angles = (angle, -angle)
    return np.stack([axis_angle_matrix(axis, a) for axis in IDENTITY_3 for a in angles])


_ROTATIONS = [_rotations(pi / 12.0 / 2**i) for i in range(12)]
