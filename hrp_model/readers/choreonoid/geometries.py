"""Read geometries from geometry nodes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ...geometry import Attribute, Box, Capsule, Cone, Cylinder, Geometry, Mesh, Sphere
from ...rigid import Array
from ...shapes.meshing import elevation_grid, extrusion, face_set
from ...shapes.triangulate import oversized_polygon
from ..yaml.tree import Mapping
from .scope import COMMON, Scope, flag

# Keys that only subdivide flat sides, or that have no effect on primitives.
_IGNORED = (
    *COMMON, "solid", "division_number", "divisionNumber",
    "extra_division_number", "extraDivisionNumber", "extra_division_mode", "extraDivisionMode",
)  # fmt: skip
_MAX_DIVISIONS = 1000
_EMPTY: Array = np.empty(0)


def read_geometry(mapping: Mapping, scope: Scope) -> Geometry | None:
    """Read a geometry node; None after reporting an error.

    Reading the same node again returns the same object.
    """
    key = "geometry", id(mapping)
    if key not in scope.cache:
        scope.cache[key] = _geometry(mapping, scope)
    geometry: Geometry | None = scope.cache[key]
    return geometry


def _geometry(mapping: Mapping, scope: Scope) -> Geometry | None:
    if "type" not in mapping:
        scope.diagnostics.error("missing-key", "a geometry needs a 'type'", mapping.span)
        return None
    reader = mapping.choice("type", choices=READERS, default=None, code="unknown-geometry")
    if reader is None:
        return None
    geometry = reader(mapping, scope)
    mapping.finish(ignore=_IGNORED)
    return geometry


def _sized(mapping: Mapping, *keys: str) -> list[float] | None:
    """Read lengths that default to 1; None after reporting one that is not positive."""
    lengths = [mapping.number(key, default=1.0) for key in keys]
    for key, length in zip(keys, lengths, strict=True):
        if length <= 0.0:
            _bad_size(mapping, key)
            return None
    return lengths


def _bad_size(mapping: Mapping, key: str) -> None:
    message = f"a shape with this {key} has no extent and is left out"
    mapping.diagnostics.warn("bad-size", message, mapping.at(key))


def _box(mapping: Mapping, _: Scope) -> Geometry | None:
    size = mapping.numbers("size", count=3, default=np.ones(3))
    if (size < 0.0).any() or not size.any():
        _bad_size(mapping, "size")
        return None
    return Box(size)


def _sphere(mapping: Mapping, _: Scope) -> Geometry | None:
    sizes = _sized(mapping, "radius")
    return Sphere(sizes[0], divisions=divisions(mapping)) if sizes else None


def _cylinder(mapping: Mapping, _: Scope) -> Geometry | None:
    sizes = _sized(mapping, "radius", "height")
    top = flag(mapping, "top", default=True)
    bottom = flag(mapping, "bottom", default=True)
    if sizes is None:
        return None
    return Cylinder(sizes[0], sizes[1], top=top, bottom=bottom, divisions=divisions(mapping))


def _capsule(mapping: Mapping, _: Scope) -> Geometry | None:
    sizes = _sized(mapping, "radius")
    height = mapping.number("height", default=1.0)
    if height < 0.0:
        _bad_size(mapping, "height")
    if sizes is None or height < 0.0:
        return None
    # A height of 0 is allowed: some terrain models use such spheres.
    return Capsule(sizes[0], height, divisions=divisions(mapping))


def _cone(mapping: Mapping, _: Scope) -> Geometry | None:
    sizes = _sized(mapping, "radius", "height")
    bottom = flag(mapping, "bottom", default=True)
    if sizes is None:
        return None
    return Cone(sizes[0], sizes[1], bottom=bottom, divisions=divisions(mapping))


def divisions(mapping: Mapping) -> int | None:
    """Read the number of segments of a circle; None if not specified."""
    number = mapping.integer("division_number", "divisionNumber", default=None)
    if number is None or 3 <= number <= _MAX_DIVISIONS:
        return number
    message = f"a circle needs 3 to {_MAX_DIVISIONS} segments, not {number}; the default is used"
    at = mapping.at("division_number", "divisionNumber")
    mapping.diagnostics.warn("bad-division-number", message, at)
    return None


def _extrusion(mapping: Mapping, scope: Scope) -> Geometry:
    orientation = _rows(mapping, 4, "orientation")
    section = _rows(mapping, 2, "cross_section", "crossSection")
    spine = _rows(mapping, 3, "spine")
    scale = _rows(mapping, 2, "scale")
    for key, rows in (("scale", scale), ("orientation", orientation)):
        if 1 < len(rows) < len(spine):
            message = f"'{key}' has {len(rows)} entries for {len(spine)} spine points"
            message += "; the last one is repeated"
            scope.diagnostics.warn("short-list", message, mapping.at(key))
    # The number of points is the product of two lengths: a short file could fill any memory.
    scope.context.count("points of extrusions", len(section) * len(spine), mapping.span)
    return extrusion(
        section,
        spine,
        scale if len(scale) else np.ones((1, 2)),
        orientation * [1, 1, 1, scope.angle] if len(orientation) else np.array([[0, 0, 1, 0]]),
        begin_cap=flag(mapping, "begin_cap", "beginCap", default=True),
        end_cap=flag(mapping, "end_cap", "endCap", default=True),
        ccw=flag(mapping, "ccw", default=True),
        crease_angle=_crease(mapping, scope),
        solid=flag(mapping, "solid", default=True),
    )


def _elevation_grid(mapping: Mapping, scope: Scope) -> Geometry | None:
    height = mapping.numbers("height", count=None, default=_EMPTY)
    coords = _rows(mapping, 2, "tex_coord", "texCoord")
    try:
        mesh = elevation_grid(
            mapping.integer("x_dimension", "xDimension", default=0),
            mapping.integer("z_dimension", "zDimension", default=0),
            mapping.number("x_spacing", "xSpacing", default=1.0),
            mapping.number("z_spacing", "zSpacing", default=1.0),
            height,
            ccw=flag(mapping, "ccw", default=True),
            crease_angle=_crease(mapping, scope),
            solid=flag(mapping, "solid", default=True),
        )
    except ValueError as error:
        scope.diagnostics.error("wrong-count", str(error), mapping.at("height"))
        return None
    if len(coords) == len(mesh.vertices):
        return replace(mesh, tex_coords=Attribute(coords, mesh.triangles))
    if len(coords):
        message = "'tex_coord' does not match the heights and is left out"
        scope.diagnostics.warn("bad-attribute", message, mapping.at("tex_coord", "texCoord"))
    return mesh


def _face_set(mapping: Mapping, scope: Scope) -> Geometry:
    return _faces(mapping, scope, corners=None)


def _triangle_mesh(mapping: Mapping, scope: Scope) -> Geometry:
    return _faces(mapping, scope, corners=3)


def _faces(mapping: Mapping, scope: Scope, corners: int | None) -> Mesh:
    """Read polygons, each terminated by -1 or with a fixed number of corners."""
    vertices = _rows(mapping, 3, "vertices", "coordinate")
    keys = ("faces", "coordIndex")
    indices = _indices(mapping, corners, *keys)
    if indices.size and indices.max() >= len(vertices):
        message = f"faces with an index beyond the {len(vertices)} vertices are left out"
        scope.diagnostics.warn("bad-index", message, mapping.at(*keys))
    if largest := oversized_polygon(indices):
        message = f"a face with {largest} corners is triangulated as if it were convex"
        scope.diagnostics.warn("large-face", message, mapping.at(*keys))
    normals = _attribute(mapping, corners, indices, 3, ("normals",), ("normal_indices",))
    coords = _attribute(
        mapping,
        corners,
        indices,
        2,
        ("tex_coords", "texCoord"),
        ("tex_coord_indices", "texCoordIndex"),
    )
    return face_set(
        vertices,
        indices,
        normals=normals,
        tex_coords=coords,
        ccw=flag(mapping, "ccw", default=True),
        crease_angle=_crease(mapping, scope),
        solid=flag(mapping, "solid", default=True),
    )


def _attribute(
    mapping: Mapping,
    corners: int | None,
    faces: Array,
    width: int,
    values: tuple[str, ...],
    indices: tuple[str, ...],
) -> Attribute | None:
    rows = _rows(mapping, width, *values)
    chosen = _indices(mapping, corners, *indices)
    if not len(rows):
        return None
    used = chosen if len(chosen) else faces
    if len(used) == len(faces) and (not used.size or used.max() < len(rows)):
        return Attribute(rows, used.astype(np.int32))
    message = f"'{values[0]}' does not match the faces and is left out"
    mapping.diagnostics.warn("bad-attribute", message, mapping.at(*values))
    return None


def _rows(mapping: Mapping, width: int, *spellings: str) -> Array:
    """Read a flat list of numbers as rows, shape (n, width)."""
    flat = mapping.numbers(*spellings, count=None, default=_EMPTY)
    if len(flat) % width:
        message = (
            f"the {len(flat)} numbers do not make groups of {width}; the last ones are left out"
        )
        mapping.diagnostics.warn("wrong-count", message, mapping.at(*spellings))
    return flat[: len(flat) // width * width].reshape(-1, width)


def _indices(mapping: Mapping, corners: int | None, *spellings: str) -> Array:
    """Read indices; with a fixed number of corners, -1 is appended to each face."""
    if corners is None:
        flat = mapping.numbers(*spellings, count=None, default=_EMPTY)
    else:
        rows = _rows(mapping, corners, *spellings)
        flat = np.column_stack((rows, np.full(len(rows), -1.0))).ravel()
    return np.clip(np.trunc(flat), -1.0, 2.0**31 - 1.0)


def _crease(mapping: Mapping, scope: Scope) -> float:
    return mapping.number("crease_angle", "creaseAngle", default=0.0) * scope.angle


Reader = Callable[[Mapping, Scope], Geometry | None]
READERS: dict[str, Reader | None] = {
    "Box": _box,
    "Sphere": _sphere,
    "Cylinder": _cylinder,
    "Capsule": _capsule,
    "Cone": _cone,
    "Extrusion": _extrusion,
    "ElevationGrid": _elevation_grid,
    "IndexedFaceSet": _face_set,
    "TriangleMesh": _triangle_mesh,
}
