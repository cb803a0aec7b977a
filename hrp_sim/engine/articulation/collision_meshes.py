"""Collision shapes as triangle meshes, and as the convex shapes that replace them."""

from __future__ import annotations

from collections.abc import Mapping
from weakref import WeakKeyDictionary

import numpy as np

from hrp_model import Link
from hrp_model.collision.decompose import Decomposer
from hrp_model.collision.hull import convex_equivalent, convex_hull, is_flat
from hrp_model.diagnostics import MissingLibraryError
from hrp_model.files.writer import cache_folder
from hrp_model.geometry import Mesh, Shape
from hrp_model.shapes.measure import used_vertices
from hrp_model.shapes.tessellate import shape_mesh

from ..engine import ConvexMeshes, Placement
from .articulation import Geom, GeomKind, link_error

MAX_SIZE = 1e6  # [m]
_TIME_LIMIT = 30.0  # for the decomposition of one mesh, in [s]
# Replacements of shapes, kept because a body may be spawned many times: a convex shape or None,
# and convex parts.
_equivalents: WeakKeyDictionary[Shape, Shape | None] = WeakKeyDictionary()
_parts: WeakKeyDictionary[Shape, tuple[Shape, ...]] = WeakKeyDictionary()


def triangle_geom(placement: Placement, link: Link, shape: Shape) -> Geom:
    """Return a shape as triangles in L, without degenerate ones.

    Raises:
        PhysicsError: A vertex is not finite, too far away, or does not exist.
    """
    mesh = shape_mesh(shape, solid=True)
    vertices, triangles = mesh.vertices, mesh.triangles
    if len(triangles) and not 0 <= triangles.min() <= triangles.max() < len(vertices):
        raise link_error(placement, link, "a collision mesh refers to vertices that do not exist")
    used = used_vertices(mesh)
    if not np.all(np.abs(used) < MAX_SIZE):
        problem = f"the vertices of a collision mesh must be within {MAX_SIZE:g} m"
        raise link_error(placement, link, problem)
    if not np.all(np.isfinite(vertices)):
        vertices = np.nan_to_num(vertices)  # these are in no triangle
    a, b, c = (vertices[triangles[:, k]] for k in range(3))
    twice_area = np.linalg.norm(np.cross(b - a, c - a), axis=1)
    edge = np.maximum(np.abs(b - a).max(axis=1), np.abs(c - a).max(axis=1))
    whole = twice_area > 1e-12 * np.square(edge)
    return Geom(GeomKind.MESH, vertices=vertices, triangles=triangles[whole])


def merge_meshes(meshes: list[Geom]) -> list[Geom]:
    """Return several meshes as one, or none if there are no triangles."""
    meshes = [m for m in meshes if len(m.triangles)]
    if not meshes:
        return []
    starts = np.cumsum([0, *(len(m.vertices) for m in meshes)])
    triangles = [m.triangles + int(start) for m, start in zip(meshes, starts, strict=False)]
    return [
        Geom(
            GeomKind.MESH,
            vertices=np.concatenate([m.vertices for m in meshes]),
            triangles=np.concatenate(triangles).astype(np.int32),
        )
    ]


def convex_replacements(
    placement: Placement, meshes: Mapping[Shape, Link], convex: ConvexMeshes
) -> dict[Shape, tuple[Shape, ...]]:
    """Return the convex shapes that replace collision meshes.

    Args:
        placement: The body.
        meshes: Shapes that collide as triangles, and their links.
        convex: ``True`` replaces each mesh by its hull; ``"auto"`` a convex one by the primitive
            or hull that it is; ``"parts"`` also a concave one by convex parts.

    Returns:
        Only what is replaced: flat meshes never are.

    Raises:
        PhysicsError: A mesh is invalid, or a library that the setting needs is not installed.
    """
    if convex is False:
        return {}
    if convex is True:
        return {
            shape: (hull,)
            for shape, link in meshes.items()
            if (hull := _hull(_mesh(placement, link, shape)))
        }
    found: dict[Shape, tuple[Shape, ...]] = {
        shape: (convex_shape,)
        for shape, link in meshes.items()
        if (convex_shape := _equivalent(placement, link, shape))
    }
    if convex == "parts":
        concave = {shape: link for shape, link in meshes.items() if shape not in found}
        try:
            _decompose(placement, concave)
        except MissingLibraryError as error:
            problem = f"the setting convex_meshes cannot be used: {error}"
            raise link_error(placement, next(iter(concave.values())), problem) from None
        found |= {shape: _parts[shape] for shape in concave if _parts[shape]}
    return found


def _mesh(placement: Placement, link: Link, shape: Shape) -> Mesh:
    geom = triangle_geom(placement, link, shape)
    return Mesh(geom.vertices, geom.triangles)


def _hull(mesh: Mesh) -> Shape | None:
    """Return the convex hull of a mesh, or None for a flat one."""
    points = used_vertices(mesh)
    return None if len(points) < 4 or is_flat(points) else Shape(convex_hull(points))


def _equivalent(placement: Placement, link: Link, shape: Shape) -> Shape | None:
    """Return the convex shape that a mesh is, or None."""
    if shape not in _equivalents:
        found = convex_equivalent(_mesh(placement, link, shape))
        _equivalents[shape] = found and Shape(found[0], found[1].matrix())
    return _equivalents[shape]


def _decompose(placement: Placement, meshes: Mapping[Shape, Link]) -> None:
    """Store the convex parts of concave meshes; none for flat ones and those that fail."""
    missing = {x: _mesh(placement, link, x) for x, link in meshes.items() if x not in _parts}
    solid = {shape: mesh for shape, mesh in missing.items() if _hull(mesh)}
    if solid:
        with Decomposer(_TIME_LIMIT, cache_folder("convex_parts")) as decomposer:
            found = decomposer.decomposed(list(solid.values()))
        for shape, parts in zip(solid, found, strict=True):
            _parts[shape] = tuple(filter(None, map(_hull, parts or ())))
    for shape in missing:
        _parts.setdefault(shape, ())
