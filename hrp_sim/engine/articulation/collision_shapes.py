"""Collision shapes of a Body as flat arrays, with what models declare of their surfaces.

They are primitives where exact, else convex shapes or triangles.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from weakref import WeakKeyDictionary

import numpy as np

from hrp_model import Link
from hrp_model.diagnostics import MissingLibraryError, did_you_mean
from hrp_model.files.writer import cache_folder
from hrp_model.geometry import Box, Capsule, Cylinder, Mesh, Shape, Sphere, Surface, SurfaceRule
from hrp_model.rigid import Array, Pose, unit_vector
from hrp_model.shapes.measure import used_vertices
from hrp_model.shapes.tessellate import shape_mesh

from ..engine import ConvexMeshes, PhysicsSettings, Placement
from ..materials import NO_MATERIAL
from .articulation import NO_CONTACT, STATIC, Geom, GeomKind, Geoms, Links, link_error

_log = logging.getLogger("hrp_sim")

# Cylinders of a model are along Y, of an engine along Z: R_GE e_z = e_y.
_Y_TO_Z = Pose(R=np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]]))
_MIRROR = np.diag([-1.0, 1.0, 1.0, 1.0])
_SCALE_TOLERANCE = 1e-9
# The numbers of a surface that a model declares; see ``surface_row``.
RULE, NO_RULE = 0, 0
SURFACE_NUMBERS = 12
_RULES = {SurfaceRule.GAZEBO: 1, SurfaceRule.MUJOCO: 2}
_NOT_DECLARED = -1.0
MAX_SIZE = 1e6  # [m]
_TIME_LIMIT = 30.0  # for the decomposition of one mesh, in [s]
# Replacements of shapes, kept because a body may be spawned many times: a convex shape or None,
# and convex parts.
_equivalents: WeakKeyDictionary[Shape, Shape | None] = WeakKeyDictionary()
_parts: WeakKeyDictionary[Shape, tuple[Shape, ...]] = WeakKeyDictionary()


def flatten_shapes(placement: Placement, links: Links, settings: PhysicsSettings) -> Geoms:
    """Return all collision shapes of a body.

    Args:
        placement: The body.
        links: Poses of its links.
        settings: Provide materials and ``convex_meshes``.

    Raises:
        PhysicsError: A shape is not finite or too large, or its triangles refer to vertices that
            do not exist; or a library that ``convex_meshes`` needs is not installed.
    """
    moving = [link for i, link in enumerate(placement.body.links) if links.group[i] != STATIC]
    replaced = replaced_shapes(placement, moving, settings)
    found = [
        (i, geom)
        for i, link in enumerate(placement.body.links)
        for geom in _of_link(placement, link, replaced)
    ]
    poses = [Pose(links.R[i], links.p[i]) @ geom.X_LE for i, geom in found]
    geoms = [geom for _, geom in found]
    materials = [_material(placement, link, settings) for link in placement.body.links]
    names = map(placement.contact_material, placement.body.links)
    is_declared = [settings.materials.index(name) == NO_MATERIAL for name in names]
    ends_v = np.cumsum([0, *(len(g.vertices) for g in geoms)])
    ends_t = np.cumsum([0, *(len(g.triangles) for g in geoms)])
    return Geoms(
        kind=np.array([g.kind for g in geoms], dtype=np.int32),
        link=np.array([i for i, _ in found], dtype=np.int32),
        size=np.array([g.size for g in geoms], dtype=np.float64).reshape(-1, 3),
        R=np.array([X.R for X in poses], dtype=np.float64).reshape(-1, 3, 3),
        p=np.array([X.p for X in poses], dtype=np.float64).reshape(-1, 3),
        material=np.array([materials[i] for i, _ in found], dtype=np.int32),
        surface=np.array(
            [surface_row(g.surface if is_declared[i] else None, g.X_LE) for i, g in found]
        ).reshape(-1, SURFACE_NUMBERS),
        first_vertex=ends_v.astype(np.int32),
        first_triangle=ends_t.astype(np.int32),
        vertices=np.concatenate([np.zeros((0, 3)), *(g.vertices for g in geoms)]),
        triangles=np.concatenate([np.zeros((0, 3), dtype=np.int32), *(g.triangles for g in geoms)]),
    )


def _material(placement: Placement, link: Link, settings: PhysicsSettings) -> int:
    """Return the index of a link's contact material, or NO_CONTACT."""
    if link.name in placement.body.collision_disabled:
        return NO_CONTACT
    name, table = placement.contact_material(link), settings.materials
    if not table.has(name) and len(table.names) > 1 and link.collision:
        at = f" ({link.at})" if link.at else ""
        _log.warning(
            "body '%s', link '%s': the material '%s' is not in the table of materials; the link "
            "is treated as one without a material.%s%s",
            placement.name,
            link.name,
            name,
            did_you_mean(name, table.names),
            at,
        )
    return table.index(name)


def replaced_shapes(
    placement: Placement, links: Iterable[Link], settings: PhysicsSettings
) -> dict[Shape, tuple[Shape, ...]]:
    """Return what is used for each collision mesh of moving links; see ``convex_meshes``.

    A cone counts as a mesh, and so does every shape that is no primitive of the engine. One that
    is kept is used for itself.

    Raises:
        PhysicsError: A mesh is invalid, or a library that the setting needs is not installed.
    """
    meshes = {
        shape: link
        for link in links
        for shape in link.collision
        if np.all(np.isfinite(shape.T_FG)) and primitive_geom(shape) is None
    }
    found = convex_replacements(placement, meshes, settings.convex_meshes)
    return {shape: found.get(shape, (shape,)) for shape in meshes}


