"""Meshes as files: binary STL, and binary glTF 2.0 (GLB) with materials and texture images."""

from __future__ import annotations

import io
import json
import struct
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from enum import Enum
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from ..files.resources import read_file
from ..geometry import Attribute, Color, IntArray, Material, Mesh, Texture
from ..late_dataclass import dataclass
from ..rigid import Array
from ..shapes.images import opened_image, texture_image
from ..shapes.measure import unique_rows
from ..shapes.meshing import corner_normals, unit
from ..shapes.tessellate import transformed_coords

_MEDIA_TYPES = {"PNG": "image/png", "JPEG": "image/jpeg"}
# Twice as fast as Pillow's default of 6, and hardly larger.
_COMPRESSION = 3
_HEADER = b"binary STL, hrp_ros".ljust(80)  # "solid" at the start would mean a text file
_FACET = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])
_ARRAY_BUFFER, _ELEMENT_ARRAY_BUFFER = 34962, 34963
_UNSIGNED_BYTE, _UNSIGNED_SHORT, _UNSIGNED_INT, _FLOAT = 5121, 5123, 5125, 5126
_REPEAT, _CLAMP_TO_EDGE = 10497, 33071
_WIDTHS = {2: "VEC2", 3: "VEC3", 4: "VEC4"}
_MAX_SHORT_INDEX = 65534  # 65535 restarts primitives in some graphics libraries
# With more colours than this, vertex colours are written instead of materials, to keep files
# small.
_MAX_MATERIALS = 32


@dataclass(frozen=True)
class EncodedImage:
    """An encoded image.

    Attributes:
        data: The bytes of a PNG or JPEG file.
        media_type: "image/png" or "image/jpeg".
        colored: Whether its colours replace those of the material; grey ones are
            multiplied with them (ISO/IEC 14772-1, 4.14.2).
        transparent: Whether it has an alpha channel.
    """

    data: bytes
    media_type: str
    colored: bool
    transparent: bool


def encoded_image(texture: Texture) -> EncodedImage:
    """Return the image of a texture; a PNG or JPEG file with 8 bits a channel is not re-encoded.

    Raises:
        OSError: The file does not exist or is not a readable image.
    """
    image = texture_image(texture)
    colored, transparent = image.mode.startswith("RGB"), image.mode.endswith("A")
    original = _original_file(texture, image.mode)
    if original is not None:
        return EncodedImage(*original, colored, transparent)
    stream = io.BytesIO()
    # Every glTF viewer reads RGB and RGBA.
    image.convert("RGBA" if transparent else "RGB").save(
        stream, format="PNG", compress_level=_COMPRESSION
    )
    return EncodedImage(stream.getvalue(), "image/png", colored, transparent)


def _original_file(texture: Texture, mode: str) -> tuple[bytes, str] | None:
    """Return data and media type of a file that every viewer decodes to the same pixels."""
    if texture.path is None or mode not in ("RGB", "RGBA"):
        return None
    data = read_file(texture.path)
    opened: Image.Image = opened_image(data)
    if opened.format not in _MEDIA_TYPES or opened.mode != mode:
        return None
    return data, _MEDIA_TYPES[opened.format]


def stl(mesh: Mesh) -> bytes | None:
    """Return a mesh as binary STL; None if no triangle has an area.

    Triangles without area in single precision are left out: they have no effect on contacts,
    and programs that compute normals or hulls fail on them.
    """
    normals = face_normals(mesh)
    valid = normals.any(axis=1)
    if not valid.any():
        return None
    facets = np.zeros(np.count_nonzero(valid), _FACET)
    facets["normal"] = normals[valid]
    facets["corners"] = mesh.vertices[mesh.triangles[valid]]
    return _HEADER + struct.pack("<I", len(facets)) + facets.tobytes()


