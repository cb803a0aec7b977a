"""Shapes to triangles: primitives, affine placement, normals of corners."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from math import cos, hypot, pi

import numpy as np

from .geometry import (
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
)
from .normals import corner_normals, unit
from .rigid import Array

__all__ = ["DIVISIONS", "corner_normals", "mesh_of", "shape_mesh", "solid_mesh", "transformed"]

DIVISIONS = 20

# Corner 4x + 2y + z of a box, where x, y, z are 0 at the lower and 1 at the upper end.
_BOX_QUADS = np.array(
    [[4, 6, 7, 5], [0, 1, 3, 2], [2, 3, 7, 6], [0, 4, 5, 1], [1, 5, 7, 3], [0, 2, 6, 4]]
)
_BOX_NORMALS = np.array(
    [[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]], dtype=np.float64
)


def mesh_of(geometry: Geometry, divisions: int = DIVISIONS) -> Mesh:
    """Return a geometry as triangles, in its own frame; a mesh is returned as it is.

    Faces that the model leaves out are left out. Primitives carry normals, so that
    their curved sides look smooth and their rims sharp; a point of a ring lies at
    (r cos t, y, r sin t) with t = 2 pi i / divisions.

    Args:
        geometry: A primitive or a mesh.
        divisions: Corners of a circle, at least 3.
    """
    if divisions < 3:
        raise ValueError(f"a circle needs at least 3 divisions, not {divisions}")
    if isinstance(geometry, Mesh):
        return geometry
    if isinstance(geometry, Box):
        return _box(geometry.size)
    return _lathe(_profile(geometry, divisions), divisions)


def solid_mesh(geometry: Geometry, divisions: int = DIVISIONS) -> Mesh:
    """Return a geometry as triangles, with every face: what touches, not what is drawn."""
    if isinstance(geometry, Cylinder):
        geometry = replace(geometry, top=True, bottom=True, side=True)
    elif isinstance(geometry, Cone):
        geometry = replace(geometry, bottom=True, side=True)
    return mesh_of(geometry, divisions)


def shape_mesh(shape: Shape, divisions: int = DIVISIONS, *, solid: bool = False) -> Mesh:
    """Return a shape as triangles in the frame F that it is placed in.

    Args:
        shape: Mirroring maps turn the triangles over, so that they still face outward.
        divisions: Corners of a circle.
        solid: Whether to include faces that are left out of the drawing.
    """
    mesh = (solid_mesh if solid else mesh_of)(shape.geometry, divisions)
    return transformed(mesh, shape.T_FG)


def transformed(mesh: Mesh, T_FG: Array) -> Mesh:
    """Return a mesh under an affine map of shape (4, 4)."""
    A = T_FG[:3, :3]
    with np.errstate(invalid="ignore", over="ignore"):  # validation reports non-finite numbers
        vertices = mesh.vertices @ A.T + T_FG[:3, 3]
        mirrored = bool(np.linalg.det(A) < 0.0)
    moved = replace(mesh, vertices=vertices)
    if mesh.normals is not None:
        values = unit(mesh.normals.values @ _normal_map(A).T)
        moved = replace(moved, normals=Attribute(values, mesh.normals.indices))
    return _turned_over(moved) if mirrored else moved


def _normal_map(A: Array) -> Array:
    """Return a positive multiple of the inverse transpose of A; a flat A has one too."""
    cofactors = np.array(
        [np.cross(A[1], A[2]), np.cross(A[2], A[0]), np.cross(A[0], A[1])], dtype=np.float64
    )
    return -cofactors if np.linalg.det(A) < 0.0 else cofactors


def _turned_over(mesh: Mesh) -> Mesh:
    def turned(attribute: Attribute | None) -> Attribute | None:
        return attribute and Attribute(attribute.values, attribute.indices[:, ::-1])

    return replace(
        mesh,
        triangles=mesh.triangles[:, ::-1],
        normals=turned(mesh.normals),
        colors=turned(mesh.colors),
        tex_coords=turned(mesh.tex_coords),
    )


def _box(size: Array) -> Mesh:
    signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    triangles = _BOX_QUADS[:, [0, 1, 2, 0, 2, 3]].reshape(-1, 3)
    faces = np.repeat(np.arange(6, dtype=np.int32), 2)
    indices = np.repeat(faces[:, None], 3, axis=1)
    return Mesh(signs * size / 2.0, triangles, Attribute(_BOX_NORMALS, indices))


@dataclass(frozen=True, slots=True)
class _Strip:
    """Faces between two circles about Y; going from start to end, outside is on the right.

    Each end is (radius, y) with the y axis upwards, each normal is (radial part, y part).
    """

    start: tuple[float, float]
    end: tuple[float, float]
    start_normal: tuple[float, float]
    end_normal: tuple[float, float]


def _profile(geometry: Sphere | Cylinder | Capsule | Cone, divisions: int) -> list[_Strip]:
    """Return the strips of a body of revolution, from its bottom to its top."""
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
    """Return a sphere's strips, cut at the equator by a cylinder of the given height."""
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


