"""Mesh files for a URDF: GLB for visual shapes, binary STL for collision shapes."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Hashable
from pathlib import Path

from ..body import Body, Link
from ..diagnostics import Diagnostics, Span
from ..files.writer import write_atomically
from ..geometry import Material, Shape, Texture
from ..shapes.tessellate import placed_mesh, placed_mesh_key
from .glb import EncodedImage, UpAxis, encoded_image, glb, stl
from .shapes import have_one_color, needs_mesh
from .to_urdf import MeshUris

_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]+")
_MAX_NAME = 100  # characters of a link's name; file systems allow 255 bytes


def write_meshes(
    body: Body,
    folder: Path,
    base_uri: str | None = None,
    diagnostics: Diagnostics | None = None,
    *,
    up: UpAxis = UpAxis.Z,
    final_folder: Path | None = None,
    capsules: bool = False,
    own_materials: bool = True,
) -> MeshUris:
    """Write a mesh file for each shape that is not a URDF primitive, and return their URIs.

    The visual primitives of a link with several colours are written, too, as RViz would draw
    them in one.

    Each shape has its own file and material; simulators that use the convex hull of a mesh,
    such as MuJoCo, use that of each shape. A file is named after its link and a hash of its
    content, so equal meshes share one file. Existing files are kept unless they are damaged:
    the folder may serve as a cache for many robots. Files are written atomically.

    Args:
        body: The robot.
        folder: Folder of the files; created if missing.
        base_uri: Prefix of the file names in the URDF, such as "package://my_robot/meshes";
            by default the ``file://`` URI of the folder.
        diagnostics: Receives warnings about unreadable textures; logged by default.
        up: Which axis of the GLB files is the URDF's z.
        final_folder: The folder that the files will be moved to, if it is another one; files
            that exist there are not written again.
        capsules: Whether the URDF has capsules, see ``UrdfVersion``.
        own_materials: Whether visual primitives are written where their link has several colours.

    Raises:
        OSError: The folder or a file cannot be written.
    """
    diagnostics = Diagnostics() if diagnostics is None else diagnostics
    folder = folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    base_uri = (base_uri or folder.as_uri()).rstrip("/")
    writer = _Writer((folder, final_folder or folder), base_uri, diagnostics, up)
    visual: dict[Shape, str] = {}
    collision: dict[Shape, str] = {}
    for link in body.links:
        as_meshes = own_materials and not have_one_color(link.visual)
        for shape in link.visual:
            is_mesh = as_meshes or needs_mesh(shape, solid=False, capsules=capsules)
            if is_mesh and (uri := writer.visual(shape, link)):
                visual[shape] = uri
        for shape in link.collision:
            if needs_mesh(shape, solid=True, capsules=capsules) and (
                uri := writer.collision(shape, link)
            ):
                collision[shape] = uri
    return MeshUris(visual, collision)


class _Writer:
    """Writes mesh files that neither of two folders has into the first one, each once."""

    def __init__(
        self, folders: tuple[Path, Path], base_uri: str, diagnostics: Diagnostics, up: UpAxis
    ) -> None:
        self._folders = folders
        self._base_uri = base_uri
        self._diagnostics = diagnostics
        self._up = up
        self._by_shape: dict[Hashable, str | None] = {}
        self._by_content: dict[tuple[bytes, str], str] = {}
        self._images: dict[Texture, EncodedImage | None] = {}

    def visual(self, shape: Shape, link: Link) -> str | None:
        """Write a visual shape and return its URI; None if it has no area."""

        def content() -> bytes | None:
            mesh, material = placed_mesh(shape, solid=False), shape.material
            image = self._image(material, link.at) if mesh.tex_coords is not None else None
            return glb(mesh, material, image, self._up)

        return self._cached((*placed_mesh_key(shape), shape.material), link, ".glb", content)

    def collision(self, shape: Shape, link: Link) -> str | None:
        """Write a collision shape and return its URI; None if it has no area."""
        return self._cached(
            placed_mesh_key(shape), link, ".stl", lambda: stl(placed_mesh(shape, solid=True))
        )

    def _cached(
        self,
        key: tuple[Hashable, ...],
        link: Link,
        suffix: str,
        content: Callable[[], bytes | None],
    ) -> str | None:
        key = (*key, suffix)
        if key not in self._by_shape:
            data = content()
            self._by_shape[key] = None if data is None else self._write(data, link.name, suffix)
        return self._by_shape[key]

    def _write(self, data: bytes, link: str, suffix: str) -> str:
        digest = hashlib.blake2b(data, digest_size=8).digest()
        key = digest, suffix
        if key not in self._by_content:
            base = _UNSAFE.sub("_", link)[:_MAX_NAME]
            name = f"{base}-{digest.hex()}{suffix}"
            if not any(_has_content(folder / name, data) for folder in self._folders):
                write_atomically(self._folders[0] / name, data)
            self._by_content[key] = f"{self._base_uri}/{name}"
        return self._by_content[key]

    def _image(self, material: Material, at: Span | None) -> EncodedImage | None:
        texture = material.texture
        if texture is None:
            return None
        if texture not in self._images:
            try:
                self._images[texture] = encoded_image(texture)
            except OSError as error:
                self._images[texture] = None
                message = f"texture '{texture.name}' is left out: {error}"
                self._diagnostics.warn("unreadable-texture", message, at)
        return self._images[texture]


def _has_content(path: Path, data: bytes) -> bool:
    """Return whether a file exists and has this content."""
    try:
        return path.stat().st_size == len(data) and path.read_bytes() == data
    except OSError:
        return False
