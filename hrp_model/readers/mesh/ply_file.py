"""Read PLY files: polygons and triangle strips, with colours, normals and a texture."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...files.resources import MAX_FILE_SIZE, MAX_TEXT_SIZE, read_file
from ...geometry import GREY, Attribute, IntArray, SceneNode, Shape, Texture
from ...read_context import ReadContext
from ...rigid import Array
from ...shapes.meshing import face_set, unit
from ...shapes.triangulate import strip_corners
from .mesh_resources import LostParts, MeshResources, are_inside, are_usable
from .ply_elements import PlyElement, PlyFile, parse_ply

_HEADER = 1 << 16  # [B] that are searched for the format
_INDICES = ("vertex_indices", "vertex_index")
_COLORS = (
    ("red", "green", "blue"),
    ("diffuse_red", "diffuse_green", "diffuse_blue"),
    ("r", "g", "b"),
)
_TEX_COORDS = (("s", "t"), ("u", "v"), ("texture_u", "texture_v"), ("texture_s", "texture_t"))
_TEXTURE = "texturefile"  # comment of MeshLab


def read_ply(path: Path, context: ReadContext) -> SceneNode:
    """Read the faces of a PLY file, in [m].

    Raises:
        OSError: The file cannot be read.
        ValueError: It is not PLY, or has no triangles.
    """
    data = read_file(path, MAX_FILE_SIZE)
    if len(data) > MAX_TEXT_SIZE and b"format ascii" in data[:_HEADER]:
        size = MAX_TEXT_SIZE >> 20
        raise ValueError(f"it is a text file larger than {size} MiB; save it as binary PLY")
    file = parse_ply(data)
    lost = LostParts(path.name, context.diagnostics, context.reference_span)
    if file.missing:
        lost.add("rows", f"{file.missing} rows are missing at its end")
    shape = _shape(file, lost, _texture(file, MeshResources(path, context)))
    lost.report()
    return SceneNode(shapes=(shape,))


def _shape(file: PlyFile, lost: LostParts, texture: Texture | None) -> Shape:
    vertices = file.elements.get("vertex")
    points = None if vertices is None else _columns(vertices, ("x", "y", "z"))
    if vertices is None or points is None:
        raise ValueError("it has no vertices with x, y and z")
    usable = are_usable(points)
    faces = _Faces(file, usable)
    lost.report_faces(faces.lost)
    tex_coords = faces.tex_coords if texture is not None else None
    if texture is not None and tex_coords is None:
        tex_coords = _attribute(_first(vertices, _TEX_COORDS), faces.index_list)
    normals = _columns(vertices, ("nx", "ny", "nz"))
    colors = _colors(vertices)
    mesh = face_set(
        np.where(usable[:, None], points, 0.0),
        faces.index_list,
        normals=_attribute(None if normals is None else unit(normals), faces.index_list),
        colors=_attribute(colors, faces.index_list) if colors is not None else faces.colors,
        tex_coords=tex_coords,
    )
    if not len(mesh.triangles):
        raise ValueError("it contains no triangle")
    return Shape(mesh, material=GREY if tex_coords is None else replace(GREY, texture=texture))


class _Faces:
    """The polygons of a file, and the triangles of its strips.

    Attributes:
        index_list: Rows of points, with -1 after each polygon; a row that does not exist for
            points that cannot be used.
        lost: The number of polygons with such points.
        colors, tex_coords: Of the faces, if the file has them.
    """

    def __init__(self, file: PlyFile, usable: NDArray[np.bool_]) -> None:
        faces, strips = (file.elements.get(name) for name in ("face", "tristrips"))
        polygons = (
            next((faces.lists[x] for x in _INDICES if x in faces.lists), None) if faces else None
        )
        values, counts = polygons or (np.empty(0), np.empty(0, dtype=np.int32))
        rows = _integers(values)
        self.colors = None
        self.tex_coords = None
        if faces is not None and polygons is not None:
            colors = _colors(faces)
            if colors is not None:
                self.colors = Attribute(colors, np.arange(len(counts), dtype=np.int32))
            self.tex_coords = _of_corners(faces, counts)
        if strips is not None:
            added = _of_strips(strips)
            if len(added):
                self.colors = self.tex_coords = None  # of the faces only
            rows = np.concatenate((rows, added.ravel()))
            counts = np.concatenate((counts, np.full(len(added), 3, dtype=np.int32)))
        ends = np.cumsum(counts)
        good = are_inside(rows, usable)
        lost = np.searchsorted(ends, np.flatnonzero(~good), side="right")
        self.lost = len(np.unique(lost))
        listed = np.insert(np.where(good, rows, len(usable)), ends, -1)
        self.index_list = listed.astype(np.int32)


def _of_strips(strips: PlyElement) -> IntArray:
    """Return the triangles of strips, which -1 separates, shape (m, 3)."""
    values, counts = next((strips.lists[x] for x in _INDICES if x in strips.lists), (None, None))
    if values is None or counts is None:
        return np.empty((0, 3), dtype=np.int32)
    separated = np.insert(_integers(values), np.cumsum(counts), -1)
    stops = np.flatnonzero(separated < 0)
    starts = np.concatenate(([0], stops[:-1] + 1))
    found = [np.empty((0, 3), dtype=np.int32)]
    for start, stop in zip(starts.tolist(), stops.tolist(), strict=True):
        if stop - start >= 3:
            triangles = separated[start:stop][strip_corners(stop - start)]
            repeated = np.sort(triangles, axis=1)
            found.append(triangles[(np.diff(repeated, axis=1) > 0).all(axis=1)])
    joined: IntArray = np.concatenate(found)
    return joined


def _of_corners(faces: PlyElement, counts: IntArray) -> Attribute | None:
    """Return texture coordinates that faces have for each corner (MeshLab)."""
    values, lengths = faces.lists.get("texcoord", (None, None))
    if values is None or lengths is None or not (lengths == 2 * counts).all():
        return None
    if not np.isfinite(values).all():
        return None
    index = np.insert(np.arange(int(counts.sum())), np.cumsum(counts), -1)
    return Attribute(values.astype(np.float64).reshape(-1, 2), index.astype(np.int32))


def _columns(element: PlyElement, names: tuple[str, ...]) -> Array | None:
    """Return properties as columns, shape (n, k); None unless all are there."""
    if not all(name in element.columns for name in names):
        return None
    return np.column_stack([element.columns[name].astype(np.float64) for name in names])


def _first(element: PlyElement, names: tuple[tuple[str, ...], ...]) -> Array | None:
    return next((x for x in (_columns(element, group) for group in names) if x is not None), None)


def _colors(element: PlyElement) -> Array | None:
    """Return colours in 0..1; integers have 1 at the end of their range."""
    for names in _COLORS:
        values = _columns(element, names)
        if values is not None and np.isfinite(values).all():
            kind = np.dtype(element.types[names[0]])
            top = float(np.iinfo(kind).max) if kind.kind in "iu" else 1.0
            return np.clip(values / top, 0.0, 1.0)
    return None


def _attribute(values: Array | None, index_list: IntArray) -> Attribute | None:
    if values is None or not np.isfinite(values).all():
        return None
    return Attribute(values, index_list)


def _integers(values: NDArray[np.generic]) -> IntArray:
    """Return rows of points as integers; numbers that are none become -1 or rows beyond all."""
    limits = np.iinfo(np.int32)
    numbers = np.nan_to_num(values.astype(np.float64), nan=limits.max, posinf=limits.max)
    return np.clip(numbers, -1, limits.max).astype(np.int32)


def _texture(file: PlyFile, resources: MeshResources) -> Texture | None:
    for comment in file.comments:
        keyword, _, name = comment.partition(" ")
        if keyword.lower() == _TEXTURE and name.strip():
            path = resources.resolve(name.strip())
            return None if path is None else Texture(path)
    return None
