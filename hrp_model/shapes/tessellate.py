"""Convert shapes to triangle meshes, and place meshes by affine maps.

Surfaces of revolution and texture coordinates are made here too.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import replace
from itertools import pairwise
from math import cos, hypot, pi, sin

import numpy as np

from ..geometry import (
    Attribute,
    Box,
    Capsule,
    Cone,
    Cylinder,
    Geometry,
    IntArray,
    Mesh,
    Shape,
    Sphere,
    Texture,
)
from ..late_dataclass import dataclass
from ..rigid import Array, Pose
from .meshing import planar_tex_coords, unit

_Point = tuple[float, float]
DIVISIONS = 20  # default number of segments of a circle
_ROTATION_TOLERANCE = 1e-9
# Corner 4x + 2y + z of a box, where x, y, z are 0 at the lower and 1 at the upper end.
_BOX_QUADS = np.array(
    [[4, 6, 7, 5], [0, 1, 3, 2], [2, 3, 7, 6], [0, 4, 5, 1], [1, 5, 7, 3], [0, 2, 6, 4]]
)
_BOX_NORMALS = np.array(
    [[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]], dtype=np.float64
)
# Directions of an image's right and up on each face, seen from outside (ISO/IEC 14772-1, 6.6).
_BOX_RIGHT = np.array([[0, 0, -1], [0, 0, 1], [1, 0, 0], [1, 0, 0], [1, 0, 0], [-1, 0, 0]])
_BOX_UP = np.array([[0, 1, 0], [0, 1, 0], [0, 0, -1], [0, 0, 1], [0, 1, 0], [0, 1, 0]])


def transformed_coords(texture: Texture, st: Array) -> Array:
    """Apply VRML97's texture transform to texture coordinates, shapes (..., 2).

    ISO/IEC 14772-1, 6.49: Tc' = -C x S x R x C x T x Tc; the translation is applied first.
    """
    center = np.asarray(texture.center)
    c, s = cos(texture.rotation), sin(texture.rotation)
    rotated: Array = (st + texture.translation + center) @ np.array([[c, s], [-s, c]])
    coords: Array = rotated * np.asarray(texture.scale) - center
    return coords


def with_tex_coords(mesh: Mesh) -> Mesh:
    """Return a mesh with texture coordinates: its own, else those of its default mapping."""
    if mesh.tex_coords is not None or not len(mesh.triangles):
        return mesh
    return replace(mesh, tex_coords=(mesh.tex_mapping or planar_tex_coords)(mesh))


def revolved(
    geometry: Sphere | Cylinder | Capsule | Cone, divisions: int, *, textured: bool = False
) -> Mesh:
    """Return a solid of revolution about Y as triangles with normals, smooth around the axis.

    Texture coordinates follow ISO/IEC 14772-1, 6.11, 6.14 and 6.48: s runs around the axis,
    counter-clockwise seen from above, from -Z over -X; t runs from bottom to top by arc length.
    A cap shows a circular section of the image. A capsule is textured like a sphere.

    Args:
        geometry: A primitive; faces that it omits are omitted.
        divisions: Segments of a circle, at least 3.
        textured: Whether to make texture coordinates.
    """
    strips = _profile(geometry, divisions)
    mesh = _StripMesh(strips, divisions)
    triangles = [mesh.triangles(strip, face) for strip in strips for face in _faces(strip)]
    normals = [mesh.normals(strip, face) for strip in strips for face in _faces(strip)]
    coords = None
    if textured:
        heights = zip(strips, _heights(strips), strict=True)
        st = [mesh.tex_coords(strip, face, h) for strip, h in heights for face in _faces(strip)]
        coords = per_corner_attribute(np.concatenate([np.empty((0, 3, 2)), *st]))
    return Mesh(
        mesh.vertices,
        np.concatenate([np.empty((0, 3), np.int32), *triangles]),
        per_corner_attribute(np.concatenate([np.empty((0, 3, 3)), *normals])),
        tex_coords=coords,
    )


def per_corner_attribute(values: Array) -> Attribute:
    """Return an attribute from values per corner, shape (m, 3, k)."""
    rows = values.reshape(-1, values.shape[-1])
    return Attribute(rows, np.arange(len(rows), dtype=np.int32).reshape(-1, 3))


@dataclass(frozen=True, slots=True)
class _Strip:
    """Faces between two circles about Y; seen along start to end, outside is on the right.

    Each end is (radius, y) with the y axis upwards, each normal (radial component, y component).
    """

    start: _Point
    end: _Point
    start_normal: _Point
    end_normal: _Point

    @property
    def is_cap(self) -> bool:
        return self.start_normal == self.end_normal and self.start_normal[0] == 0.0


@dataclass(frozen=True, slots=True)
class _Corner:
    """A corner of the triangle that a strip has in each division.

    Attributes:
        at_end: Whether it lies on the end of the strip instead of its start.
        shift: Offset in divisions; one half at a pole, whose normal is that of the triangle's
            middle.
    """

    at_end: bool
    shift: float


_Face = tuple[_Corner, _Corner, _Corner]


def _faces(strip: _Strip) -> Iterator[_Face]:
    """Yield the one or two triangles that a strip has in each division."""
    if strip.end[0] != 0.0:
        first = _Corner(False, 0.5 if strip.start[0] == 0.0 else 0.0)
        yield first, _Corner(True, 0.0), _Corner(True, 1.0)
    if strip.start[0] != 0.0:
        second = _Corner(True, 0.5 if strip.end[0] == 0.0 else 1.0)
        yield _Corner(False, 0.0), second, _Corner(False, 1.0)


class _StripMesh:
    """Vertices and triangles of strips; strips that meet share the vertices of that circle."""

    def __init__(self, strips: list[_Strip], divisions: int) -> None:
        self._divisions = divisions
        self._number = np.arange(divisions)
        self._rows: dict[_Point, IntArray] = {}
        rings: list[Array] = []
        count = 0
        for point in dict.fromkeys(p for strip in strips for p in (strip.start, strip.end)):
            ring = _circle(point, self._angles(0.0)[: None if point[0] != 0.0 else 1])
            numbers = np.arange(count, count + len(ring), dtype=np.int32)
            self._rows[point] = np.resize(numbers, divisions)
            rings.append(ring)
            count += len(ring)
        self.vertices: Array = np.concatenate([np.empty((0, 3)), *rings])

    def triangles(self, strip: _Strip, face: _Face) -> IntArray:
        """Return triangles of one face of a strip as rows of ``vertices``, shape (divisions, 3)."""
        columns = []
        for corner in face:
            rows = self._rows[strip.end if corner.at_end else strip.start]
            columns.append(np.roll(rows, -int(corner.shift)))
        return np.stack(columns, axis=1)

    def normals(self, strip: _Strip, face: _Face) -> Array:
        """Return the normals at their corners, shape (divisions, 3, 3)."""
        columns = []
        for corner in face:
            normal = strip.end_normal if corner.at_end else strip.start_normal
            columns.append(_circle(normal, self._angles(corner.shift)))
        return np.stack(columns, axis=1)

    def tex_coords(self, strip: _Strip, face: _Face, heights: _Point) -> Array:
        """Return (s, t) at their corners, shape (divisions, 3, 2).

        ``heights`` are t at start and end of a strip that is not a cap.
        """
        columns = []
        for corner in face:
            if strip.is_cap:
                columns.append(self._on_cap(strip, corner))
            else:
                s = self._around(corner.shift)
                columns.append(np.stack([s, np.full(len(s), heights[corner.at_end])], axis=1))
        return np.stack(columns, axis=1)

    def _on_cap(self, strip: _Strip, corner: _Corner) -> Array:
        radius = (strip.end if corner.at_end else strip.start)[0]
        share = radius / max(strip.start[0], strip.end[0], 1e-300)
        angles = self._angles(corner.shift)
        # The image is upright when the top is tilted towards +Z, or the bottom towards -Z.
        up = 0.5 if strip.start_normal[1] < 0.0 else -0.5
        return np.stack(
            [0.5 + 0.5 * share * np.cos(angles), 0.5 + up * share * np.sin(angles)], axis=1
        )

    def _around(self, shift: float) -> Array:
        """Return s around the axis; the seam at -Z is at three quarters of a turn."""
        s: Array = 0.75 - (self._number + shift) / self._divisions
        return s + (self._number + 0.5 > 0.75 * self._divisions)

    def _angles(self, shift: float) -> Array:
        angles: Array = 2.0 * pi * (self._number + shift) / self._divisions
        return angles


def _heights(strips: list[_Strip]) -> list[_Point]:
    """Return t at start and end of each strip: the arc length along the side, from 0 to 1."""
    lengths = [
        0.0 if s.is_cap else hypot(s.end[0] - s.start[0], s.end[1] - s.start[1]) for s in strips
    ]
    total = sum(lengths) or 1.0
    ends = np.concatenate([[0.0], np.cumsum(lengths)]) / total
    return list(pairwise(ends.tolist()))


def _profile(geometry: Sphere | Cylinder | Capsule | Cone, divisions: int) -> list[_Strip]:
    """Return the strips of a solid of revolution, from bottom to top."""
    if isinstance(geometry, Sphere):
        return _arc_strips(geometry.radius, 0.0, max(2, divisions // 2))
    if isinstance(geometry, Capsule):
        return _arc_strips(geometry.radius, geometry.height, 2 * max(1, divisions // 4))
    half = geometry.height / 2.0
    radius = geometry.radius
    strips = []
    if geometry.bottom:
        strips.append(_Strip((0.0, -half), (radius, -half), (0.0, -1.0), (0.0, -1.0)))
    if isinstance(geometry, Cone):
        if geometry.side:
            slant = hypot(radius, geometry.height) or 1.0
            normal = (geometry.height / slant, radius / slant)
            strips.append(_Strip((radius, -half), (0.0, half), normal, normal))
        return strips
    if geometry.side:
        strips.append(_Strip((radius, -half), (radius, half), (1.0, 0.0), (1.0, 0.0)))
    if geometry.top:
        strips.append(_Strip((radius, half), (0.0, half), (0.0, 1.0), (0.0, 1.0)))
    return strips


def _arc_strips(radius: float, height: float, bands: int) -> list[_Strip]:
    """Return the strips of a sphere or, with a height between its halves, of a capsule."""
    latitudes = [-pi / 2.0 + pi * i / bands for i in range(bands + 1)]
    normals = [(cos(a), cos(pi / 2.0 - a)) for a in latitudes]
    normals[0], normals[-1] = (0.0, -1.0), (0.0, 1.0)
    points = [(radius * r, radius * y) for r, y in normals]
    if height == 0.0:
        nodes = list(zip(points, normals, strict=True))
    else:
        middle = bands // 2
        lower = [((r, y - height / 2.0), n) for (r, y), n in zip(points, normals, strict=True)]
        upper = [((r, y + height / 2.0), n) for (r, y), n in zip(points, normals, strict=True)]
        nodes = lower[: middle + 1] + upper[middle:]
    return [_Strip(a, b, na, nb) for (a, na), (b, nb) in pairwise(nodes)]


def _circle(point: _Point, angles: Array) -> Array:
    """Return (r cos t, y, r sin t) at each angle, shape (n, 3)."""
    r, y = point
    return np.stack([r * np.cos(angles), np.full(len(angles), y), r * np.sin(angles)], axis=1)


def mesh_of(geometry: Geometry, divisions: int = DIVISIONS, *, textured: bool = False) -> Mesh:
    """Return a geometry as triangles, in its own frame; a mesh is returned unchanged.

    Faces that a primitive omits are omitted. Meshes of primitives have normals, so that curved
    sides look smooth and rims sharp; points of a circle are at (r cos t, y, r sin t) with
    t = 2 pi i / divisions.

    Args:
        geometry: A primitive or a mesh.
        divisions: Segments of a circle, at least 3, for geometries that do not specify them.
        textured: Whether to make texture coordinates where there are none, by VRML97's rule
            for the kind of geometry.
    """
    if divisions < 3:
        raise ValueError(f"a circle needs at least 3 divisions, not {divisions}")
    if isinstance(geometry, Mesh):
        return with_tex_coords(geometry) if textured else geometry
    if isinstance(geometry, Box):
        return _box(geometry.size, textured)
    return revolved(geometry, geometry.divisions or divisions, textured=textured)


def solid_mesh(geometry: Geometry, divisions: int = DIVISIONS) -> Mesh:
    """Return a geometry as triangles with all faces, for collision."""
    if isinstance(geometry, Cylinder):
        geometry = replace(geometry, top=True, bottom=True, side=True)
    elif isinstance(geometry, Cone):
        geometry = replace(geometry, bottom=True, side=True)
    return mesh_of(geometry, divisions)


def shape_mesh(shape: Shape, divisions: int = DIVISIONS, *, solid: bool = False) -> Mesh:
    """Return a shape as triangles in the frame F in which it is placed.

    Args:
        shape: If its map mirrors, triangles are reversed so that they still face outward.
        divisions: Segments of a circle.
        solid: Whether to include omitted faces, for collision; else the mesh of a textured shape
            has texture coordinates.
    """
    return transformed(drawn_mesh(shape, divisions, solid=solid), shape.T_FG)


def drawn_mesh(shape: Shape, divisions: int = DIVISIONS, *, solid: bool = False) -> Mesh:
    """Return a shape as triangles in its geometry's frame G; arguments as of ``shape_mesh``."""
    if solid:
        return solid_mesh(shape.geometry, divisions)
    return mesh_of(shape.geometry, divisions, textured=shape.material.texture is not None)