def face_normals(mesh: Mesh) -> Array:
    """Return the unit normals of the triangles after rounding to single precision, shape (m, 3).

    Zero for triangles without area, or with corners that are not finite then.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        vertices = mesh.vertices.astype(np.float32).astype(np.float64)
        a, b, c = (vertices[mesh.triangles[:, i]] for i in range(3))
        return unit(np.cross(b - a, c - a))


class GlbFile:
    """Builder of a file of meshes; clause numbers are glTF 2.0's."""

    def __init__(self) -> None:
        self._primitives: list[dict[str, Any]] = []
        self._materials: list[dict[str, Any]] = []
        self._textures: dict[str, list[dict[str, Any]]] = defaultdict(list)
        self._extensions: set[str] = set()
        self._accessors: list[dict[str, Any]] = []
        self._views: list[dict[str, Any]] = []
        self._chunks: list[bytes] = []
        self._length = 0

    def add_material(self, material: dict[str, Any]) -> int:
        """Add a glTF material (5.19) and return its index."""
        self._extensions.update(material.get("extensions", {}))
        self._materials.append(material)
        return len(self._materials) - 1

    def add_texture(self, image: bytes, media_type: str, repeat: tuple[bool, bool]) -> int:
        """Add an encoded image ("image/png" or "image/jpeg") and return its texture's index."""
        wrap_s, wrap_t = (_REPEAT if r else _CLAMP_TO_EDGE for r in repeat)
        index = len(self._textures["textures"])
        self._textures["images"].append({"bufferView": self._view(image), "mimeType": media_type})
        self._textures["samplers"].append({"wrapS": wrap_s, "wrapT": wrap_t})
        self._textures["textures"].append({"source": index, "sampler": index})
        return index

    def add_primitive(
        self, attributes: dict[str, NDArray[Any]], triangles: IntArray, material: int
    ) -> None:
        """Add triangles of one material.

        Args:
            attributes: Vertex attributes by glTF's names (3.7.2.1), float32 or normalised
                uint8, of shape (n, 2..4).
            triangles: Indices of vertices, shape (m, 3).
            material: Index from ``add_material``.
        """
        kind = np.uint16 if len(attributes["POSITION"]) <= _MAX_SHORT_INDEX + 1 else np.uint32
        indices = {
            "bufferView": self._view(triangles.astype(kind).tobytes(), _ELEMENT_ARRAY_BUFFER),
            "componentType": _UNSIGNED_SHORT if kind is np.uint16 else _UNSIGNED_INT,
            "count": triangles.size,
            "type": "SCALAR",
        }
        primitive = {
            "attributes": {name: self._attribute(name, v) for name, v in attributes.items()},
            "indices": self._accessor(indices),
            "material": material,
        }
        self._primitives.append(primitive)

    def content(self) -> bytes:
        """Return the bytes of the file: a header, the JSON and the binary chunk (4.4)."""
        # Each primitive gets its own node, as coal, pinocchio's mesh reader, confuses the
        # vertices of several primitives in one node.
        numbers = range(len(self._primitives))
        names = ["mesh" if i == 0 else f"mesh_{i + 1}" for i in numbers]
        tree = {
            "asset": {"version": "2.0", "generator": "hrp_ros"},
            "scene": 0,
            "scenes": [{"nodes": list(numbers)}],
            "nodes": [{"mesh": i, "name": names[i]} for i in numbers],
            "meshes": [{"primitives": [self._primitives[i]], "name": names[i]} for i in numbers],
            "materials": self._materials,
            **self._textures,
            "accessors": self._accessors,
            "bufferViews": self._views,
            "buffers": [{"byteLength": self._length}],
        }
        if self._extensions:
            tree["extensionsUsed"] = sorted(self._extensions)
        text = json.dumps(tree, separators=(",", ":"), allow_nan=False).encode()
        chunks = _chunk(b"JSON", text, b" ") + _chunk(b"BIN\0", b"".join(self._chunks), b"\0")
        return struct.pack("<4sII", b"glTF", 2, 12 + len(chunks)) + chunks

    def _attribute(self, name: str, values: NDArray[Any]) -> int:
        accessor: dict[str, Any] = {
            "bufferView": self._view(values.tobytes(), _ARRAY_BUFFER),
            "componentType": _UNSIGNED_BYTE if values.dtype == np.uint8 else _FLOAT,
            "count": len(values),
            "type": _WIDTHS[values.shape[1]],
        }
        if values.dtype == np.uint8:
            accessor["normalized"] = True
        if name == "POSITION":
            accessor["min"] = values.min(axis=0).tolist()
            accessor["max"] = values.max(axis=0).tolist()
        return self._accessor(accessor)

    def _accessor(self, accessor: dict[str, Any]) -> int:
        self._accessors.append(accessor)
        return len(self._accessors) - 1

    def _view(self, data: bytes, target: int | None = None) -> int:
        view = {"buffer": 0, "byteOffset": self._length, "byteLength": len(data)}
        if target is not None:
            view["target"] = target
        self._views.append(view)
        self._chunks += [data, b"\0" * (-len(data) % 4)]  # every accessor begins aligned
        self._length += len(data) + -len(data) % 4
        return len(self._views) - 1


