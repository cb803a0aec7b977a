"""Collision shapes of a Body to flat arrays: primitives where exact, triangles elsewhere."""

from __future__ import annotations

import logging
from typing import NamedTuple

import numpy as np

from hrp_model import Body, Link
from hrp_model.geometry import Box, Capsule, Cylinder, Shape, Sphere
from hrp_model.rigid import Array, Pose
from hrp_model.tessellate import shape_mesh

from .articulation import GeomKind, Geoms, IntArray, link_error
from .engine import Placement

_log = logging.getLogger("hrp_sim")

# A model's cylinders lie along Y, an engine's along Z: R_GE e_z = e_y.
_Y_TO_Z = Pose(R=np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]]))
_LARGEST = 1e6  # [m]
_NO_VERTICES = np.zeros((0, 3))
_NO_TRIANGLES = np.zeros((0, 3), dtype=np.int32)


class Geom(NamedTuple):
    """One collision shape on a link L; ``X_LE`` is the pose of the engine's shape."""

    kind: GeomKind
    size: tuple[float, float, float] = (0.0, 0.0, 0.0)
    X_LE: Pose = Pose()
    vertices: Array = _NO_VERTICES
    triangles: IntArray = _NO_TRIANGLES


def flatten_shapes(placement: Placement, R: Array, p: Array, friction: float) -> Geoms:
    """Return every collision shape of a body.

    The triangles of a link make one mesh, so that it touches another shape once.

    Args:
        placement: The body.
        R: Rotations of the links in their groups' frames, or in W, shape (n, 3, 3).
        p: Positions of the same, in [m], shape (n, 3).
        friction: Coulomb coefficient.

    Raises:
        PhysicsError: A shape is not finite, impossibly large, or its triangles name
            vertices that do not exist.
    """
    found = _of_body(placement)
    poses = [Pose(R[i], p[i]) @ geom.X_LE for i, geom in found]
    geoms = [geom for _, geom in found]
    ends_v = np.cumsum([0, *(len(g.vertices) for g in geoms)])
    ends_t = np.cumsum([0, *(len(g.triangles) for g in geoms)])
    return Geoms(
        kind=np.array([g.kind for g in geoms], dtype=np.int32),
        link=np.array([i for i, _ in found], dtype=np.int32),
        size=np.array([g.size for g in geoms], dtype=np.float64).reshape(-1, 3),
        R=np.array([X.R for X in poses], dtype=np.float64).reshape(-1, 3, 3),
        p=np.array([X.p for X in poses], dtype=np.float64).reshape(-1, 3),
        friction=np.full(len(geoms), friction),
        first_vertex=ends_v.astype(np.int32),
        first_triangle=ends_t.astype(np.int32),
        vertices=np.concatenate([_NO_VERTICES, *(g.vertices for g in geoms)]),
        triangles=np.concatenate([_NO_TRIANGLES, *(g.triangles for g in geoms)]),
    )


def _of_body(placement: Placement) -> list[tuple[int, Geom]]:
    body: Body = placement.body
    return [(i, geom) for i, link in enumerate(body.links) for geom in _of_link(placement, link)]


def _of_link(placement: Placement, link: Link) -> list[Geom]:
    primitives: list[Geom] = []
    meshes: list[Geom] = []
    for shape in link.collision:
        if not np.all(np.isfinite(shape.T_FG)):
            raise link_error(placement, link, "a collision shape's placement is not finite")
        primitive = _primitive(shape)
        if primitive is None:
            meshes.append(_triangles(placement, link, shape))
        elif not all(0.0 <= s < _LARGEST for s in primitive.size):
            size = ", ".join(f"{s:g}" for s in primitive.size)
            raise link_error(placement, link, f"a collision shape has the size {size}")
        elif primitive.size[0] == 0.0:
            _log.warning(
                "body '%s', link '%s': a collision shape of size zero is left out",
                placement.name,
                link.name,
            )
        else:
            primitives.append(primitive)
    return [*primitives, *_joined(meshes)]


def _primitive(shape: Shape) -> Geom | None:
    """Return a shape as a primitive, or None where only triangles are exact.

    A box takes any scale along its axes, a cylinder one that keeps it round, a sphere
    and a capsule an even one.
    """
    parts = shape.rigid_parts()
    if parts is None:
        return None
    X, (sx, sy, sz) = parts
    geometry = shape.geometry
    is_round = abs(sx - sz) <= 1e-9 * sx
    is_even = is_round and abs(sx - sy) <= 1e-9 * sx
    if isinstance(geometry, Box):
        x, y, z = (float(s) for s in geometry.size * (sx, sy, sz))
        flat = min(x, y, z) == 0.0
        return Geom(GeomKind.BOX, (0.0, 0.0, 0.0) if flat else (x, y, z), X)
    if isinstance(geometry, Sphere) and is_even:
        return Geom(GeomKind.SPHERE, (geometry.radius * float(sx), 0.0, 0.0), X)
    if isinstance(geometry, Cylinder | Capsule) and (
        is_even or (is_round and isinstance(geometry, Cylinder))
    ):
        kind = GeomKind.CYLINDER if isinstance(geometry, Cylinder) else GeomKind.CAPSULE
        size = (geometry.radius * float(sx), geometry.height * float(sy), 0.0)
        return Geom(kind, size, X @ _Y_TO_Z)
    return None


def _triangles(placement: Placement, link: Link, shape: Shape) -> Geom:
    """Return a shape as triangles in L, without those that have no area."""
    mesh = shape_mesh(shape, solid=True)
    vertices, triangles = mesh.vertices, mesh.triangles
    if len(triangles) and not 0 <= triangles.min() <= triangles.max() < len(vertices):
        raise link_error(placement, link, "a collision mesh names vertices that do not exist")
    used = vertices[np.unique(triangles)]
    if not np.all(np.abs(used) < _LARGEST):
        raise link_error(placement, link, "a collision mesh has vertices beyond all size")
    if not np.all(np.isfinite(vertices)):
        vertices = np.nan_to_num(vertices)  # in no triangle
    a, b, c = (vertices[triangles[:, k]] for k in range(3))
    twice_area = np.linalg.norm(np.cross(b - a, c - a), axis=1)
    edge = np.maximum(np.abs(b - a).max(axis=1), np.abs(c - a).max(axis=1))
    whole = twice_area > 1e-12 * np.square(edge)
    return Geom(GeomKind.MESH, vertices=vertices, triangles=triangles[whole])


def _joined(meshes: list[Geom]) -> list[Geom]:
    """Return the triangles of several meshes as one, or nothing when there are none."""
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