def placed_mesh(shape: Shape, *, solid: bool = False) -> Mesh:
    """Return a shape as triangles relative to ``mesh_origin``, with its scale applied.

    Equal parts of a robot, such as left and right wheel, thus have equal meshes.
    """
    parts = shape.rigid_parts(_ROTATION_TOLERANCE)
    if parts is None:
        return shape_mesh(shape, solid=solid)
    mesh = drawn_mesh(shape, solid=solid)
    scale = parts[1]
    return mesh if np.all(scale == 1.0) else transformed(mesh, np.diag([*scale, 1.0]))


def placed_mesh_key(shape: Shape) -> tuple[Hashable, ...]:
    """Return a key of everything that ``placed_mesh`` depends on, except a texture."""
    parts = shape.rigid_parts(_ROTATION_TOLERANCE)
    return shape.geometry, (shape.T_FG if parts is None else parts[1]).tobytes()


def mesh_origin(shape: Shape) -> Pose:
    """Return the pose in F of the mesh of ``placed_mesh``."""
    parts = shape.rigid_parts(_ROTATION_TOLERANCE)
    return Pose() if parts is None else parts[0]


def transformed(mesh: Mesh, T_FG: Array) -> Mesh:
    """Return a mesh transformed by an affine map of shape (4, 4)."""
    A = T_FG[:3, :3]
    with np.errstate(invalid="ignore", over="ignore"):  # validation reports non-finite numbers
        vertices = mesh.vertices @ A.T + T_FG[:3, 3]
        mirrored = bool(np.linalg.det(A) < 0.0)
    moved = replace(mesh, vertices=vertices)
    if mesh.normals is not None:
        values = unit(mesh.normals.values @ _normal_map(A).T)
        moved = replace(moved, normals=Attribute(values, mesh.normals.indices))
    return _reversed(moved) if mirrored else moved


