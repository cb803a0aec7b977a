"""Shapes of links as meshes for browsers, within limits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ..body import Link
from ..geometry import Attribute, Box, Color, IntArray, Material, Mesh, Shape, Texture
from ..rigid import Array
from ..shapes.measure import geometry_box
from ..shapes.tessellate import shape_mesh
from ..urdf.glb import EncodedImage, GlbFile, add_mesh, encoded_image, face_normals

MAX_TRIANGLES = 1_000_000  # of one robot; browsers without a GPU become slow at less
MAX_IMAGE_BYTES = 1 << 26  # of all textures of one robot
_MAX_NOTES = 100
_NOTHING = Mesh(np.empty((0, 3)), np.empty((0, 3), dtype=np.int32))


class ShapeMeshes:
    """Makes the meshes of the links of one robot.

    A shape beyond the limits is drawn as its bounding box, a texture beyond them or unreadable
    is left out.

    Attributes:
        notes: What is not drawn as in the model, as sentences.

    Args:
        max_triangles: Limit of the triangles of visual, and of collision shapes.
    """

    def __init__(self, max_triangles: int = MAX_TRIANGLES) -> None:
        self.notes: list[str] = []
        self._max_triangles = max_triangles
        self._left = {False: max_triangles, True: max_triangles}
        self._image_bytes_left = MAX_IMAGE_BYTES
        self._images: dict[Texture, EncodedImage | None] = {}

    def visual(self, link: Link) -> bytes | None:
        """Return the visual shapes of a link with their materials as GLB; None for no area."""
        file, is_drawn = GlbFile(), False
        for mesh, material in self._meshes(link, link.visual, solid=False):
            image = None
            if material.texture is not None and mesh.tex_coords is not None:
                image = self._image(link, material.texture)
            is_drawn |= add_mesh(file, _linear_mesh(mesh), _linear_material(material), image)
        return file.content() if is_drawn else None

    def collision(self, link: Link) -> tuple[Array, IntArray] | None:
        """Return vertices and triangles of the collision shapes of a link; None for no area."""
        return _joined([mesh for mesh, _ in self._meshes(link, link.collision, solid=True)])

    def _meshes(
        self, link: Link, shapes: tuple[Shape, ...], *, solid: bool
    ) -> Iterator[tuple[Mesh, Material]]:
        """Yield the shapes as meshes in the link's frame, with their materials."""
        for shape in shapes:
            yield self._mesh(link, shape, solid), shape.material

    def _mesh(self, link: Link, shape: Shape, solid: bool) -> Mesh:
        mesh = shape.geometry
        if isinstance(mesh, Mesh) and not _has_valid_indices(mesh):
            self._note(f"link '{link.name}': a mesh with invalid indices is not drawn")
            return _NOTHING
        if self._left[solid] <= 0:
            self._note(f"shapes beyond {self._max_triangles} triangles are not drawn")
            return _NOTHING
        if isinstance(mesh, Mesh) and len(mesh.triangles) > self._left[solid]:
            self._note(
                f"link '{link.name}': a mesh of {len(mesh.triangles)} triangles is drawn as a "
                f"box, as a page shows at most {self._max_triangles}"
            )
            shape = _bounding_shape(shape)
        made = shape_mesh(shape, solid=solid)
        self._left[solid] -= len(made.triangles)
        return made

    def _image(self, link: Link, texture: Texture) -> EncodedImage | None:
        where = f"link '{link.name}': texture '{texture.name}' is left out"
        if texture not in self._images:
            self._images[texture] = None
            try:
                self._images[texture] = encoded_image(texture)
            except OSError as error:
                self._note(f"{where}: {error}")
        image = self._images[texture]
        # An image that several shapes use is sent with each of them.
        if image is not None and len(image.data) > self._image_bytes_left:
            self._note(f"{where}, as a page has at most {MAX_IMAGE_BYTES >> 20} MiB of images")
            return None
        self._image_bytes_left -= 0 if image is None else len(image.data)
        return image

    def _note(self, note: str) -> None:
        if note not in self.notes and len(self.notes) < _MAX_NOTES:
            self.notes.append(note)


def outline(link: Link) -> tuple[Array, IntArray] | None:
    """Return vertices and triangles of a link's visual, else collision, shapes, as drawn."""
    meshes = ShapeMeshes()
    shapes = link.visual or link.collision
    return _joined([mesh for mesh, _ in meshes._meshes(link, shapes, solid=not link.visual)])


def _has_valid_indices(mesh: Mesh) -> bool:
    triangles = mesh.triangles
    return not triangles.size or (
        int(triangles.min()) >= 0 and int(triangles.max()) < len(mesh.vertices)
    )


def _bounding_shape(shape: Shape) -> Shape:
    box = geometry_box(shape.geometry)
    assert box is not None  # it has triangles
    T_FG = shape.T_FG.copy()
    T_FG[:3, 3] += T_FG[:3, :3] @ box.center
    return Shape(Box(2.0 * box.half), T_FG, replace(shape.material, texture=None), shape.name)


def _joined(meshes: list[Mesh]) -> tuple[Array, IntArray] | None:
    """Return vertices and triangles of all meshes, without those that have no area."""
    vertices: list[Array] = []
    triangles: list[IntArray] = []
    start = 0
    for mesh in meshes:
        valid = np.any(face_normals(mesh), axis=1)
        if valid.any():
            vertices.append(np.where(np.isfinite(mesh.vertices), mesh.vertices, 0.0))
            triangles.append(mesh.triangles[valid] + np.int32(start))
            start += len(mesh.vertices)
    if not vertices:
        return None
    return np.concatenate(vertices), np.concatenate(triangles)


def _linear_mesh(mesh: Mesh) -> Mesh:
    if mesh.colors is None:
        return mesh
    return replace(mesh, colors=Attribute(_linear(mesh.colors.values), mesh.colors.indices))


def _linear_material(material: Material) -> Material:
    """Return a material with linear colours, as glTF specifies and browsers expect."""

    def linear(color: Color) -> Color:
        r, g, b = _linear(np.array(color, dtype=np.float64)).tolist()
        return r, g, b

    return replace(
        material,
        diffuse=linear(material.diffuse),
        specular=linear(material.specular),
        emissive=linear(material.emissive),
    )


def _linear(srgb: Array) -> Array:
    """Return sRGB values as linear ones (IEC 61966-2-1)."""
    clipped = np.clip(np.nan_to_num(srgb), 0.0, 1.0)
    return np.where(clipped <= 0.04045, clipped / 12.92, ((clipped + 0.055) / 1.055) ** 2.4)
