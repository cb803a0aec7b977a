"""Mesh files that trimesh reads (glTF, PLY) to scenes."""

from __future__ import annotations

import io
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ...diagnostics import MissingLibraryError
from ...files.resources import MAX_FILE_SIZE, MAX_TEXT_SIZE, read_file
from ...geometry import Attribute, IntArray, Mesh, SceneNode, Shape
from ...reading import Reading
from ...rigid import Array
from .gltf_limits import check_gltf
from .mesh_resources import MeshResources
from .trimesh_materials import TrimeshMaterials

_MOST_PLY_TEXT = 1 << 24  # [B]; the loader takes fifty times as much
_PLY_HEADER = 1 << 16  # [B]; the format stands in the first lines


def read_with_trimesh(path: Path, reading: Reading) -> SceneNode:
    """Read the shapes of a mesh file through trimesh, in [m], with its colours and textures.

    Raises:
        OSError: The file cannot be read.
        ValueError: It is not what its suffix says, or holds nothing usable.
        MissingLibraryError: trimesh is not installed.
    """
    try:
        import trimesh
    except ImportError:
        message = "glTF and PLY files need trimesh (pip install trimesh)"
        raise MissingLibraryError(message) from None
    try:
        mesh_resources = MeshResources(path, reading)
        limit = MAX_TEXT_SIZE if path.suffix.lower() == ".gltf" else MAX_FILE_SIZE
        loaded = _loaded(read_file(path, limit), path, reading, mesh_resources)
        scene = loaded if isinstance(loaded, trimesh.Scene) else trimesh.Scene(loaded)
        file = _File(path, reading, scene, mesh_resources)
        node = file.node(scene.graph.base_frame)
    except (OSError, ValueError):
        raise
    except Exception as error:  # its many loaders raise whatever their parsers do
        raise ValueError(f"{type(error).__name__}: {error}") from error
    if not file.has_shapes:
        raise ValueError("it holds no triangle")
    return node


def _loaded(data: bytes, path: Path, reading: Reading, mesh_resources: MeshResources) -> Any:
    import trimesh  # it takes a third of a second, and most models need none of it

    suffix = path.suffix[1:].lower()
    if suffix in ("glb", "gltf"):
        check_gltf(data, mesh_resources, reading)
    elif suffix == "ply":
        _check_ply(data)
    with warnings.catch_warnings():  # of broken numbers; what is left of them is looked at
        warnings.simplefilter("ignore")
        return trimesh.load(
            io.BytesIO(data), file_type=suffix, resolver=mesh_resources, process=False
        )


def _check_ply(data: bytes) -> None:
    """Refuse a file that takes far more memory than it is long.

    Raises:
        ValueError: It is a long text, which the loader takes to pieces word by word.
    """
    if len(data) > _MOST_PLY_TEXT and b"format ascii" in data[:_PLY_HEADER]:
        size = _MOST_PLY_TEXT >> 20
        raise ValueError(f"it is text of more than {size} MiB; save it as a binary PLY file")


class _File:
    """Nodes and meshes of one file, each mesh converted once."""

    def __init__(
        self, path: Path, reading: Reading, scene: Any, mesh_resources: MeshResources
    ) -> None:
        self._path = path
        self._reading = reading
        self._scene = scene
        self._looks = TrimeshMaterials(path, reading, mesh_resources)
        self._shapes: dict[str, tuple[Shape, ...]] = {}
        self.has_shapes = False

    def node(self, name: str) -> SceneNode:
        """Return a node of the scene's tree with all below it."""
        forest = self._scene.graph.transforms
        children = []
        for child in forest.children.get(name, ()):
            matrix = forest.edge_data[(name, child)].get("matrix")
            T_PN = np.eye(4) if matrix is None else np.array(matrix, dtype=np.float64)
            children.append(replace(self.node(child), T_PN=T_PN))
        geometry = forest.node_data[name].get("geometry")
        if geometry is not None and geometry not in self._shapes:
            self._shapes[geometry] = self._converted(self._scene.geometry.get(geometry))
        shapes = self._shapes.get(geometry, ())
        self.has_shapes = self.has_shapes or bool(shapes)
        return SceneNode(name=str(name), shapes=shapes, children=tuple(children))

    def _converted(self, mesh: Any) -> tuple[Shape, ...]:
        if not len(getattr(mesh, "faces", ())):
            return ()
        vertices = np.asarray(mesh.vertices, dtype=np.float64)
        if vertices.ndim != 2 or vertices.shape[1] != 3:
            raise ValueError("its points have not three coordinates each")
        if not np.isfinite(vertices).all():
            raise ValueError("it holds coordinates that are no finite numbers")
        faces, kept = self._usable(np.asarray(mesh.faces, dtype=np.int64), len(vertices))
        if not len(faces):
            return ()
        material = self._looks.material(mesh.visual)
        given = "vertex_normals" in mesh._cache  # else asking for them would make some up
        normals = np.asarray(mesh.vertex_normals, dtype=np.float64) if given else None
        uv = getattr(mesh.visual, "uv", None) if material.texture is not None else None
        converted = Mesh(
            vertices,
            faces,
            normals=_per_vertex(normals, faces, (len(vertices), 3)),
            colors=self._looks.colors(mesh.visual, faces, kept, len(vertices)),
            tex_coords=_per_vertex(uv, faces, (len(vertices), 2)),
            solid=not self._looks.double_sided(mesh.visual),
        )
        return (Shape(converted, material=material),)

    def _usable(self, faces: IntArray, points: int) -> tuple[IntArray, IntArray]:
        """Return the faces whose corners exist, and which of all faces they are."""
        good = ((faces >= 0) & (faces < points)).all(axis=1)
        if not good.all():
            count = int(np.count_nonzero(~good))
            message = (
                f"{count} faces of '{self._path.name}' use points that do not exist;"
                " they are left out"
            )
            self._reading.diagnostics.warn("bad-index", message, self._reading.reference_span)
        kept = np.flatnonzero(good).astype(np.int32)
        return faces[kept].astype(np.int32), kept


def _per_vertex(values: Array | None, faces: IntArray, shape: tuple[int, int]) -> Attribute | None:
    """Return an attribute of one row for each vertex; None if it is not that."""
    if values is None or np.shape(values) != shape or not np.isfinite(values).all():
        return None
    return Attribute(np.array(values, dtype=np.float64), faces)
