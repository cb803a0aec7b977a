"""Convex hulls and tight boxes of points."""

from __future__ import annotations

from importlib import import_module
from math import pi, sqrt
from typing import Any

import numpy as np

from ..diagnostics import MissingLibraryError
from ..geometry import IntArray, Mesh
from ..rigid import IDENTITY_3, Array, Pose, axis_angle_matrix
from ..shapes.unique_rows import unique_rows

# What is flat gets this thickness, in [m], or this share of its size if that is less: bodies
# without volume cannot be simulated.
_THICKNESS, _LARGEST_SHARE = 1e-3, 1e-2
# Thinner than this share of the size is flat: hulls and inertias lose all their digits.
_FLAT = 1e-5
_DIRECTIONS = 256
_STARTS = 4  # boxes that are turned
_SAME = 1.0 + 1e-6  # volumes within this factor are equal
_MOST_DIRECTIONS = 8


def convex_hull(points: Array) -> Mesh:
    """Return the convex hull of points, shape (n, 3), as triangles that face outward.

    Points in a plane or on a line are given a thickness of 1 mm, or a hundredth of their
    size if that is less.

    Raises:
        MissingLibraryError: scipy is not installed.
    """
    try:
        spatial: Any = import_module("scipy.spatial")  # optional, and slow to import
    except ImportError:
        message = "convex hulls need scipy: pip install 'hrp_ros[decompose]'"
        raise MissingLibraryError(message) from None
    points = thickened(points)
    hull = spatial.ConvexHull(points - points.mean(axis=0))
    triangles: IntArray = hull.simplices
    corners = hull.points[triangles]
    facing = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    inward = np.einsum("fi,fi->f", facing, hull.equations[:, :3]) < 0.0
    triangles[inward] = triangles[inward, ::-1]
    used, renumbered = np.unique(triangles, return_inverse=True)
    return Mesh(points[used], renumbered.astype(np.int32))


def is_flat(points: Array) -> bool:
    """Tell whether points, shape (n, 3), lie in a plane, or nearly so."""
    _, extents = _principal(points)
    return bool(extents.min() <= _FLAT * extents.max())


def thickened(points: Array) -> Array:
    """Return points that span a volume: the same, or points on both sides of flat ones."""
    axes, extents = _principal(points)
    size = extents.max()
    for axis, extent in zip(axes.T, extents, strict=True):
        if extent <= _FLAT * size:
            aside = axis * (_thickness(size) / 2.0)
            points = np.concatenate([points + aside, points - aside])
    return points


def tight_box(mesh: Mesh, R_GF: Array = IDENTITY_3) -> tuple[Pose, Array]:
    """Return a box around the triangles of a mesh that is about as small as can be.

    Boxes along the axes of a frame F, along the mesh's own, along its largest faces and
    longest edges, and along its principal axes compete; the best are turned as long as
    they shrink, and the first of equals wins. Whatever is found, the box contains every corner.

    Args:
        mesh: In its frame G, with one triangle at least.
        R_GF: Axes of F in G, shape (3, 3).

    Returns:
        Pose of the box in G, and its size, shape (3,), nowhere 0.
    """
    points = mesh.vertices[np.unique(mesh.triangles)]
    center = points.mean(axis=0)
    points = points - center
    extreme = _extreme(points)
    simple = np.stack([R_GF, IDENTITY_3, _principal(points)[0]])
    starts = np.concatenate([simple, _along_faces(mesh)])
    volumes = _volumes(extreme, starts)
    order = np.argsort(np.where(volumes <= volumes.min() * _SAME, 0.0, volumes), kind="stable")
    shrunk = [_shrunk(extreme, starts[i], volumes[i]) for i in order[:_STARTS]]
    smallest = min(volume for volume, _ in shrunk)
    R = next(R for volume, R in shrunk if volume <= smallest * _SAME)
    along = points @ R
    low, high = along.min(axis=0), along.max(axis=0)
    size = high - low
    size = np.maximum(size * (1.0 + 1e-12), _thickness(size.max()) * (size <= _FLAT * size.max()))
    return Pose(R, R @ ((low + high) / 2.0) + center), size


def _thickness(size: float) -> float:
    return min(_THICKNESS, _LARGEST_SHARE * size)


def _principal(points: Array) -> tuple[Array, Array]:
    """Return principal axes as the columns of a rotation, and the extents along them."""
    centered = points - points.mean(axis=0)
    axes: Array = np.linalg.eigh(centered.T @ centered)[1]
    if np.linalg.det(axes) < 0.0:
        axes[:, 0] *= -1.0
    return axes, np.ptp(centered @ axes, axis=0)


def _extreme(points: Array) -> Array:
    """Return those points that are farthest in one of many directions."""
    # Evenly about the sphere, along a spiral of the golden angle.
    i = np.arange(_DIRECTIONS)
    z = 1.0 - (2.0 * i + 1.0) / _DIRECTIONS
    angle = pi * (3.0 - sqrt(5.0)) * i
    radius = np.sqrt(1.0 - z**2)
    directions = np.stack([radius * np.cos(angle), radius * np.sin(angle), z])
    # Of points as far in all directions, or most directions would be those of a long body's ends.
    axes, extents = _principal(points)
    even = (points @ axes) / np.maximum(extents, _FLAT * extents.max())
    farthest = [int(np.argmax(even @ direction)) for direction in directions.T]
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
    """Return the directions that most of the length of vectors goes, signs aside, (k, 3)."""
    lengths = np.linalg.norm(vectors, axis=1)
    vectors, lengths = vectors[lengths > 0.0], lengths[lengths > 0.0]
    directions = vectors / lengths[:, None]
    largest = np.abs(directions).argmax(axis=1)
    directions *= np.sign(np.take_along_axis(directions, largest[:, None], axis=1))
    _, kind = unique_rows(np.round(directions, 4).astype(np.float32))
    _, first = np.unique(kind, return_index=True)
    order = np.argsort(-np.bincount(kind, weights=lengths), kind="stable")
    most: Array = directions[first[order[:_MOST_DIRECTIONS]]]
    return most


def _volumes(points: Array, boxes: Array) -> Array:
    """Return volumes of boxes along the columns of rotations, (k, 3, 3); flat ones by area."""
    along = points @ boxes
    extents = along.max(axis=1) - along.min(axis=1)
    volumes: Array = np.prod(extents + 1e-6 * extents.max(axis=1, keepdims=True), axis=1)
    return volumes


def _shrunk(points: Array, R: Array, volume: float) -> tuple[float, Array]:
    """Turn a box about its axes by ever smaller angles as long as it shrinks."""
    for turns in _TURNS:
        while True:
            trials = R @ turns
            volumes = _volumes(points, trials)
            best = int(np.argmin(volumes))
            if volumes[best] * _SAME >= volume:
                break
            volume, R = float(volumes[best]), trials[best]
    return volume, R


def _turns(angle: float) -> Array:
    """Return rotations by an angle about each axis, both ways, shape (6, 3, 3)."""
    ways = (angle, -angle)
    return np.stack([axis_angle_matrix(axis, way) for axis in IDENTITY_3 for way in ways])


_TURNS = [_turns(pi / 12.0 / 2**i) for i in range(12)]
