"""Extents of shapes in their links, of the Body and as libraries read them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..geometry import Box, Cylinder, Geometry, Mesh, Shape, Sphere
from ..rigid import Array
from ..shapes.measure import area, bounding_box, signed_volume
from ..shapes.tessellate import shape_mesh
from .library import LibraryShape

# A cylinder lies along Z in URDF and along Y in a Body: -90 degrees about X.
_Z_TO_Y = np.eye(4)
_Z_TO_Y[:3, :3] = [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]]
_FLAT = 1e-4
_KINDS = {Box: "box", Sphere: "sphere", Cylinder: "cylinder"}


@dataclass(frozen=True, eq=False)
class Extent:
    """Properties of a shape that do not depend on the order of its triangles.

    Attributes:
        lower, upper: Corners of its bounding box in the link, in [m], each of shape (3,).
        volume: Enclosed volume, in [m^3]; of an open mesh only for comparison.
        area: Area of the triangles, in [m^2]; 0 for a primitive.
        largest_term: Largest number that a coordinate is a sum of, in [m]; 0 if not larger than
            the coordinates. It is larger if a translation moves vertices back that are far from
            their own origin: a mesh file in single precision rounds them before that.
    """

    lower: Array
    upper: Array
    volume: float
    area: float = 0.0
    largest_term: float = 0.0

    @property
    def size(self) -> float:
        """The largest coordinate or edge, in [m]."""
        return float(max(abs(self.lower).max(), abs(self.upper).max(), 1e-300))

    def difference(self, other: Extent) -> float:
        """Return the largest difference, relative to the numbers that rounding errors scale with.

        An error d of all coordinates moves corners by d, and changes volumes by at most about
        d times the square of the size, and areas by d times the size.
        """
        size = self.size
        scale = max(size, self.largest_term)
        corners = np.concatenate([self.lower - other.lower, self.upper - other.upper])
        differences = [
            float(abs(corners).max()) / scale,
            # Thin and flat shapes have small values with the same rounding errors.
            (self.volume - other.volume) / max(abs(self.volume), size**2 * scale),
            (self.area - other.area) / max(self.area, size * scale),
        ]
        return float(np.abs(differences).max())


def extent_of(shape: LibraryShape) -> Extent:
    """Return the extent of a shape as a library reads it."""
    if shape.vertices is not None and shape.triangles is not None:
        vertices = shape.vertices @ shape.X_LS[:3, :3].T + shape.X_LS[:3, 3]
        return _mesh(Mesh(vertices, shape.triangles))
    if shape.kind == "box":
        return _box(np.array(shape.size), shape.X_LS)
    if shape.kind == "sphere":
        return _sphere(shape.size[0], shape.X_LS)
    radius, length = shape.size
    return _cylinder(radius, length, shape.X_LS @ _Z_TO_Y)


def expected_extent(shape: Shape, kind: str, *, solid: bool) -> Extent | None:
    """Return the extent of a shape of the model, or None if it cannot be of this kind.

    Args:
        shape: The shape in its link.
        kind: Its kind in the URDF: "mesh", or a primitive.
        solid: Whether it is a collision shape, which has all its faces.
    """
    geometry, T = shape.geometry, shape.T_FG
    if kind == "mesh":
        extent = _mesh(shape_mesh(shape, solid=solid))
        return replace(extent, largest_term=_largest_term(geometry, T))
    if _KINDS.get(type(geometry)) != kind:
        return None
    if isinstance(geometry, Box):
        return _box(geometry.size, T)
    if isinstance(geometry, Sphere):
        return _sphere(geometry.radius, T)
    assert isinstance(geometry, Cylinder)
    return _cylinder(geometry.radius, geometry.height, T)


def _largest_term(geometry: Geometry, T: Array) -> float:
    """Return the largest number that is rounded before a geometry is placed, in [m]."""
    if not isinstance(geometry, Mesh) or not len(geometry.vertices):
        return 0.0  # primitives are centred at their own origin, so nothing cancels
    vertices = abs(geometry.vertices).max(axis=0)
    return float((abs(T[:3, :3]) @ vertices + abs(T[:3, 3])).max())


def is_flat(shape: Shape) -> bool:
    """Return whether a shape is practically two-dimensional."""
    mesh = shape_mesh(shape, solid=True)
    corners = mesh.vertices[mesh.triangles].reshape(-1, 3)
    spread = np.linalg.svd(corners - corners.mean(axis=0), compute_uv=False)
    return bool(spread[2] <= _FLAT * spread[0])


def skewness(T: Array) -> float:
    """Return twice the largest cosine between columns of an affine map: 0 without shear."""
    columns = T[:3, :3]
    R = columns / np.maximum(np.linalg.norm(columns, axis=0), 1e-300)
    excess = float(abs(R.T @ R - np.eye(3)).max())
    return 2.0 * excess if excess > 1e-12 else 0.0


def _box(size: Array, T: Array) -> Extent:
    half = abs(T[:3, :3]) @ size / 2.0
    return _centered(half, float(np.prod(size)), T)


def _sphere(radius: float, T: Array) -> Extent:
    half = radius * np.linalg.norm(T[:3, :3], axis=1)
    return _centered(half, 4.0 / 3.0 * np.pi * radius**3, T)


def _cylinder(radius: float, height: float, T: Array) -> Extent:
    """Return the extent of a cylinder along Y."""
    x, y, z = T[:3, :3].T
    half = radius * np.hypot(x, z) + abs(y) * height / 2.0
    return _centered(half, np.pi * radius**2 * height, T)


def _centered(half: Array, volume: float, T: Array) -> Extent:
    """Return the extent of a primitive centred at the origin of a map."""
    p = T[:3, 3]
    return Extent(p - half, p + half, volume * abs(float(np.linalg.det(T[:3, :3]))))


def _mesh(mesh: Mesh) -> Extent:
    """Return the extent of a mesh in its link.

    The volume of an open mesh depends on the origin; that of the bounding box is used.
    """
    corners = bounding_box(mesh)
    if corners is None:
        undefined = np.full(3, np.nan)
        return Extent(undefined, undefined, 0.0)
    center = (corners[0] + corners[1]) / 2.0
    volume = signed_volume(Mesh(mesh.vertices - center, mesh.triangles))
    return Extent(*corners, volume, area(mesh))
