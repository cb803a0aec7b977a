"""Collision shapes as triangle meshes and convex hulls."""

from __future__ import annotations

import numpy as np

from hrp_model import Link
from hrp_model.collision.hull import convex_hull, is_flat
from hrp_model.diagnostics import MissingLibraryError
from hrp_model.geometry import Shape
from hrp_model.shapes.tessellate import shape_mesh

from ..physics.engine import Placement
from .articulation import Geom, GeomKind, link_error

MAX_SIZE = 1e6  # [m]


def triangle_geom(placement: Placement, link: Link, shape: Shape) -> Geom:
    """Return a shape as triangles in L, without degenerate ones.

    Raises:
        PhysicsError: A vertex is not finite, too far away, or does not exist.
    """
    mesh = shape_mesh(shape, solid=True)
    vertices, triangles = mesh.vertices, mesh.triangles
    if len(triangles) and not 0 <= triangles.min() <= triangles.max() < len(vertices):
        raise link_error(placement, link, "a collision mesh refers to vertices that do not exist")
    used = vertices[np.unique(triangles)]
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


def convex_geom(placement: Placement, link: Link, triangles: Geom) -> Geom:
    """Return the convex hull of triangles, as triangles; flat meshes are returned unchanged.

    Raises:
        PhysicsError: scipy, which computes hulls, is not installed.
    """
    points = triangles.vertices[np.unique(triangles.triangles)]
    if len(points) < 4 or is_flat(points):
        return triangles
    try:
        hull = convex_hull(points)
    except MissingLibraryError as error:
        problem = f"the setting convex_meshes cannot be used: {error}"
        raise link_error(placement, link, problem) from None
    return Geom(GeomKind.MESH, vertices=hull.vertices, triangles=hull.triangles)
