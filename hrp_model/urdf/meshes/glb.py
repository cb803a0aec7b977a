"""Meshes and their materials as a binary glTF 2.0 file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from enum import Enum
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...geometry import Attribute, Color, Material, Mesh, Texture
from ...rigid import Array
from ...shapes.measure import unique_rows
from ...shapes.normals import corner_normals
from ...shapes.tessellate import transformed_coords
from .gltf_file import GlbFile
from .stl import face_normals
from .texture_images import EncodedImage

# With more colours than this, vertex colours are written instead of materials, to keep files
# small.
_MAX_MATERIALS = 32


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
    mesh = _select_triangles(mesh, np.any(face_normals(mesh), axis=1))
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


def _select_triangles(mesh: Mesh, mask: NDArray[np.bool_]) -> Mesh:
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
