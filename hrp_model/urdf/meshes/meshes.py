"""Mesh files for a URDF: GLB for what is seen, binary STL for what touches."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Hashable
from pathlib import Path

from ...body import Body, Link
from ...diagnostics import Diagnostics, Span
from ...files.writer import write_atomically
from ...geometry import Material, Shape, Texture
from ...shapes.tessellate import placed_mesh, placed_mesh_key
from ..shapes import needs_mesh
from ..to_urdf import MeshUris
from .glb import UpAxis, glb
from .stl import stl
from .texture_images import EncodedImage, encoded_image

__all__ = ["UpAxis", "write_meshes"]

_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]+")
_LONGEST_NAME = 100  # of a link; file systems take 255 bytes


def write_meshes(
    body: Body,
    folder: Path,
    base_uri: str | None = None,
    diagnostics: Diagnostics | None = None,
    *,
    up: UpAxis = UpAxis.Z,
    final_folder: Path | None = None,
) -> MeshUris:
    """Write the shapes that URDF has no primitive for, and return where they are.

    Each shape is a file of its own: viewers then know its material and users its part, and
    simulators that touch the hull of a mesh, such as MuJoCo, touch that of the shape. A file
    is named after its link and its content, so equal meshes share one file, and a file that
    is there already is kept, unless it is damaged: the folder may serve as a cache for many
    robots. Each is written whole before it gets its name.

    Args:
        body: The robot.
        folder: Where the files go; made if missing.
        base_uri: What stands before the file names in the URDF, such as
            "package://my_robot/meshes"; by default the ``file://`` URI of the folder.
        diagnostics: Where warnings about unreadable textures go; logged by default.
        up: Which axis of the GLB files is the URDF's z.
        final_folder: Where the files will be moved to, if that is another folder; what is
            there already is not written again.

    Raises:
        OSError: The folder or a file cannot be written.
    """
    diagnostics = Diagnostics() if diagnostics is None else diagnostics
    folder = folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    uri = (base_uri or folder.as_uri()).rstrip("/")
    writer = _Writer((folder, final_folder or folder), uri, diagnostics, up)
    visual: dict[Shape, str] = {}
    collision: dict[Shape, str] = {}
    for link in body.links:
        for shape in link.visual:
            if needs_mesh(shape, solid=False):
                _note(visual, shape, writer.visual(shape, link))
        for shape in link.collision:
            if needs_mesh(shape, solid=True):
                _note(collision, shape, writer.collision(shape, link))
    return MeshUris(visual, collision)


def _note(uris: dict[Shape, str], shape: Shape, uri: str | None) -> None:
    """Remember the URI of a shape, unless there is nothing to see or touch."""
    if uri is not None:
        uris[shape] = uri


class _Writer:
    """Writes meshes into the first of two folders, each once, and what neither has."""

    def __init__(
        self, folders: tuple[Path, Path], base_uri: str, diagnostics: Diagnostics, up: UpAxis
    ) -> None:
        self._folders = folders
        self._base_uri = base_uri
        self._diagnostics = diagnostics
        self._up = up
        self._by_shape: dict[Hashable, str | None] = {}
        self._by_content: dict[tuple[bytes, str], str] = {}
        self._pictures: dict[Texture, EncodedImage | None] = {}

    def visual(self, shape: Shape, link: Link) -> str | None:
        """Write what is seen of a shape; None if there is nothing."""

        def content() -> bytes | None:
            mesh, material = placed_mesh(shape, solid=False), shape.material
            picture = self._picture(material, link.at) if mesh.tex_coords is not None else None
            return glb(mesh, material, picture, self._up)

        return self._once((*placed_mesh_key(shape), shape.material), link, ".glb", content)

    def collision(self, shape: Shape, link: Link) -> str | None:
        """Write what touches of a shape; None if there is nothing."""
        return self._once(
            placed_mesh_key(shape), link, ".stl", lambda: stl(placed_mesh(shape, solid=True))
        )

    def _once(
        self,
        key: tuple[Hashable, ...],
        link: Link,
        suffix: str,
        content: Callable[[], bytes | None],
    ) -> str | None:
        key = (*key, suffix)
        if key not in self._by_shape:
            data = content()
            self._by_shape[key] = None if data is None else self._file(data, link.name, suffix)
        return self._by_shape[key]

    def _file(self, data: bytes, link: str, suffix: str) -> str:
        digest = hashlib.blake2b(data, digest_size=8).digest()
        key = digest, suffix
        if key not in self._by_content:
            base = _UNSAFE.sub("_", link)[:_LONGEST_NAME]
            name = f"{base}-{digest.hex()}{suffix}"
            if not any(_holds(folder / name, data) for folder in self._folders):
                write_atomically(self._folders[0] / name, data)
            self._by_content[key] = f"{self._base_uri}/{name}"
        return self._by_content[key]

    def _picture(self, material: Material, at: Span | None) -> EncodedImage | None:
        texture = material.texture
        if texture is None:
            return None
        if texture not in self._pictures:
            try:
                self._pictures[texture] = encoded_image(texture)
            except OSError as error:
                self._pictures[texture] = None
                message = f"texture '{texture.name}' is left out: {error}"
                self._diagnostics.warn("unreadable-texture", message, at)
        return self._pictures[texture]


def _holds(path: Path, data: bytes) -> bool:
    """Tell whether there is a file with this content."""
    try:
        return path.stat().st_size == len(data) and path.read_bytes() == data
    except OSError:
        return False
