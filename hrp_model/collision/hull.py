"""Convex hulls and tight oriented boxes of points; which meshes are convex.

Which of the convex ones are primitives, too, up to stated tolerances.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import pi, sqrt
from typing import TypeAlias

import numpy as np

from ..geometry import Box, Capsule, Cylinder, Geometry, Mesh, Sphere
from ..rigid import IDENTITY_3, Array, Pose, axis_angle_matrix
from ..shapes.measure import signed_volume, unique_rows, used_vertices
from ._hull import facets

# Thickness given to flat shapes, in [m], and its maximum as a share of their size: bodies without
# volume cannot be simulated.
_THICKNESS, _MAX_THICKNESS_SHARE = 1e-3, 1e-2
# Shapes thinner than this share of their size are flat: hulls and inertias would lose all digits.
_FLAT = 1e-5
_SAMPLED_DIRECTIONS = 256
_STARTS = 4  # boxes from which the search starts
_SAME = 1.0 + 1e-6  # volumes within this factor are equal
_MAX_DIRECTIONS = 8  # of face normals and of edges
Primitive: TypeAlias = Box | Sphere | Cylinder | Capsule
# Tolerances: distance of the surfaces as a share of the diagonal of the mesh's bounding box, and
# difference of the volumes as a share of that of the hull. Of 368 solid collision meshes of
# published models 109 are convex to 1e-4 and 0.1 %, 111 to these tolerances, 115 to 1e-2 and 5 %. A
# cylinder as high as wide differs from its mesh of 40 sides by 0.0009 and 0.4 %.
MAX_DISTANCE = 0.001
MAX_VOLUME_SHARE = 0.005
_MAX_DISTANCES = 1_000_000  # of triangles to planes, computed at once
_MAX_WORK = 1_000_000_000  # triangles times planes, beyond which a mesh counts as concave
_SAME_PLANE = 6  # decimals of unit normals and of relative distances
_MAX_FACES = 3  # faces whose normals may be the axis of a primitive
_ACROSS = 0.999  # sine of the angle from which directions count as perpendicular


def convex_hull(points: Array) -> Mesh:
    """Return the convex hull of points, shape (n, 3), as triangles that face outward.

    Points in a plane or on a line are given a thickness of 1 mm, or of a hundredth of their
    size if that is less.
    """
    points = thickened(points)
    triangles = np.frombuffer(facets(points - points.mean(axis=0)), np.int32).reshape(-1, 3)
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


def convex_equivalent(mesh: Mesh) -> tuple[Geometry, Pose] | None:
    """Return the primitive or the convex hull that a mesh is up to the tolerances, and its pose.

    No point of the mesh's surface may be deeper below that of the hull than ``MAX_DISTANCE``, and
    the volumes may differ by at most ``MAX_VOLUME_SHARE``: then the surfaces follow each other
    everywhere. A hole in the mesh counts as closed by a cone to the centre. A hull that is a box,
    sphere, cylinder or capsule by the same tolerances becomes that primitive.

    Returns:
        None for a mesh that is concave, flat, empty or open.
    """
    points = used_vertices(mesh)
    if len(points) < 4 or is_flat(points):
        return None
    hull = _Hull(convex_hull(points))
    if not hull.follows(mesh):
        return None
    candidates = (found for found in hull.primitives() if hull.fills(*found))
    return next(candidates, (hull.mesh, Pose()))


class _Hull:
    """A convex hull, as a mesh and as planes with unit normals n: n . x <= offset."""

    def __init__(self, mesh: Mesh) -> None:
        self.mesh = mesh
        self.size = float(np.linalg.norm(np.ptp(mesh.vertices, axis=0)))
        corners = mesh.vertices[mesh.triangles]
        normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        lengths = np.linalg.norm(normals, axis=1)
        normals = normals[lengths > 0.0] / lengths[lengths > 0.0, None]
        offsets = np.einsum("ij,ij->i", normals, corners[lengths > 0.0, 0])
        rounded = np.round(np.column_stack([normals, offsets / self.size]), _SAME_PLANE)
        _, first, count = np.unique(rounded, axis=0, return_index=True, return_counts=True)
        order = np.argsort(-count, kind="stable")  # faces with many corners first
        self.normals, self.offsets = normals[first[order]], offsets[first[order]]
        self.center: Array = mesh.vertices.mean(axis=0)
        self.volume = _volume(mesh, self.center)

    def follows(self, mesh: Mesh) -> bool:
        """Return whether a mesh, whose hull this is, has the same surface."""
        if abs(_volume(mesh, self.center) - self.volume) > MAX_VOLUME_SHARE * self.volume:
            return False
        count = len(mesh.triangles)
        if count * len(self.offsets) > _MAX_WORK:
            return False
        at_once = max(1, _MAX_DISTANCES // len(self.offsets))
        for start in range(0, count, at_once):
            corners = mesh.vertices[mesh.triangles[start : start + at_once]]
            nearest = np.argmin(self.offsets - corners.mean(axis=1) @ self.normals.T, axis=1)
            # The depth below a plane is linear, so that no point is deeper than the corners.
            heights = np.einsum("tci,ti->tc", corners, self.normals[nearest])
            depths = self.offsets[nearest] - heights.min(axis=1)
            if depths.max() > MAX_DISTANCE * self.size:
                return False
        return True

    def fills(self, geometry: Primitive, X: Pose) -> bool:
        """Return whether a convex geometry around the hull has the same surface."""
        overhang = _support(geometry, self.normals @ X.R) + self.normals @ X.p - self.offsets
        if overhang.max() > MAX_DISTANCE * self.size:
            return False
        return abs(_primitive_volume(geometry) - self.volume) <= MAX_VOLUME_SHARE * self.volume

    def primitives(self) -> Iterator[tuple[Primitive, Pose]]:
        """Yield primitives that contain the hull's corners, the simplest first."""
        points = self.mesh.vertices
        yield self._sphere()
        for axis in (*self.normals[:_MAX_FACES], *principal(points)[0].T):
            R = _axes_along(axis, self.normals)
            along = (points - self.center) @ R
            low, high = along.min(axis=0), along.max(axis=0)
            X = Pose(R, R @ ((low + high) / 2.0) + self.center)
            size = high - low
            yield Box(size), X
            x, y, z = ((points - X.p) @ R).T
            across = np.hypot(x, z)
            radius, height = float(across.max()), float(size[1])
            yield Cylinder(radius, height), X
            between = max(height - 2.0 * radius, 0.0)  # the centres of a capsule's half spheres
            reach = np.hypot(across, np.maximum(np.abs(y) - between / 2.0, 0.0))
            yield Capsule(float(reach.max()), between), X

    def _sphere(self) -> tuple[Primitive, Pose]:
        """Return the sphere that fits the corners best: |x|^2 = 2 x . c + r^2 - c^2."""
        points = self.mesh.vertices - self.center
        A = np.column_stack([2.0 * points, np.ones(len(points))])
        center = np.linalg.lstsq(A, np.einsum("ij,ij->i", points, points), rcond=None)[0][:3]
        radius = float(np.linalg.norm(points - center, axis=1).max())
        return Sphere(radius), Pose(p=self.center + center)