def _chunk(kind: bytes, data: bytes, filler: bytes) -> bytes:
    data += filler * (-len(data) % 4)
    return struct.pack("<I4s", len(data), kind) + data


class UpAxis(Enum):
    """Which axis of a GLB file is the URDF's z.

    Z writes coordinates in the URDF's frame, as Gazebo, trimesh, yourdfpy and RViz up to ROS 2
    Kilted expect. Y rotates them by -90 degrees about X, to glTF's convention (3.4 of its
    specification), for readers that rotate them back, such as Drake, and RViz from ROS 2
    Lyrical on (rviz_rendering 15.1.4).
    """

    Z = "z"
    Y = "y"


def glb(
    mesh: Mesh, material: Material, image: EncodedImage | None = None, up: UpAxis = UpAxis.Z
) -> bytes | None:
    """Return a glTF binary of one mesh with its normals, colours and texture.

    Triangles without area in single precision are left out; None if there are no others.
    Colours are written as in the model, which are sRGB: glTF readers in ROS show them
    unchanged, though the specification calls them linear. If whole faces have colours, each
    colour is a material, since RViz and Gazebo ignore vertex colours.

    Args:
        mesh: Normals are computed from the crease angle if it has none.
        material: Its appearance.
        image: The image of its texture; None leaves it out.
        up: Which axis of the file is the URDF's z.
    """
    file = GlbFile()
    return file.content() if add_mesh(file, mesh, material, image, up) else None


def add_mesh(
    file: GlbFile,
    mesh: Mesh,
    material: Material,
    image: EncodedImage | None = None,
    up: UpAxis = UpAxis.Z,
) -> bool:
    """Add a mesh to a file; arguments as of ``glb``.

    Returns:
        Whether any triangle has an area.
    """
    mesh = select_triangles(mesh, np.any(face_normals(mesh), axis=1))
    if not len(mesh.triangles):
        return False
    corners = {"POSITION": mesh.vertices[mesh.triangles], "NORMAL": corner_normals(mesh)}
    corners = {name: _rotated(values, up) for name, values in corners.items()}
    if image is not None and mesh.tex_coords is not None:
        corners["TEXCOORD_0"] = _corner_uv(mesh, material.texture)
        # A coloured image replaces the colour of the material or the mesh, a grey one is
        # multiplied with it (ISO/IEC 14772-1, 4.14.2).
        tinted = mesh.colors is not None and not image.colored
        if tinted:
            corners["COLOR_0"] = _color_bytes(_corner_rgb(mesh), 1.0)
        if image.colored or tinted:
            material = replace(material, diffuse=(1.0, 1.0, 1.0))
        index = _add_textured(file, material, image, mesh.solid)
        file.add_primitive(*_vertices(corners), index)
        return True
    for faces, color, corner_rgb in _parts_by_color(mesh):
        part = {name: values[faces] for name, values in corners.items()}
        if corner_rgb is not None:
            part["COLOR_0"] = _color_bytes(corner_rgb, 1.0 - _clipped(material.transparency))
        colored = material if color is None else replace(material, diffuse=color)
        index = file.add_material(_material(colored, mesh.solid, factor=corner_rgb is None))
        file.add_primitive(*_vertices(part), index)
    return True


def select_triangles(mesh: Mesh, mask: NDArray[np.bool_]) -> Mesh:
    """Return a mesh of the triangles for which a mask is true."""
    if mask.all():
        return mesh

    def select(attribute: Attribute | None) -> Attribute | None:
        return attribute and Attribute(attribute.values, attribute.indices[mask])

    return replace(
        mesh,
        triangles=mesh.triangles[mask],
        normals=select(mesh.normals),
        colors=select(mesh.colors),
        tex_coords=select(mesh.tex_coords),
    )


def _rotated(vectors: Array, up: UpAxis) -> Array:
    if up is UpAxis.Z:
        return vectors
    rotated: Array = vectors[..., [0, 2, 1]] * (1.0, 1.0, -1.0)
    return rotated


