"""The shapes of all bodies as vertex arrays, in few batches. Does not call OpenGL."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from hrp_model import Body, Diagnostics
from hrp_model.devices import Light
from hrp_model.geometry import Material, Mesh, Shape, Texture
from hrp_model.late_dataclass import dataclass
from hrp_model.shapes.images import texture_image
from hrp_model.shapes.measure import OrientedBox, box_around, used_vertices
from hrp_model.shapes.meshing import corner_normals
from hrp_model.shapes.tessellate import drawn_mesh, transformed, transformed_coords

from .lights import SceneLight, light_error
from .shaders import MAX_LIGHTS, curved_surfaces

# More boxes are sorted by distance only, since comparing all pairs would take too long.
MAX_COMPARED = 128


def back_to_front(boxes: Sequence[OrientedBox]) -> list[int]:
    """Return the order in which to draw the contents of boxes, from back to front.

    If a plane along a face of one of two boxes separates them, the box on the side of the camera
    is in front, whatever the distances of their centres. If there is no such plane, the box with
    the nearer centre counts as in front.

    Args:
        boxes: In the camera frame.
    """
    distances = np.array([float(np.linalg.norm(box.center)) for box in boxes])
    by_distance = np.argsort(-distances, kind="stable")
    if not 1 < len(boxes) <= MAX_COMPARED:
        return [int(i) for i in by_distance]
    # Next is the farthest of those that hide none of the rest.
    hides = _hides(boxes)
    hidden = hides.sum(axis=1)  # number of the rest that each of them hides
    rest = [int(i) for i in by_distance]
    order: list[int] = []
    while rest:
        order.append(next((i for i in rest if not hidden[i]), rest[0]))
        rest.remove(order[-1])
        hidden -= hides[:, order[-1]]
    return order


def _hides(boxes: Sequence[OrientedBox]) -> NDArray[np.bool_]:
    """Return whether box i can hide box j but not the other way round, shape (n, n)."""
    n = len(boxes)
    centers, axes, halves = (np.stack(parts) for parts in zip(*boxes, strict=True))
    # Along each axis of box i, as [i, axis, j]: centre of box j and half its extent.
    rows = axes.swapaxes(1, 2).reshape(-1, 3)
    middle = (rows @ centers.T).reshape(n, 3, n)
    edges = np.abs(rows @ (rows * halves.reshape(-1, 1)).T).reshape(n, 3, n, 3)
    half = edges[..., 0] + edges[..., 1] + edges[..., 2]
    own = np.einsum("iki->ik", middle)[..., np.newaxis]
    face = halves[..., np.newaxis]
    tolerance = 1e-6 * (1.0 + halves.max())
    above = middle - half >= own + face - tolerance
    below = middle + half <= own - face + tolerance
    # A box on the same side of such a plane as the camera, at 0, is not hidden by the other.
    i_is_not = ((above & (own + face >= 0.0)) | (below & (own - face <= 0.0))).any(axis=1)
    j_is_not = ((above & (own + face < 0.0)) | (below & (own - face > 0.0))).any(axis=1)
    not_hidden: NDArray[np.bool_] = i_is_not | j_is_not.T
    return not_hidden & ~not_hidden.T


# Larger images of textures are scaled down: more than cameras of robots can resolve.
MAX_TEXTURE_SIDE = 4096


# An image with at most this share of partly transparent pixels has holes with smooth edges.
_MAX_EDGE_SHARE = 0.1
_OPACITY_TOLERANCE = 8  # of 255
# Names and formats as in the vertex shader.
VERTEX = np.dtype(
    [
        ("position", "f4", 3),
        ("normal", "f4", 3),
        ("color", "f4", 3),
        ("uv", "f4", 2),
        ("ids", "u4", 3),
    ]
)
# Bound on lengths [m], colours and other numbers of a shape or texture.
_MAX_VALUE = 1e6
# Limits of some gigabytes, so that a model cannot exhaust the memory.
MAX_TRIANGLES = 2**24
MAX_TEXELS = 2**29


@dataclass(frozen=True, slots=True, eq=False)
class TextureImage:
    """The pixels of a texture.

    Attributes:
        size: Width and height.
        components: 1 grey, 2 grey and opacity, 3 RGB, 4 RGB and opacity.
        data: Rows from the bottom to the top, like texture coordinates. Colours are premultiplied
            with their opacity, so that colours of transparent pixels do not show at edges.
        repeat: Along s and t.
        cut_out: Whether pixels are either opaque or transparent, except at edges.
    """

    size: tuple[int, int]
    components: int
    data: bytes
    repeat: tuple[bool, bool]
    cut_out: bool

    @property
    def grey(self) -> bool:
        """Whether it scales the diffuse colour instead of replacing it."""
        return self.components < 3

    @property
    def see_through(self) -> bool:
        """Whether it has transparent parts."""
        return self.components in (2, 4)


def read_texture(texture: Texture) -> TextureImage:
    """Read the image of a texture.

    Raises:
        OSError: The file does not exist, or cannot be read as an image.
    """
    transform = *texture.center, texture.rotation, *texture.scale, *texture.translation
    if not all(abs(x) <= _MAX_VALUE for x in transform):
        raise OSError(f"the numbers of its texture transform must be within +-{_MAX_VALUE:g}")
    image = texture_image(texture)
    image.thumbnail((MAX_TEXTURE_SIDE, MAX_TEXTURE_SIDE))
    image = image.transpose(Image.Transpose.FLIP_TOP_BOTTOM)
    cut_out = False
    if image.mode in ("LA", "RGBA"):
        opacity = np.asarray(image.getchannel("A"))
        is_partial = (opacity >= _OPACITY_TOLERANCE) & (opacity <= 255 - _OPACITY_TOLERANCE)
        cut_out = bool(is_partial.mean() <= _MAX_EDGE_SHARE)
        is_opaque = bool(opacity.min() > 255 - _OPACITY_TOLERANCE)
        image = image.convert(image.mode[:-1] if is_opaque else image.mode[:-1] + "a")
    data = image.tobytes()
    return TextureImage(image.size, len(image.getbands()), data, texture.repeat, cut_out)


def describe(texture: Texture, error: OSError) -> str:
    """Return the message about a texture that could not be read."""
    return f"texture '{texture.path or texture.name}' cannot be read and is left out: {error}"


class Chunk(NamedTuple):
    """The part of a batch that belongs to one shape.

    Attributes:
        link: Row of the link among all links of the scene.
        box: Bounding box of its vertices, in the link frame.
        first: Position of its first index.
        length: Number of its indices.
    """

    link: int
    box: OrientedBox
    first: int
    length: int


@dataclass(frozen=True, eq=False)
class Batch:
    """Triangles that are drawn by one call.

    Attributes:
        texture: Its image, or None.
        solid: Whether back faces are culled.
        transparent: Whether it is blended over what is behind it.
        cut_out: Whether pixels of its texture that are not opaque are discarded.
        curved: Whether some of its triangles approximate curved surfaces.
        shiny: Whether it has highlights.
        vertices: Of dtype VERTEX.
        indices: Of the corners of the triangles, dtype uint32.
        chunks: The shapes of a transparent batch, which are drawn from back to front.
    """

    texture: TextureImage | None
    solid: bool
    transparent: bool
    cut_out: bool
    curved: bool
    shiny: bool
    vertices: NDArray[np.void]
    indices: NDArray[np.uint32]
    chunks: tuple[Chunk, ...]


@dataclass(frozen=True, eq=False)
class Scene:
    """All visible shapes and all lights.

    Attributes:
        first_links: Row of each body's first link, by the body's name.
        link_count: Number of links of all bodies.
        materials: (emissive, ambient intensity), (specular, exponent), (opacity, 0, 0, 0) of
            each material, shape (materials, 3, 4).
        surfaces: From ``curved_surfaces``; the first one represents flat surfaces. Shape (surfaces,
            4, 4).
        batches: Opaque ones first.
        lights: Of all bodies, whether they are on or not.
    """

    first_links: Mapping[str, int]
    link_count: int
    materials: NDArray[np.float32]
    surfaces: NDArray[np.float32]
    batches: tuple[Batch, ...]
    lights: tuple[SceneLight, ...]


def build_scene(bodies: Mapping[str, Body], diagnostics: Diagnostics) -> Scene:
    """Return the scene of bodies by name.

    Textures, shapes and lights that are invalid or exceed the limits are left out with a warning.
    """
    builder = _Builder(diagnostics)
    first_links: dict[str, int] = {}
    lights: list[SceneLight] = []
    row = 0
    for name, body in bodies.items():
        first_links[name] = row
        lights += _lights(name, body, row, diagnostics)
        for link in body.links:
            for shape in link.visual:
                if error := builder.add(row, shape):
                    message = f"body '{name}', link '{link.name}': a shape is not drawn: {error}"
                    diagnostics.warn("undrawable-shape", message, link.at)
            row += 1
    batches = sorted(builder.batches(), key=lambda batch: batch.transparent)
    if len(lights) > MAX_LIGHTS:
        message = (
            f"of {len(lights)} lights only the {MAX_LIGHTS} brightest that are on are rendered"
        )
        diagnostics.warn("too-many-lights", message)
    tables = builder.materials(), builder.surfaces()
    return Scene(first_links, row, *tables, tuple(batches), tuple(lights))


def _lights(name: str, body: Body, row: int, diagnostics: Diagnostics) -> Iterator[SceneLight]:
    """Yield the valid lights of a body whose first link has this row."""
    for device in body.devices:
        if not isinstance(device, Light):
            continue
        if error := light_error(device):
            message = f"'{device.name}' of body '{name}' is left out: {error}"
            diagnostics.warn("unusable-device", message, device.at)
        else:
            yield SceneLight(name, row + body.link_index(device.link), device)


class _Kind(NamedTuple):
    texture: TextureImage | None
    solid: bool
    transparent: bool
    cut_out: bool
    curved: bool
    shiny: bool


@dataclass
class _Parts:
    vertices: list[NDArray[np.void]] = field(default_factory=list)
    indices: list[NDArray[np.uint32]] = field(default_factory=list)
    chunks: list[Chunk] = field(default_factory=list)
    vertex_count: int = 0
    index_count: int = 0


class _Builder:
    """Sorts shapes into batches, materials and textures into tables."""

    def __init__(self, diagnostics: Diagnostics) -> None:
        self._diagnostics = diagnostics
        self._parts: dict[_Kind, _Parts] = {}
        self._materials: dict[tuple[float, ...], int] = {}
        self._textures: dict[Texture, TextureImage | None] = {}
        self._surfaces: list[NDArray[np.float32]] = [np.zeros((1, 4, 4), np.float32)]
        self._surface_count = 1
        self._triangles_left = MAX_TRIANGLES
        self._texels_left = MAX_TEXELS

    def add(self, link: int, shape: Shape) -> str:
        """Add a shape of the link in this row; return why it cannot be drawn, or ""."""
        with np.errstate(all="ignore"):  # the results of invalid numbers are checked at the end
            return self._add(link, shape)

    def _add(self, link: int, shape: Shape) -> str:
        material = shape.material
        if material.transparency >= 1.0:
            return ""
        if not _is_material_in_range(material):
            return f"the numbers of its material must be within +-{_MAX_VALUE:g}"
        if isinstance(shape.geometry, Mesh) and not _has_valid_indices(shape.geometry):
            return "its triangles refer to vertices, normals or colours that do not exist"
        mesh_G = drawn_mesh(shape)
        mesh = transformed(mesh_G, shape.T_FG)
        if not len(mesh.triangles):
            return ""
        if len(mesh.triangles) > self._triangles_left:
            return f"it brings the scene above {MAX_TRIANGLES} triangles"
        texture = self._texture(material.texture) if mesh.tex_coords is not None else None
        ids = np.zeros((len(mesh.triangles), 3), np.uint32)
        ids[:] = link, self._material(material), 0
        ids[:, 2] = self._curved(shape, mesh_G, mesh)
        vertices, indices = _vertices(mesh, material, ids, textured=texture is not None)
        if not _are_in_range(vertices):
            return f"its coordinates and colours must be within +-{_MAX_VALUE:g}"
        self._triangles_left -= len(mesh.triangles)
        kind = _kind(texture, mesh.solid, material, bool(ids[:, 2].any()))
        parts = self._parts.setdefault(kind, _Parts())
        if kind.transparent:
            corners = used_vertices(mesh)
            box = box_around(corners, shape.T_FG[:3, :3])
            parts.chunks.append(Chunk(link, box, parts.index_count, len(indices)))
        parts.vertices.append(vertices)
        parts.indices.append(indices + np.uint32(parts.vertex_count))
        parts.vertex_count += len(vertices)
        parts.index_count += len(indices)
        return ""

    def batches(self) -> Iterator[Batch]:
        """Yield all batches."""
        for kind, parts in self._parts.items():
            vertices = np.concatenate(parts.vertices)
            indices = np.concatenate(parts.indices)
            yield Batch(*kind, vertices, indices, tuple(parts.chunks))

    def materials(self) -> NDArray[np.float32]:
        """Return the table of materials."""
        return np.array(list(self._materials), dtype=np.float32).reshape(-1, 3, 4)

    def surfaces(self) -> NDArray[np.float32]:
        """Return the table of curved surfaces."""
        return np.concatenate(self._surfaces)

    def _curved(self, shape: Shape, mesh_G: Mesh, mesh_L: Mesh) -> NDArray[np.uint32]:
        """Return the row of the surface that each triangle approximates."""
        rows, numbers = curved_surfaces(shape, mesh_G, mesh_L)
        before = self._surface_count - 1
        self._surfaces.append(rows)
        self._surface_count += len(rows)
        return np.where(numbers > 0, numbers + np.uint32(before), np.uint32(0))

    def _material(self, material: Material) -> int:
        row = (
            *material.emissive,
            material.ambient,
            *material.specular,
            # An exponent of zero would light the whole surface.
            max(128.0 * material.shininess, 1.0),
            *(1.0 - material.transparency, 0.0, 0.0, 0.0),
        )
        return self._materials.setdefault(row, len(self._materials))

    def _texture(self, texture: Texture | None) -> TextureImage | None:
        if texture is None:
            return None
        if texture not in self._textures:
            self._textures[texture] = None
            try:
                self._textures[texture] = self._read(texture)
            except OSError as error:
                self._diagnostics.warn("unreadable-texture", describe(texture, error))
        return self._textures[texture]

    def _read(self, texture: Texture) -> TextureImage:
        if not self._texels_left:
            raise OSError(f"the textures before it have {MAX_TEXELS} pixels already, the maximum")
        image = read_texture(texture)
        self._texels_left = max(self._texels_left - image.size[0] * image.size[1], 0)
        return image


def _has_valid_indices(mesh: Mesh) -> bool:
    """Return whether all vertices, normals, colours and texture coordinates of triangles exist."""
    given = (a for a in (mesh.normals, mesh.colors, mesh.tex_coords) if a is not None)
    named = [(mesh.triangles, mesh.vertices), *((a.indices, a.values) for a in given)]
    return all(
        indices.shape == mesh.triangles.shape
        and indices.min(initial=0) >= 0
        and indices.max(initial=-1) < len(values)
        for indices, values in named
    )


def _is_material_in_range(material: Material) -> bool:
    colors = *material.diffuse, *material.emissive, *material.specular
    others = material.ambient, material.shininess, material.transparency
    return all(abs(x) <= _MAX_VALUE for x in (*colors, *others))


def _are_in_range(vertices: NDArray[np.void]) -> bool:
    numbers = (vertices[name] for name in ("position", "normal", "color", "uv"))
    return all(bool(np.all(np.abs(x) <= _MAX_VALUE)) for x in numbers)


def _kind(texture: TextureImage | None, solid: bool, material: Material, curved: bool) -> _Kind:
    see_through = texture is not None and texture.see_through
    cut_out = texture is not None and texture.cut_out
    transparent = material.transparency > 0.0 or (see_through and not cut_out)
    shiny = any(material.specular)
    return _Kind(texture, solid, transparent, cut_out and not transparent, curved, shiny)


def _vertices(
    mesh: Mesh, material: Material, ids: NDArray[np.uint32], *, textured: bool
) -> tuple[NDArray[np.void], NDArray[np.uint32]]:
    """Return the unique corners of a mesh, and their indices by triangle.

    Args:
        mesh: In the frame of its link.
        material: Of the mesh.
        ids: Rows of link, material and surface of each triangle, shape (m, 3).
        textured: Whether it has a texture.
    """
    corners = np.zeros(mesh.triangles.size, VERTEX)
    corners["position"] = mesh.vertices[mesh.triangles].reshape(-1, 3)
    corners["normal"] = corner_normals(mesh).reshape(-1, 3)
    corners["color"] = material.diffuse
    if mesh.colors is not None:
        corners["color"] = mesh.colors.values[mesh.colors.indices].reshape(-1, 3)
    if textured and mesh.tex_coords is not None and material.texture is not None:
        st = mesh.tex_coords.values[mesh.tex_coords.indices].reshape(-1, 2)
        corners["uv"] = transformed_coords(material.texture, st)
    corners["ids"] = np.repeat(ids, 3, axis=0)
    # Share equal corners, so that each is transformed only once.
    as_bytes = corners.view((np.void, VERTEX.itemsize))
    _, first, inverse = np.unique(as_bytes, return_index=True, return_inverse=True)
    return corners[first], inverse.reshape(-1).astype(np.uint32)
