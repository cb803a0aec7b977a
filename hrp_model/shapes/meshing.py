"""Convert face sets, extrusions and height fields to meshes. No file format here."""

from __future__ import annotations

from functools import partial
from math import cos, pi

import numpy as np
from numpy.typing import ArrayLike

from ..geometry import Attribute, IntArray, Mesh
from ..rigid import Array, axis_angle_matrix, unit_vector
from .triangulate import polygons_to_triangles

_NONE = np.empty((0, 3), dtype=np.int32)
_CLOSED = 1e-12  # [m]; a curve with ends closer than this is closed
_UP = np.array([0.0, 0.0, 1.0])


def face_set(
    points: ArrayLike,
    index_list: ArrayLike,
    *,
    normals: Attribute | None = None,
    colors: Attribute | None = None,
    tex_coords: Attribute | None = None,
    ccw: bool = True,
    crease_angle: float = 0.0,
    solid: bool = True,
) -> Mesh:
    """Return the mesh of polygons with attributes per corner or per polygon.

    Args:
        points: In [m], shape (n, 3).
        index_list: As in ``polygons_to_triangles``.
        normals: ``indices`` of shape (len(index_list),) gives the row of ``values`` for
            each entry of ``index_list``; shape (k,) with k polygons gives one for each
            polygon. An attribute that does not cover all corners is left out.
        colors: Same as ``normals``.
        tex_coords: Same as ``normals``.
        ccw: False reverses every polygon.
        crease_angle: In [rad].
        solid: Whether back faces may be culled.
    """
    triangles, positions, polygons = polygons_to_triangles(points, index_list)
    if not ccw:
        triangles, positions = triangles[:, ::-1], positions[:, ::-1]
    corners = len(np.asarray(index_list))

    def per_triangle(attribute: Attribute | None) -> Attribute | None:
        if attribute is None:
            return None
        per_corner = len(attribute.indices) == corners
        rows = positions if per_corner else np.repeat(polygons[:, None], 3, axis=1)
        if rows.size and rows.max() >= len(attribute.indices):
            return None
        chosen = np.asarray(attribute.indices)[rows].astype(np.int32)
        if chosen.size and (chosen.min() < 0 or chosen.max() >= len(attribute.values)):
            return None
        return Attribute(attribute.values, chosen)

    return Mesh(
        np.asarray(points, dtype=np.float64),
        triangles,
        normals=per_triangle(normals),
        colors=per_triangle(colors),
        tex_coords=per_triangle(tex_coords),
        crease_angle=crease_angle,
        solid=solid,
    )


def planar_tex_coords(mesh: Mesh) -> Attribute:
    """Return texture coordinates projected onto the two largest sides of the bounding box.

    The default of meshes without texture coordinates (ISO/IEC 14772-1, 6.23): s runs from 0 to
    1 along the largest side, t at the same scale along the second largest; ties prefer x, then y.
    """
    low, size = mesh.vertices.min(axis=0), np.ptp(mesh.vertices, axis=0)
    s, t = np.argsort(-size, kind="stable")[:2]
    scale = 1.0 / size[s] if size[s] > 0.0 else 0.0
    return Attribute((mesh.vertices[:, (s, t)] - low[[s, t]]) * scale, mesh.triangles)