def _lathe(strips: list[_Strip], divisions: int) -> Mesh:
    """Turn strips about the Y axis; ends that meet share their vertices."""
    angles = 2.0 * pi * np.arange(divisions) / divisions
    vertices: list[Array] = []
    rows: dict[tuple[float, float], IntArray] = {}
    count = 0
    for point in dict.fromkeys(p for strip in strips for p in (strip.start, strip.end)):
        ring = _circle(point, angles if point[0] != 0.0 else angles[:1])
        rows[point] = np.resize(np.arange(count, count + len(ring), dtype=np.int32), divisions)
        vertices.append(ring)
        count += len(ring)
    triangles: list[IntArray] = []
    normals: list[Array] = []
    for strip in strips:
        faces, values = _strip_faces(strip, rows[strip.start], rows[strip.end], angles)
        triangles.append(faces)
        normals.append(values)
    values = np.concatenate([np.empty((0, 3)), *(n.reshape(-1, 3) for n in normals)])
    indices = np.arange(len(values), dtype=np.int32).reshape(-1, 3)
    return Mesh(
        np.concatenate([np.empty((0, 3)), *vertices]),
        np.concatenate([np.empty((0, 3), np.int32), *triangles]),
        Attribute(values, indices),
    )


def _strip_faces(
    strip: _Strip, start: IntArray, end: IntArray, angles: Array
) -> tuple[IntArray, Array]:
    """Return triangles (k, 3) and normals (k, 3, 3) of one strip.

    At a pole there is one triangle per division, with the normal of its middle.
    """
    step = angles[1]
    next_start, next_end = np.roll(start, -1), np.roll(end, -1)
    at, after, middle = angles, angles + step, angles + step / 2.0
    triangles, normals = [], []
    if strip.end[0] != 0.0:
        triangles.append(np.stack([start, end, next_end], axis=1))
        first = middle if strip.start[0] == 0.0 else at
        turns = ((strip.start_normal, first), (strip.end_normal, at), (strip.end_normal, after))
        normals.append(np.stack([_circle(n, t) for n, t in turns], axis=1))
    if strip.start[0] != 0.0:
        triangles.append(np.stack([start, next_end, next_start], axis=1))
        second = middle if strip.end[0] == 0.0 else after
        turns = (
            (strip.start_normal, at),
            (strip.end_normal, second),
            (strip.start_normal, after),
        )
        normals.append(np.stack([_circle(n, t) for n, t in turns], axis=1))
    if not triangles:
        return np.empty((0, 3), np.int32), np.empty((0, 3, 3))
    return np.concatenate(triangles), np.concatenate(normals)


def _circle(point: tuple[float, float], angles: Array) -> Array:
    """Return (r cos t, y, r sin t) at each angle, shape (n, 3)."""
    r, y = point
    return np.stack([r * np.cos(angles), np.full(len(angles), y), r * np.sin(angles)], axis=1)
