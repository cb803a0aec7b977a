"""Which meshes are convex, and which of these are primitives, up to stated tolerances."""

from __future__ import annotations

from collections.abc import Iterator
from math import pi
from typing import TypeAlias

import numpy as np

from ..geometry import Box, Capsule, Cylinder, Geometry, Mesh, Sphere
from ..rigid import Array, Pose
from ..shapes.measure import signed_volume, used_vertices
from .hull import convex_hull, is_flat, principal

Primitive: TypeAlias = Box | Sphere | Cylinder | Capsule

__all__ = ["MAX_DISTANCE", "MAX_VOLUME_SHARE", "convex_equivalent"]

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