def extrusion(
    cross_section: ArrayLike,
    spine: ArrayLike,
    scale: ArrayLike = (1.0, 1.0),
    orientation: ArrayLike = (0.0, 0.0, 1.0, 0.0),
    *,
    begin_cap: bool = True,
    end_cap: bool = True,
    ccw: bool = True,
    crease_angle: float = 0.0,
    solid: bool = True,
) -> Mesh:
    """Sweep a curve along a spine (ISO/IEC 14772-1, 6.18).

    The vertex of cross-section point j at spine point i is row i * c + j of the
    vertices, where c is the number of cross-section points without a closing one.
    With ``ccw`` and a spine along +Y, the surface faces outward if the cross-section turns
    from +x to +z, as in published models.

    Args:
        cross_section: (x, z) in [m], shape (c, 2).
        spine: In [m], shape (n, 3).
        scale: (x, z) per spine point, shape (k, 2); the last one repeats.
        orientation: Axis and angle [rad] per spine point, shape (k, 4); the last one repeats.
        begin_cap: Whether the first end of an open spine is closed.
        end_cap: Whether its other end is closed.
        ccw: False turns the surface inside out.
        crease_angle: In [rad].
        solid: Whether back faces may be culled.
    """
    section = np.asarray(cross_section, dtype=np.float64).reshape(-1, 2)
    path = np.asarray(spine, dtype=np.float64).reshape(-1, 3)
    if len(section) < 2 or len(path) < 2:
        return Mesh(np.empty((0, 3)), _NONE, crease_angle=crease_angle, solid=solid)
    section_closed, path_closed = _is_closed(section), _is_closed(path)
    if section_closed:
        section = section[:-1]
    n = len(path)
    scales = _one_each(np.asarray(scale, dtype=np.float64).reshape(-1, 2), n)
    turns = _one_each(np.asarray(orientation, dtype=np.float64).reshape(-1, 4), n)
    frames = _spine_frames(path, path_closed) @ np.array([_rotation(turn) for turn in turns])
    flat = np.zeros((n, len(section), 3))
    flat[:, :, (0, 2)] = section * scales[:, None, :]
    rings = np.einsum("nij,nkj->nki", frames, flat) + path[:, None, :]
    if path_closed:
        rings = rings[:-1]
    triangles = _side_triangles(len(rings), len(section), path_closed, section_closed)
    if not path_closed:
        caps = _cap_triangles(section, n, begin_cap, end_cap)
        triangles = np.concatenate((triangles, caps))
    vertices = rings.reshape(-1, 3)
    if not ccw:
        triangles = triangles[:, ::-1]
    mapping = partial(
        _extrusion_tex_coords,
        section=np.concatenate((section, section[:1])) if section_closed else section,
        spine=path,
        ccw=ccw,
    )
    return Mesh(vertices, triangles, crease_angle=crease_angle, solid=solid, tex_mapping=mapping)


def _extrusion_tex_coords(mesh: Mesh, section: Array, spine: Array, ccw: bool) -> Attribute:
    """Return an extrusion's texture coordinates (ISO/IEC 14772-1, 6.18).

    s runs along the cross-section from its first point to its last, t along the spine,
    both by arc length. On a cap they run along x and z, the larger extent from 0 to 1.
    """
    s, t = _along(section), _along(spine)
    sides = np.column_stack((np.tile(s, len(t)), np.repeat(t, len(s))))
    indices = _side_triangles(len(t), len(s), wrap_rings=False, wrap_points=False)
    if not ccw:
        indices = indices[:, ::-1]
    extent = float(np.ptp(section, axis=0).max())
    cap = (section - section.min(axis=0)) / (extent or 1.0)
    # In the mesh, a closing point of the cross-section shares the vertex of the first one.
    points = len(mesh.vertices) // len(spine)
    on_caps = mesh.triangles[len(indices) :] % max(points, 1) + len(sides)
    return Attribute(np.concatenate((sides, cap)), np.concatenate((indices, on_caps)))


def _along(curve: Array) -> Array:
    """Return the normalized arc length at each point of a curve, from 0 to 1, shape (n,)."""
    steps = np.linalg.norm(np.diff(curve, axis=0), axis=1)
    length = np.concatenate(([0.0], np.cumsum(steps)))
    return length / length[-1] if length[-1] > 0.0 else length


def elevation_grid(
    x_dimension: int,
    z_dimension: int,
    x_spacing: float,
    z_spacing: float,
    height: ArrayLike,
    *,
    ccw: bool = True,
    crease_angle: float = 0.0,
    solid: bool = True,
) -> Mesh:
    """Return a height field over the XZ plane (ISO/IEC 14772-1, 6.17).

    Vertex (x, z) is row x + z * x_dimension; the two triangles of cell (x, z) are rows
    2k and 2k + 1 with k = x + z * (x_dimension - 1).

    Args:
        x_dimension: Points along x.
        z_dimension: Points along z.
        x_spacing: Distance of neighbouring points along x, in [m].
        z_spacing: Distance of neighbouring points along z, in [m].
        height: y of each point in [m], x fastest, shape (x_dimension * z_dimension,).
        ccw: Whether the upper side is the outside.
        crease_angle: In [rad].
        solid: Whether the lower side may be culled.

    Raises:
        ValueError: The number of heights is wrong.
    """
    heights = np.asarray(height, dtype=np.float64).reshape(-1)
    if x_dimension < 0 or z_dimension < 0 or len(heights) != x_dimension * z_dimension:
        raise ValueError(
            f"{x_dimension} x {z_dimension} heights are needed, but there are {len(heights)}"
        )
    number = np.arange(len(heights)).reshape(z_dimension, x_dimension)
    z, x = np.divmod(number.ravel(), max(x_dimension, 1))
    vertices = np.column_stack((x * x_spacing, heights, z * z_spacing))
    a, b = number[:-1, :-1].ravel(), number[1:, :-1].ravel()
    c, d = number[1:, 1:].ravel(), number[:-1, 1:].ravel()
    triangles = np.stack((a, b, c, a, c, d), axis=-1).reshape(-1, 3).astype(np.int32)
    if not ccw:
        triangles = triangles[:, ::-1]
    return Mesh(
        vertices,
        triangles,
        crease_angle=crease_angle,
        solid=solid,
        tex_mapping=_grid_tex_coords,
    )


