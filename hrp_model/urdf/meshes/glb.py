"""One mesh and its material as a binary glTF 2.0 file."""

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
from ...shapes.normals import corner_normals
from ...shapes.texturing import transformed_coords
from ...shapes.unique_rows import unique_rows
from .gltf_file import GlbFile
from .stl import face_normals
from .texture_images import EncodedImage

# More colours than these are written as colours of vertices: files stay small, and few models
# have so many.
_MOST_MATERIALS = 32


class UpAxis(Enum):
    """Which axis of a GLB file is the URDF's z.

    Z writes coordinates as they are, in the frame that the URDF names: what Gazebo,
    trimesh, yourdfpy and RViz up to ROS 2 Kilted expect. Y turns them by -90 degrees
    about X, to glTF's own custom (3.4 of its specification): readers that hold to it turn
    them back, as Drake does and RViz from ROS 2 Lyrical on (rviz_rendering 15.1.4).
    """

    Z = "z"
    Y = "y"


def glb(
    mesh: Mesh, material: Material, picture: EncodedImage | None = None, up: UpAxis = UpAxis.Z
) -> bytes | None:
    """Return a glTF binary of one mesh with its normals, colours and texture.

    Triangles without an area in single precision are left out; None if no other is there.
    Colours are written with the model's numbers, which are those of a screen: what reads
    glTF in ROS shows them unchanged, though the specification calls them linear. Where
    whole faces have colours, each colour is a material, since RViz and Gazebo pass over
    colours of vertices.

    Args:
        mesh: Its normals are worked out from the crease angle where it gives none.
        material: Its looks.
        picture: The picture of its texture; None leaves it out.
        up: Which axis becomes that of the URDF's z.
    """
    mesh = _selected(mesh, np.any(face_normals(mesh), axis=1))
    if not len(mesh.triangles):
        return None
    file = GlbFile()
    corners = {"POSITION": mesh.vertices[mesh.triangles], "NORMAL": corner_normals(mesh)}
    corners = {name: _turned(values, up) for name, values in corners.items()}
    if picture is not None and mesh.tex_coords is not None:
        corners["TEXCOORD_0"] = _corner_uv(mesh, material.texture)
        # A coloured picture replaces the colour of the material or the mesh, a grey one is
        # multiplied with it (ISO/IEC 14772-1, 4.14.2).
        tinted = mesh.colors is not None and not picture.colored
        if tinted:
            corners["COLOR_0"] = _color_bytes(_corner_rgb(mesh), 1.0)
        if picture.colored or tinted:
            material = replace(material, diffuse=(1.0, 1.0, 1.0))
        index = _add_textured(file, material, picture, mesh.solid)
        file.add_primitive(*_vertices(corners), index)
        return file.content()
    for faces, color, varying in _parts_by_color(mesh):
        part = {name: values[faces] for name, values in corners.items()}
        if varying is not None:
            part["COLOR_0"] = _color_bytes(varying, 1.0 - _clipped(material.transparency))
        look = material if color is None else replace(material, diffuse=color)
        index = file.add_material(_material(look, mesh.solid, factor=varying is None))
        file.add_primitive(*_vertices(part), index)
    return file.content()


def _selected(mesh: Mesh, kept: Any) -> Mesh:
    """Return a mesh of some of the triangles; ``kept`` says of each whether it is one."""
    if kept.all():
        return mesh

    def some(attribute: Attribute | None) -> Attribute | None:
        return attribute and Attribute(attribute.values, attribute.indices[kept])

    return replace(
        mesh,
        triangles=mesh.triangles[kept],
        normals=some(mesh.normals),
        colors=some(mesh.colors),
        tex_coords=some(mesh.tex_coords),
    )


def _turned(vectors: Array, up: UpAxis) -> Array:
    if up is UpAxis.Z:
        return vectors
    turned: Array = vectors[..., [0, 2, 1]] * (1.0, 1.0, -1.0)
    return turned


def _vertices(corners: dict[str, Array]) -> tuple[dict[str, NDArray[Any]], NDArray[np.int32]]:
    """Return attributes of vertices and triangles, from values (m, 3, *) of each corner.

    Corners that agree in everything share a vertex.
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
    """Yield which triangles belong together, their common colour, or those of their corners."""
    if mesh.colors is None:
        yield slice(None), None, None
        return
    rgb = _corner_rgb(mesh)
    if (rgb == rgb[:, :1]).all():
        colors, index = np.unique(rgb[:, 0], axis=0, return_inverse=True)
        if len(colors) <= _MOST_MATERIALS:
            for number, (r, g, b) in enumerate(colors.tolist()):
                yield np.flatnonzero(index.ravel() == number), (r, g, b), None
            return
    yield slice(None), None, rgb


def _corner_rgb(mesh: Mesh) -> Array:
    """Return the colours that a mesh gives its corners, in 0..1, shape (m, 3, 3)."""
    assert mesh.colors is not None
    rgb: Array = np.clip(np.nan_to_num(mesh.colors.values[mesh.colors.indices]), 0.0, 1.0)
    return rgb


def _color_bytes(rgb: Array, alpha: float) -> Array:
    """Return colours and one opacity in 0..255, shape (m, 3, 4)."""
    opacity = np.full((*rgb.shape[:2], 1), alpha)
    return np.round(255.0 * np.concatenate([rgb, opacity], axis=2))


def _corner_uv(mesh: Mesh, texture: Texture | None) -> Array:
    """Return coordinates under the texture transform, from the top down, shape (m, 3, 2)."""
    assert mesh.tex_coords is not None
    uv = mesh.tex_coords.values[mesh.tex_coords.indices]
    uv = uv if texture is None else transformed_coords(texture, uv)
    uv = np.where(np.isfinite(uv), uv, 0.0)  # glTF has no other numbers (3.6.2.4)
    return np.stack([uv[..., 0], 1.0 - uv[..., 1]], axis=2)


def _add_textured(file: GlbFile, material: Material, picture: EncodedImage, solid: bool) -> int:
    """Add a material with a picture, which is multiplied with the diffuse colour."""
    assert material.texture is not None
    look = _material(material, solid)
    index = file.add_texture(picture.data, picture.media_type, material.texture.repeat)
    look["pbrMetallicRoughness"]["baseColorTexture"] = {"index": index}
    if picture.transparent:
        look["alphaMode"] = "BLEND"
    return file.add_material(look)


def _material(material: Material, solid: bool, *, factor: bool = True) -> dict[str, Any]:
    """Return glTF's material.

    The exponent e of Phong's highlight becomes a roughness by e = 2 / r^4 - 2 (Karis 2013),
    its colour that of KHR_materials_specular: none is no highlight, white that of plastic.

    Args:
        material: Its looks.
        solid: Whether only the front is drawn.
        factor: Whether its colour and opacity hold; those of the vertices do otherwise.
    """
    alpha = 1.0 - _clipped(material.transparency)
    specular = [_clipped(c) for c in material.specular]
    strength = max(specular)
    exponent = 128.0 * _clipped(material.shininess) if strength > 0.0 else 0.0
    color = [*map(_clipped, material.diffuse), alpha] if factor else [1.0] * 4
    highlight: dict[str, Any] = {"specularFactor": strength}
    if strength > 0.0:
        highlight["specularColorFactor"] = [c / strength for c in specular]
    look: dict[str, Any] = {
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
        look["name"] = material.name
    if alpha < 1.0:
        look["alphaMode"] = "BLEND"
    return look


def _clipped(number: float) -> float:
    """Return a number in 0..1; 0 for what is none."""
    return min(1.0, max(0.0, float(number)))
