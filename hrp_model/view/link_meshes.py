"""The shapes of a link as meshes that browsers draw, in the light of pages."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache

import numpy as np
from PIL import Image, ImageFilter

from ..body import Link
from ..geometry import Attribute, Box, Color, IntArray, Material, Mesh, Shape, Texture
from ..rigid import Array
from ..shapes.light import albedo, emission, encoded
from ..shapes.measure import geometry_box
from ..shapes.tessellate import shape_mesh
from ..urdf.glb import (
    EncodedImage,
    GlbFile,
    add_mesh,
    encoded_image,
    face_normals,
    select_triangles,
)

MAX_TRIANGLES = 1_000_000  # of one robot; browsers without a GPU become slow at less
MAX_IMAGE_BYTES = 1 << 26  # of all textures of one robot
_MAX_NOTES = 100
_LEVELS = 33  # of each channel in a table of colours
_NOTHING = Mesh(np.empty((0, 3)), np.empty((0, 3), dtype=np.int32))
_MIN_FACING = 0.9  # cosine of the angle between a direction and the faces towards it
_ENCODING: dict[str, dict[str, int]] = {
    "image/png": {"compress_level": 1},
    "image/jpeg": {"quality": 92},
}


class ShapeMeshes:
    """Makes the meshes of the links of one robot.

    A shape beyond the limits is drawn as its bounding box, a texture beyond them or unreadable
    is left out.

    Attributes:
        notes: What is not drawn as in the model, as sentences.

    Args:
        max_triangles: Limit of the triangles of visual, and of collision shapes.
        outer_walls: Shapes whose faces towards a direction in their link are not drawn, so that
            they hide nothing from a viewer on that side; from ``Extents.outer_walls``.
    """

    def __init__(
        self, max_triangles: int = MAX_TRIANGLES, outer_walls: Mapping[Shape, Array] | None = None
    ) -> None:
        self.notes: list[str] = []
        self._outer_walls = outer_walls or {}
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
            is_drawn |= add_mesh(file, _mesh_in_light(mesh), _material_in_light(material), image)
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
        outward = None if solid else self._outer_walls.get(shape)
        return made if outward is None else _without_faces(made, outward)

    def _image(self, link: Link, texture: Texture) -> EncodedImage | None:
        where = f"link '{link.name}': texture '{texture.name}' is left out"
        if texture not in self._images:
            self._images[texture] = None
            try:
                self._images[texture] = _image_in_light(encoded_image(texture))
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


def _without_faces(mesh: Mesh, outward: Array) -> Mesh:
    """Return a mesh without the triangles that face a direction, of which the rest is solid."""
    facing = face_normals(mesh) @ outward
    return replace(select_triangles(mesh, facing < _MIN_FACING), solid=True)


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


def _mesh_in_light(mesh: Mesh) -> Mesh:
    if mesh.colors is None:
        return mesh
    return replace(mesh, colors=Attribute(albedo(mesh.colors.values), mesh.colors.indices))


def _material_in_light(material: Material) -> Material:
    """Return a material with the colours that the light of pages needs; they are linear."""

    def color(rgb: Array) -> Color:
        r, g, b = rgb.tolist()
        return r, g, b

    return replace(
        material,
        diffuse=color(albedo(np.array(material.diffuse))),
        specular=color(np.clip(np.nan_to_num(np.array(material.specular)), 0.0, 1.0)),
        emissive=color(emission(np.array(material.emissive))),
    )


def _image_in_light(image: EncodedImage) -> EncodedImage:
    """Return an image with the colours that the light of pages needs, encoded as it was."""
    stream = io.BytesIO()
    with Image.open(io.BytesIO(image.data)) as pixels:
        pixels.filter(_albedos(image.colored)).save(
            stream, image.media_type.removeprefix("image/"), **_ENCODING[image.media_type]
        )
    return replace(image, data=stream.getvalue())


@cache
def _albedos(colored: bool) -> ImageFilter.Color3DLUT:
    """Return the table of sRGB values that browsers decode to albedos; red changes fastest.

    Grey images are multiplied with the albedo of the material.
    """
    levels = np.linspace(0.0, 1.0, _LEVELS)
    blue, green, red = np.meshgrid(levels, levels, levels, indexing="ij")
    found = albedo(np.stack([red, green, blue], axis=-1))
    values = encoded(found if colored else found / albedo(np.ones(3)))
    return ImageFilter.Color3DLUT(_LEVELS, values.ravel().tolist())