def _grid_tex_coords(mesh: Mesh) -> Attribute:
    """Return (0, 0) at the first vertex to (1, 1) at the last (ISO/IEC 14772-1, 6.17)."""
    flat = mesh.vertices[:, (0, 2)]
    size = flat[-1] - flat[0]
    return Attribute((flat - flat[0]) / np.where(size != 0.0, size, 1.0), mesh.triangles)


def _is_closed(curve: Array) -> bool:
    return len(curve) > 2 and float(np.linalg.norm(curve[0] - curve[-1])) < _CLOSED


def _one_each(values: Array, count: int) -> Array:
    """Return ``count`` rows, repeating the last one as needed."""
    return values[np.minimum(np.arange(count), len(values) - 1)]


def _rotation(axis_angle: Array) -> Array:
    axis = unit_vector(axis_angle[:3])
    return np.eye(3) if axis is None else axis_angle_matrix(axis, axis_angle[3])


def _spine_frames(path: Array, closed: bool) -> Array:
    """Return the rotation of the cross-section plane at each spine point, shape (n, 3, 3).

    Columns are X, Y (along the spine) and Z (the side to which the spine bends).
    """
    ahead, behind = np.roll(path, -1, axis=0), np.roll(path, 1, axis=0)
    if closed:
        # First and last point coincide: use their neighbours at the seam.
        ahead[-1], behind[0] = path[1], path[-2]
    else:
        ahead[-1], behind[0] = path[-1], path[0]
    size = float(np.ptp(path, axis=0).max())
    y = _defined(_unit(ahead - behind, size))
    z = _unit(np.cross(ahead - path, behind - path), size * size)
    if not z.any():
        return np.tile(_shortest_from_y(y[0]), (len(path), 1, 1))
    z = _defined(z)
    for i in range(1, len(z)):
        if z[i] @ z[i - 1] < 0.0:
            z[i] = -z[i]
    return np.stack((np.cross(y, z), y, z), axis=2)


def _unit(vectors: Array, scale: float) -> Array:
    """Return unit vectors; vectors that are negligible on this scale become zero."""
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    units = np.zeros_like(vectors)
    np.divide(vectors, length, out=units, where=length > 1e-10 * scale)
    return units


def _defined(vectors: Array) -> Array:
    """Replace zero rows by the previous nonzero row, leading ones by the first nonzero row."""
    nonzero = np.flatnonzero(vectors.any(axis=1))
    if not len(nonzero):
        return vectors
    source = np.searchsorted(nonzero, np.arange(len(vectors)), side="right") - 1
    rows = nonzero[np.maximum(source, 0)]
    chosen: Array = vectors[rows]
    return chosen


def _shortest_from_y(direction: Array) -> Array:
    """Return the map of the cross-section plane of a straight spine, shape (3, 3).

    That is the shortest rotation from +Y to the unit vector ``direction``. For -Y it is not
    unique; the point reflection gives the shape that models with such spines intend.
    """
    axis = np.array([direction[2], 0.0, -direction[0]])  # Y x direction
    sine = float(np.linalg.norm(axis))
    if sine < _CLOSED:
        return np.eye(3) if direction[1] >= 0.0 else -np.eye(3)
    return axis_angle_matrix(axis / sine, float(np.arctan2(sine, direction[1])))


def _side_triangles(rings: int, points: int, wrap_rings: bool, wrap_points: bool) -> IntArray:
    number = np.arange(rings * points).reshape(rings, points)
    if wrap_rings:
        number = np.concatenate((number, number[:1]))
    if wrap_points:
        number = np.concatenate((number, number[:, :1]), axis=1)
    a, b = number[:-1, :-1].ravel(), number[1:, :-1].ravel()
    c, d = number[:-1, 1:].ravel(), number[1:, 1:].ravel()
    return np.stack((a, b, d, a, d, c), axis=-1).reshape(-1, 3).astype(np.int32)


