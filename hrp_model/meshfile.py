"""Mesh files to scenes: STL by itself, COLLADA by its reader, others through trimesh."""

from __future__ import annotations

import struct
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from . import collada_file
from .geometry import Attribute, Material, Mesh, SceneNode, Shape
from .reading import Reading
from .rigid import Array

# An STL triangle: normal and three corners as floats, and two unused bytes.
_TRIANGLE = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("unused", "<u2")])
_HEADER = 84
# For files that say nothing of looks.
GREY = Material(diffuse=(0.8, 0.8, 0.8), ambient=1.0)


def read_scene(path: Path, reading: Reading) -> SceneNode:
    """Read the shapes of a mesh file, in [m].

    A file's own unit is converted; its upper axis is left as it is, so that a part
    lies as its numbers say.

    Raises:
        OSError: The file cannot be read.
        ValueError: It is not what its suffix says, or holds nothing usable.
    """
    if path.suffix.lower() == ".stl":
        return SceneNode(shapes=(Shape(read_stl(path.read_bytes()), material=GREY),))
    if path.suffix.lower() == ".dae":
        return collada_file.read_collada(path, reading)
    return _trimesh_scene(path, reading)


def read_stl(data: bytes) -> Mesh:
    """Return the triangles of an STL file, text or binary, equal corners joined.

    The normals in the file are not used: a mesh's faces tell them better.

    Raises:
        ValueError: The data is no STL file, or holds no triangle.
    """
    corners = _binary_corners(data)
    if corners is None:
        corners = _text_corners(data)
    if not len(corners):
        raise ValueError("it holds no triangle")
    if not np.isfinite(corners).all():
        raise ValueError("it holds coordinates that are no finite numbers")
    # Equal bits are equal corners: one sort of plain bytes instead of one per coordinate.
    single = np.ascontiguousarray(corners, dtype=np.float32) + np.float32(0.0)  # no -0.0
    rows = single.reshape(-1, 3).view(np.dtype((np.void, 12))).ravel()
    _, first, inverse = np.unique(rows, return_index=True, return_inverse=True)
    vertices = single.reshape(-1, 3)[first].astype(np.float64)
    return Mesh(vertices, inverse.reshape(-1, 3).astype(np.int32))


def _binary_corners(data: bytes) -> Array | None:
    """Return corners of shape (3 m, 3), or None for data that must be text."""
    if len(data) < _HEADER:
        return None
    (count,) = struct.unpack_from("<I", data, 80)
    fits = len(data) - _HEADER >= count * _TRIANGLE.itemsize
    # Binary files may begin with "solid" too; their size tells them apart.
    if len(data) - _HEADER != count * _TRIANGLE.itemsize:
        if data[:80].lstrip().lower().startswith(b"solid") and b"facet" in data[:4096].lower():
            return None
        if not fits:
            raise ValueError(f"it promises {count} triangles, but ends too early")
    triangles = np.frombuffer(data, dtype=_TRIANGLE, count=count, offset=_HEADER)
    corners: Array = triangles["corners"].reshape(-1, 3)
    return corners


def _text_corners(data: bytes) -> Array:
    words = data.lower().split()
    at = [i for i, word in enumerate(words) if word == b"vertex"]
    if len(at) % 3 or not words or words[0] != b"solid":
        raise ValueError("it is neither a binary nor a text STL file")
    try:
        return np.array([[float(w) for w in words[i + 1 : i + 4]] for i in at]).reshape(-1, 3)
    except ValueError:
        raise ValueError("a vertex has coordinates that are no numbers") from None


def _trimesh_scene(path: Path, reading: Reading) -> SceneNode:
    import trimesh  # it takes a third of a second, and most models need none of it

    try:
        loaded = trimesh.load(path, process=False)
        scene = loaded if isinstance(loaded, trimesh.Scene) else trimesh.Scene(loaded)
        node = _node(scene, scene.graph.base_frame)
    except (OSError, ValueError):
        raise
    except Exception as error:  # its many loaders raise whatever their parsers do
        raise ValueError(f"{type(error).__name__}: {error}") from error
    if not node.flattened():
        raise ValueError("it holds no triangle")
    if any("Texture" in type(g.visual).__name__ for g in scene.geometry.values()):
        message = f"'{path.name}': images inside a mesh file are not drawn, only its colours"
        reading.diagnostics.note("texture-left-out", message)
    return node


def _node(scene: Any, name: str) -> SceneNode:
    forest = scene.graph.transforms
    geometry = forest.node_data[name].get("geometry")
    mesh = scene.geometry.get(geometry)
    children = []
    for child in forest.children.get(name, ()):
        matrix = forest.edge_data[(name, child)].get("matrix")
        node = _node(scene, child)
        children.append(replace(node, T_PN=np.eye(4) if matrix is None else np.array(matrix)))
    shapes = (_shape(mesh),) if len(getattr(mesh, "faces", ())) else ()
    return SceneNode(name=str(name), shapes=shapes, children=tuple(children))


def _shape(mesh: Any) -> Shape:
    faces = np.asarray(mesh.faces, dtype=np.int32)
    vertices = np.asarray(mesh.vertices, dtype=np.float64)
    if not np.isfinite(vertices).all():
        raise ValueError("it holds coordinates that are no finite numbers")
    given = "vertex_normals" in mesh._cache  # else asking for them would make some up
    normals = Attribute(np.array(mesh.vertex_normals), faces) if given else None
    colors = None
    if mesh.visual.kind == "vertex":
        colors = Attribute(np.asarray(mesh.visual.vertex_colors)[:, :3] / 255.0, faces)
    return Shape(
        Mesh(vertices, faces, normals=normals, colors=colors), material=_material(mesh.visual)
    )


def _material(visual: Any) -> Material:
    """Return the main colour of a trimesh visual; its textures are no files."""
    color = getattr(getattr(visual, "material", None), "main_color", None)
    if color is None:
        return GREY
    r, g, b, a = (float(c) / 255.0 for c in np.asarray(color, dtype=np.float64).ravel()[:4])
    return replace(GREY, diffuse=(r, g, b), transparency=1.0 - a)
