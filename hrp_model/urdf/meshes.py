"""Mesh files for a URDF: GLB for what is seen, binary STL for what touches."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import trimesh
from PIL import Image

from ..body import Body
from ..diagnostics import Diagnostics, Span
from ..files import write_whole
from ..geometry import Attribute, Material, Mesh, Shape, Texture
from ..images import texture_image
from .glb import glb
from .shapes import is_empty, needs_mesh, placed_mesh
from .to_urdf import MeshUris

# Part of every file's name, so that a changed exporter never finds its old files.
_FORMAT = b"hrp_ros 1"
_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]+")


def write_meshes(
    body: Body,
    folder: Path,
    base_uri: str | None = None,
    diagnostics: Diagnostics | None = None,
) -> MeshUris:
    """Write the shapes that URDF has no primitive for, and return where they are.

    A file is named after its link and its content, so equal meshes share one file, and a
    file that is there already is kept: the folder may serve as a cache for many robots.
    Each is written whole before it gets its name.

    Args:
        body: The robot.
        folder: Where the files go; made if missing.
        base_uri: What stands before the file names in the URDF, such as
            "package://my_robot/meshes"; by default the ``file://`` URI of the folder.
        diagnostics: Where warnings about unreadable textures go; logged by default.

    Raises:
        OSError: The folder or a file cannot be written.
    """
    diagnostics = Diagnostics() if diagnostics is None else diagnostics
    folder = folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    writer = _Writer(folder, (base_uri or folder.as_uri()).rstrip("/"), diagnostics)
    visual: dict[Shape, str] = {}
    collision: dict[Shape, str] = {}
    for link in body.links:
        for shape in link.visual:
            if needs_mesh(shape, solid=False) and not is_empty(shape):
                visual[shape] = writer.visual(shape, link.name, link.at)
        for shape in link.collision:
            if needs_mesh(shape, solid=True) and not is_empty(shape):
                collision[shape] = writer.collision(shape, link.name)
    return MeshUris(visual, collision)


class _Writer:
    """Writes meshes into one folder, each once."""

    def __init__(self, folder: Path, base_uri: str, diagnostics: Diagnostics) -> None:
        self._folder = folder
        self._base_uri = base_uri
        self._diagnostics = diagnostics
        self._uris: dict[str, str] = {}
        self._images: dict[Texture, Image.Image | None] = {}

    def visual(self, shape: Shape, link: str, at: Span | None) -> str:
        mesh, material = placed_mesh(shape, solid=False), shape.material
        image = self._image(material, at) if mesh.tex_coords is not None else None
        digest = _digest(mesh, _material_key(material, image))
        return self._file(link, digest, ".glb", lambda: glb(mesh, material, image))

    def collision(self, shape: Shape, link: str) -> str:
        mesh = placed_mesh(shape, solid=True)
        bare = Mesh(mesh.vertices, mesh.triangles)
        return self._file(link, _digest(bare, b""), ".stl", lambda: _stl(bare))

    def _file(self, link: str, digest: str, suffix: str, content: Callable[[], bytes]) -> str:
        key = digest + suffix
        if key not in self._uris:
            name = f"{_UNSAFE.sub('_', link)}-{digest[:16]}{suffix}"
            path = self._folder / name
            if not path.is_file():
                write_whole(path, content())
            self._uris[key] = f"{self._base_uri}/{name}"
        return self._uris[key]

    def _image(self, material: Material, at: Span | None) -> Image.Image | None:
        texture = material.texture
        if texture is None:
            return None
        if texture not in self._images:
            try:
                self._images[texture] = texture_image(texture)
            except OSError as error:
                self._images[texture] = None
                message = f"texture '{texture.name}' is left out: {error}"
                self._diagnostics.warn("unreadable-texture", message, at)
        return self._images[texture]


def _digest(mesh: Mesh, looks: bytes) -> str:
    digest = hashlib.sha256(_FORMAT)
    for array in (mesh.vertices, mesh.triangles):
        digest.update(repr(array.shape).encode() + np.ascontiguousarray(array).tobytes())
    for attribute in (mesh.normals, mesh.colors, mesh.tex_coords):
        digest.update(b"-" if attribute is None else _attribute_key(attribute))
    digest.update(repr((mesh.crease_angle, mesh.solid)).encode())
    digest.update(looks)
    return digest.hexdigest()


def _attribute_key(attribute: Attribute) -> bytes:
    rows = np.ascontiguousarray(attribute.values[attribute.indices], dtype=np.float64)
    return repr(rows.shape).encode() + rows.tobytes()


def _material_key(material: Material, image: Image.Image | None) -> bytes:
    texture = material.texture
    if texture is None or image is None:
        return repr(replace(material, texture=None)).encode()
    look = replace(material, texture=replace(texture, path=Path(), image=None))
    return repr((look, image.mode, image.size)).encode() + image.tobytes()


def _stl(mesh: Mesh) -> bytes:
    solid = trimesh.Trimesh(vertices=mesh.vertices, faces=mesh.triangles, process=False)
    data: bytes = trimesh.exchange.stl.export_stl(solid)
    return data