def _normal_map(A: Array) -> Array:
    """Return a positive multiple of the inverse transpose of A, also for a singular A."""
    cofactors = np.array(
        [np.cross(A[1], A[2]), np.cross(A[2], A[0]), np.cross(A[0], A[1])], dtype=np.float64
    )
    return -cofactors if np.linalg.det(A) < 0.0 else cofactors


def _reversed(mesh: Mesh) -> Mesh:
    """Return a mesh with the opposite orientation of its triangles."""

    def flipped(attribute: Attribute | None) -> Attribute | None:
        return attribute and Attribute(attribute.values, attribute.indices[:, ::-1])

    return replace(
        mesh,
        triangles=mesh.triangles[:, ::-1],
        normals=flipped(mesh.normals),
        colors=flipped(mesh.colors),
        tex_coords=flipped(mesh.tex_coords),
    )


def _box(size: Array, textured: bool) -> Mesh:
    signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    triangles = _BOX_QUADS[:, [0, 1, 2, 0, 2, 3]].reshape(-1, 3)
    faces = np.repeat(np.arange(6, dtype=np.int32), 2)
    indices = np.repeat(faces[:, None], 3, axis=1)
    coords = None
    if textured:
        corners = signs[triangles]
        sides = (_BOX_RIGHT[faces], _BOX_UP[faces])
        st = np.stack([np.einsum("fci,fi->fc", corners, side) for side in sides], axis=2)
        coords = per_corner_attribute(0.5 + 0.5 * st)
    normals = Attribute(_BOX_NORMALS, indices)
    return Mesh(signs * size / 2.0, triangles, normals, tex_coords=coords)