def _vertices(corners: dict[str, Array]) -> tuple[dict[str, NDArray[Any]], NDArray[np.int32]]:
    """Return vertex attributes and triangles, from values (m, 3, *) of each corner.

    Corners with equal values share a vertex.
    """
    columns = [values.reshape(-1, values.shape[-1]) for values in corners.values()]
    rows, index = unique_rows(np.concatenate(columns, axis=1).astype(np.float32))
    ends = np.cumsum([c.shape[1] for c in columns])[:-1]
    split = np.split(rows, ends, axis=1)
    attributes: dict[str, NDArray[Any]] = dict(zip(corners, split, strict=True))
    if "COLOR_0" in attributes:
        attributes["COLOR_0"] = attributes["COLOR_0"].astype(np.uint8)
    return attributes, index.reshape(-1, 3)


def _parts_by_color(
    mesh: Mesh,
) -> Iterator[tuple[NDArray[np.int_] | slice, Color | None, Array | None]]:
    """Yield parts of a mesh: triangles, their common colour, or else the corners' colours."""
    if mesh.colors is None:
        yield slice(None), None, None
        return
    rgb = _corner_rgb(mesh)
    if (rgb == rgb[:, :1]).all():
        colors, index = np.unique(rgb[:, 0], axis=0, return_inverse=True)
        if len(colors) <= _MAX_MATERIALS:
            for number, (r, g, b) in enumerate(colors.tolist()):
                yield np.flatnonzero(index.ravel() == number), (r, g, b), None
            return
    yield slice(None), None, rgb


def _corner_rgb(mesh: Mesh) -> Array:
    """Return the colours of a mesh's corners, in 0..1, shape (m, 3, 3)."""
    assert mesh.colors is not None
    rgb: Array = np.clip(np.nan_to_num(mesh.colors.values[mesh.colors.indices]), 0.0, 1.0)
    return rgb


def _color_bytes(rgb: Array, alpha: float) -> Array:
    """Return colours with an opacity in 0..255, shape (m, 3, 4)."""
    opacity = np.full((*rgb.shape[:2], 1), alpha)
    return np.round(255.0 * np.concatenate([rgb, opacity], axis=2))


def _corner_uv(mesh: Mesh, texture: Texture | None) -> Array:
    """Return transformed texture coordinates with v downwards, shape (m, 3, 2)."""
    assert mesh.tex_coords is not None
    uv = mesh.tex_coords.values[mesh.tex_coords.indices]
    uv = uv if texture is None else transformed_coords(texture, uv)
    uv = np.where(np.isfinite(uv), uv, 0.0)  # glTF has finite numbers only (3.6.2.4)
    return np.stack([uv[..., 0], 1.0 - uv[..., 1]], axis=2)


def _add_textured(file: GlbFile, material: Material, image: EncodedImage, solid: bool) -> int:
    """Add a material with an image, which is multiplied with the diffuse colour."""
    assert material.texture is not None
    result = _material(material, solid)
    index = file.add_texture(image.data, image.media_type, material.texture.repeat)
    result["pbrMetallicRoughness"]["baseColorTexture"] = {"index": index}
    if image.transparent:
        result["alphaMode"] = "BLEND"
    return file.add_material(result)


def _material(material: Material, solid: bool, *, factor: bool = True) -> dict[str, Any]:
    """Return a glTF material.

    The Phong exponent e is converted to a roughness by e = 2 / r^4 - 2 (Karis 2013), and the
    specular colour to KHR_materials_specular.

    Args:
        material: The material.
        solid: Whether only the front side is drawn.
        factor: Whether its colour and opacity apply, instead of those of the vertices.
    """
    alpha = 1.0 - _clipped(material.transparency)
    specular = [_clipped(c) for c in material.specular]
    strength = max(specular)
    exponent = 128.0 * _clipped(material.shininess) if strength > 0.0 else 0.0
    color = [*map(_clipped, material.diffuse), alpha] if factor else [1.0] * 4
    highlight: dict[str, Any] = {"specularFactor": strength}
    if strength > 0.0:
        highlight["specularColorFactor"] = [c / strength for c in specular]
    result: dict[str, Any] = {
        "pbrMetallicRoughness": {
            "baseColorFactor": color,
            "metallicFactor": 0.0,
            "roughnessFactor": sqrt(sqrt(2.0 / (exponent + 2.0))),
        },
        "emissiveFactor": [_clipped(c) for c in material.emissive],
        "doubleSided": not solid,
        "extensions": {"KHR_materials_specular": highlight},
    }
    if material.name:
        result["name"] = material.name
    if alpha < 1.0:
        result["alphaMode"] = "BLEND"
    return result


def _clipped(number: float) -> float:
    """Return a number clipped to 0..1; 0 for NaN."""
    return min(1.0, max(0.0, float(number)))
