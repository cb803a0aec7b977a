"""Read mesh files as scenes by trimesh (glTF, PLY)."""

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

_MAX_PLY_TEXT = 1 << 24  # [B]; the loader takes fifty times as much memory
_PLY_HEADER = 1 << 16  # [B] that are searched for the format


def read_with_trimesh(path: Path, reading: Reading) -> SceneNode:
    """Read the shapes of a mesh file by trimesh, in [m], with its colours and textures.

    Raises:
        OSError: The file cannot be read.
        ValueError: It does not have the format of its suffix, or has no triangles.
        MissingLibraryError: trimesh is not installed.
    """
    try:
        import trimesh
    except ImportError:
        message = "glTF and PLY files need trimesh: pip install trimesh"
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
    except Exception as error:  # its loaders raise any kind of error for broken files
        raise ValueError(f"{type(error).__name__}: {error}") from error
    if not file.has_shapes:
        raise ValueError("it contains no triangle")
    return node


def _loaded(data: bytes, path: Path, reading: Reading, mesh_resources: MeshResources) -> Any:
    import trimesh  # slow to import, and few models need it

    suffix = path.suffix[1:].lower()
    if suffix in ("glb", "gltf"):
        check_gltf(data, mesh_resources, reading)
    elif suffix == "ply":
        _check_ply(data)
    with warnings.catch_warnings():  # about invalid numbers, which are checked afterwards
        warnings.simplefilter("ignore")
        return trimesh.load(
            io.BytesIO(data), file_type=suffix, resolver=mesh_resources, process=False
        )


def _check_ply(data: bytes) -> None:
    """Raise for a long text file, for which the loader needs far more memory than its size.

    Raises:
        ValueError: It is a text file above the limit.
    """
    if len(data) > _MAX_PLY_TEXT and b"format ascii" in data[:_PLY_HEADER]:
        size = _MAX_PLY_TEXT >> 20
        raise ValueError(f"it is a text file larger than {size} MiB; save it as binary PLY")


class _File:
    """Converts the nodes and meshes of one file, each mesh once."""

    def __init__(
        self, path: Path, reading: Reading, scene: Any, mesh_resources: MeshResources
    ) -> None:
        self._path = path
        self._reading = reading
        self._scene = scene
        self._materials = TrimeshMaterials(path, reading, mesh_resources)
        self._shapes: dict[str, tuple[Shape, ...]] = {}
        self.has_shapes = False

    def node(self, name: str) -> SceneNode:
        """Return a node of the scene with all its descendants."""
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
            raise ValueError("its points do not have three coordinates each")
        if not np.isfinite(vertices).all():
            raise ValueError("it has coordinates that are not finite")
        faces, kept = self._usable(np.asarray(mesh.faces, dtype=np.int64), len(vertices))
        if not len(faces):
            return ()
        material = self._materials.material(mesh.visual)
        given = "vertex_normals" in mesh._cache  # else the property would compute them
        normals = np.asarray(mesh.vertex_normals, dtype=np.float64) if given else None
        uv = getattr(mesh.visual, "uv", None) if material.texture is not None else None
        converted = Mesh(
            vertices,
            faces,
            normals=_per_vertex(normals, faces, (len(vertices), 3)),
            colors=self._materials.colors(mesh.visual, faces, kept, len(vertices)),
            tex_coords=_per_vertex(uv, faces, (len(vertices), 2)),
            solid=not self._materials.double_sided(mesh.visual),
        )
        return (Shape(converted, material=material),)

    def _usable(self, faces: IntArray, points: int) -> tuple[IntArray, IntArray]:
        """Return the faces whose corners exist, and their indices among all faces."""
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
    """Return an attribute with one row per vertex; None if the values do not have that shape."""
    if values is None or np.shape(values) != shape or not np.isfinite(values).all():
        return None
    return Attribute(np.array(values, dtype=np.float64), faces)