def _cap_triangles(section: Array, rings: int, begin: bool, end: bool) -> IntArray:
    # Affine maps preserve the triangulation of the cross-section, so both ends share it.
    points = len(section)
    flat = np.insert(section, 1, 0.0, axis=1)
    first, _, _ = polygons_to_triangles(flat, np.arange(points))
    last = first[:, ::-1] + (rings - 1) * points
    parts = (first if begin else _NONE, last if end else _NONE)
    return np.concatenate(parts).astype(np.int32)


def corner_normals(mesh: Mesh) -> Array:
    """Return a unit normal for each corner of each triangle, shape (m, 3, 3).

    Given normals are used. Where they are missing or have no direction, the normal of a corner
    is the mean of the normals of the faces around its vertex that meet its own face at no more
    than the crease angle, weighted by their angles at the vertex. Normals of degenerate faces,
    which are invisible, are +Z.
    """
    generated = _generated_normals(mesh)
    if mesh.normals is None:
        return generated
    return _filled(unit(mesh.normals.values[mesh.normals.indices]), generated)


def unit(vectors: Array) -> Array:
    """Return vectors scaled to length one; zero and non-finite vectors become zero."""
    vectors = np.where(np.isfinite(vectors).all(axis=-1, keepdims=True), vectors, 0.0)
    length = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors / np.where(length > 0.0, length, 1.0)


def _generated_normals(mesh: Mesh) -> Array:
    corners = mesh.vertices[mesh.triangles]
    edges = np.roll(corners, -1, axis=1) - corners
    faces = unit(np.cross(edges[:, 0], edges[:, 1]))
    flat = np.repeat(faces[:, None], 3, axis=1)
    if mesh.crease_angle <= 0.0 or not len(faces):
        return _filled(flat, _UP)
    directions = unit(edges)
    cosines = np.einsum("fci,fci->fc", directions, -np.roll(directions, 1, axis=1))
    weights = np.arccos(np.clip(cosines, -1.0, 1.0))
    order = np.argsort(mesh.triangles, axis=None, kind="stable")
    smooth = _blend(
        mesh.triangles.ravel()[order],
        flat.reshape(-1, 3)[order],
        weights.ravel()[order],
        min(mesh.crease_angle, pi),
    )
    normals = np.empty_like(smooth)
    normals[order] = smooth
    return _filled(normals.reshape(flat.shape), _filled(flat, _UP))


def _filled(vectors: Array, default: Array) -> Array:
    """Replace zero vectors by a default."""
    return np.where(np.any(vectors != 0.0, axis=-1, keepdims=True), vectors, default)


def _blend(vertices: IntArray, normals: Array, weights: Array, crease_angle: float) -> Array:
    """Average the normals of corners, sorted by vertex, over those within the crease angle."""
    weighted = normals * weights[:, None]
    starts = np.flatnonzero(np.diff(vertices, prepend=-1))
    counts = np.diff(starts, append=len(vertices))
    sums = np.add.reduceat(weighted, starts)
    total = np.repeat(sums, counts, axis=0)
    # Normals within half the crease angle of their mean lie within the angle of one another.
    cosines = np.einsum("ki,ki->k", normals, np.repeat(unit(sums), counts, axis=0))
    smooth = np.minimum.reduceat(cosines, starts) >= cos(crease_angle / 2.0)
    rest = np.flatnonzero(~np.repeat(smooth, counts))
    total[rest] = _pairwise(vertices[rest], normals[rest], weighted[rest], cos(crease_angle))
    return unit(total)


def _pairwise(vertices: IntArray, normals: Array, weighted: Array, min_cosine: float) -> Array:
    """Return the sums of ``_blend`` by comparing all pairs of corners of each vertex.

    Corner i is paired with i + 1, i + 2, ... of the same vertex, so that memory does not
    grow with the number of faces at a vertex.
    """
    total = weighted.copy()
    distance = 1
    first = np.arange(max(0, len(vertices) - 1))
    first = first[vertices[first] == vertices[first + 1]]
    while len(first):
        cosine = np.einsum("ki,ki->k", normals[first], normals[first + distance])
        one = first[cosine >= min_cosine - 1e-12]
        total[one] += weighted[one + distance]
        total[one + distance] += weighted[one]
        distance += 1
        first = first[first + distance < len(vertices)]
        first = first[vertices[first] == vertices[first + distance]]
    return total