def _axes_along(axis: Array, normals: Array) -> Array:
    """Return a rotation with this axis as Y, and as X the first of the normals across it."""
    across = normals - np.outer(normals @ axis, axis)
    lengths = np.linalg.norm(across, axis=1)
    first = int(np.argmax(lengths >= min(_ACROSS, lengths.max())))
    x = across[first] / lengths[first]
    return np.column_stack([x, axis, np.cross(x, axis)])


def _volume(mesh: Mesh, center: Array) -> float:
    """Return the volume of a mesh whose triangles face all outward or all inward."""
    return abs(signed_volume(Mesh(mesh.vertices - center, mesh.triangles)))


def _primitive_volume(geometry: Primitive) -> float:
    if isinstance(geometry, Box):
        return float(np.prod(geometry.size))
    ball = 0.0 if isinstance(geometry, Cylinder) else 4.0 / 3.0 * pi * geometry.radius**3
    height = 0.0 if isinstance(geometry, Sphere) else geometry.height
    return ball + pi * geometry.radius**2 * height


def _support(geometry: Primitive, directions: Array) -> Array:
    """Return how far a primitive reaches from its origin along unit vectors, shape (n, 3)."""
    if isinstance(geometry, Box):
        return np.asarray(np.abs(directions) @ geometry.size / 2.0)
    if isinstance(geometry, Sphere):
        return np.full(len(directions), geometry.radius)
    along = np.abs(directions[:, 1])
    across = 1.0 if isinstance(geometry, Capsule) else np.sqrt(np.maximum(1.0 - along**2, 0.0))
    return np.asarray(along * geometry.height / 2.0 + across * geometry.radius)
