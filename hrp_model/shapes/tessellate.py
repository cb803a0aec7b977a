"""Convert shapes to triangle meshes, and place meshes by affine maps."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace

import numpy as np

from ..geometry import Attribute, Box, Cone, Cylinder, Geometry, Mesh, Shape
from ..rigid import Array, Pose
from .normals import corner_normals, unit
from .surfaces_of_revolution import per_corner_attribute, revolved
from .texturing import with_tex_coords

__all__ = [
    "DIVISIONS",
    "corner_normals",
    "drawn_mesh",
    "mesh_of",
    "mesh_origin",
    "placed_mesh",
    "placed_mesh_key",
    "shape_mesh",
    "solid_mesh",
    "transformed",
]

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