def _of_link(
    placement: Placement, link: Link, replaced: Mapping[Shape, tuple[Shape, ...]]
) -> Iterator[Geom]:
    """Yield the shapes of a link; what replaces one mesh, such as convex parts, is one mesh."""
    for written in link.collision:
        meshes: list[Geom] = []
        for shape in replaced.get(written, (written,)):
            if not np.all(np.isfinite(shape.T_FG)):
                raise link_error(placement, link, "a collision shape's placement is not finite")
            primitive = primitive_geom(shape)
            if primitive is None:
                meshes.append(triangle_geom(placement, link, shape))
            elif _has_size(placement, link, primitive):
                yield primitive._replace(surface=written.surface)
        for mesh in merge_meshes(meshes):
            yield mesh._replace(surface=written.surface)


def _has_size(placement: Placement, link: Link, primitive: Geom) -> bool:
    """Check the size of a primitive; return whether it is positive."""
    if not all(0.0 <= s < MAX_SIZE for s in primitive.size):
        size = ", ".join(f"{s:g}" for s in primitive.size)
        problem = f"the size of a collision shape ({size}) must be from 0 to {MAX_SIZE:g} m"
        raise link_error(placement, link, problem)
    if primitive.size[0] == 0.0:
        _log.warning(
            "body '%s', link '%s': a collision shape of size zero is ignored",
            placement.name,
            link.name,
        )
    return primitive.size[0] > 0.0


def primitive_geom(shape: Shape) -> Geom | None:
    """Return a shape as a primitive, or None if only triangles are exact.

    A box may be scaled along its axes, a cylinder as long as it stays round, a sphere and a
    capsule only uniformly. All of them are their own mirror images.
    """
    parts = shape.rigid_parts() or Shape(shape.geometry, shape.T_FG @ _MIRROR).rigid_parts()
    if parts is None:
        return None
    X, (sx, sy, sz) = parts
    geometry = shape.geometry
    is_round = abs(sx - sz) <= _SCALE_TOLERANCE * sx
    is_uniform = is_round and abs(sx - sy) <= _SCALE_TOLERANCE * sx
    if isinstance(geometry, Box):
        x, y, z = (float(s) for s in geometry.size * (sx, sy, sz))
        flat = min(x, y, z) == 0.0
        return Geom(GeomKind.BOX, (0.0, 0.0, 0.0) if flat else (x, y, z), X)
    if isinstance(geometry, Sphere) and is_uniform:
        return Geom(GeomKind.SPHERE, (geometry.radius * float(sx), 0.0, 0.0), X)
    if isinstance(geometry, Cylinder | Capsule) and (
        is_uniform or (is_round and isinstance(geometry, Cylinder))
    ):
        kind = GeomKind.CYLINDER if isinstance(geometry, Cylinder) else GeomKind.CAPSULE
        size = (geometry.radius * float(sx), geometry.height * float(sy), 0.0)
        return Geom(kind, size, X @ _Y_TO_Z)
    return None


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
    from hrp_model.collision.hull import convex_hull, is_flat  # most worlds need no hulls

    points = used_vertices(mesh)
    return None if len(points) < 4 or is_flat(points) else Shape(convex_hull(points))


def _equivalent(placement: Placement, link: Link, shape: Shape) -> Shape | None:
    """Return the convex shape that a mesh is, or None."""
    if shape not in _equivalents:
        from hrp_model.collision.hull import convex_equivalent

        found = convex_equivalent(_mesh(placement, link, shape))
        _equivalents[shape] = found and Shape(found[0], found[1].matrix())
    return _equivalents[shape]


def _decompose(placement: Placement, meshes: Mapping[Shape, Link]) -> None:
    """Store the convex parts of concave meshes; none for flat ones and those that fail."""
    missing = {x: _mesh(placement, link, x) for x, link in meshes.items() if x not in _parts}
    solid = {shape: mesh for shape, mesh in missing.items() if _hull(mesh)}
    if solid:
        from hrp_model.collision.decompose import Decomposer

        with Decomposer(_TIME_LIMIT, cache_folder("convex_parts")) as decomposer:
            found = decomposer.decomposed(list(solid.values()))
        for shape, parts in zip(solid, found, strict=True):
            _parts[shape] = tuple(filter(None, map(_hull, parts or ())))
    for shape in missing:
        _parts.setdefault(shape, ())


def surface_row(surface: Surface | None, X_LE: Pose) -> Array:
    """Return what a shape declares, as the structure ``Surface`` of the C engine.

    Args:
        surface: In the link L; None if nothing is declared.
        X_LE: Pose of the engine's shape, in whose frame E the direction of friction is.
    """
    if surface is None:
        return np.zeros(SURFACE_NUMBERS)
    along = None if surface.direction is None else unit_vector(surface.direction)
    row = [
        _RULES[surface.rule],
        _number(surface.friction),
        _number(surface.friction_across),
        *(np.zeros(3) if along is None else X_LE.R.T @ along),
        surface.stiffness or 0.0,
        surface.damping,
        _number(surface.restitution),
        surface.bounce_speed,
        surface.is_frictionless,
        surface.priority,
    ]
    return np.array(row, dtype=np.float64)


def _number(value: float | None) -> float:
    return _NOT_DECLARED if value is None else value
