"""One mesh and its material as a binary glTF 2.0 file."""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import Any

import numpy as np
import trimesh
from PIL import Image
from trimesh.exchange.gltf import export_glb
from trimesh.visual.material import PBRMaterial

from ..geometry import IntArray, Material, Mesh, Texture
from ..normals import corner_normals
from ..rigid import Array
from ..texturing import transformed_coords

_REPEAT, _CLAMP_TO_EDGE = 10497, 33071


def glb(mesh: Mesh, material: Material, image: Image.Image | None = None) -> bytes:
    """Return a glTF binary of one mesh with its normals, colours and texture.

    Coordinates are written as they are: no turn to glTF's y-up custom, since every ROS
    tool reads a mesh in the frame that the URDF names.

    Args:
        mesh: Its normals are worked out from the crease angle where it gives none.
        material: Its looks.
        image: The picture of its texture, in a mode of ``texture_image``; None leaves it out.
    """
    textured = image is not None and mesh.tex_coords is not None
    colors = None if textured else _corner_colors(mesh, material)
    uv = _corner_uv(mesh, material.texture) if textured else None
    corners = [mesh.vertices[mesh.triangles], _unit_normals(mesh)]
    corners += [extra for extra in (uv, colors) if extra is not None]
    vertices, triangles = _joined(corners)
    solid = trimesh.Trimesh(
        vertices=vertices[:, :3], faces=triangles, vertex_normals=vertices[:, 3:6], process=False
    )
    if textured:
        solid.visual = trimesh.visual.TextureVisuals(
            uv=vertices[:, 6:8], material=PBRMaterial(baseColorTexture=_colored(image))
        )
    elif colors is not None:
        solid.visual.vertex_colors = np.round(vertices[:, 6:10] * 255.0).astype(np.uint8)
    look = _material(material, image if textured else None, colors is not None, mesh.solid)
    scene = trimesh.Scene()
    scene.add_geometry(solid, geom_name="mesh", node_name="mesh")
    tree_postprocessor = _with_material(look, material.texture if textured else None)
    data: bytes = export_glb(
        scene, include_normals=True, unitize_normals=False, tree_postprocessor=tree_postprocessor
    )
    return data


def _unit_normals(mesh: Mesh) -> Array:
    """Return normals of corners, shape (m, 3, 3); +Z where a triangle has no side to face."""
    normals = corner_normals(mesh)
    normals[~normals.any(axis=2)] = (0.0, 0.0, 1.0)
    return normals


def _joined(corners: list[Array]) -> tuple[Array, IntArray]:
    """Return vertices (n, k) and triangles (m, 3), from values (m, 3, *) of each corner.

    Corners that agree in everything share a vertex.
    """
    rows = np.concatenate([c.reshape(-1, c.shape[-1]) for c in corners], axis=1)
    rows = np.ascontiguousarray(rows.astype(np.float32) + np.float32(0.0))  # no -0.0
    keys = rows.view(np.dtype((np.void, rows.shape[1] * rows.itemsize))).ravel()
    _, first, vertex = np.unique(keys, return_index=True, return_inverse=True)
    return rows[first].astype(np.float64), vertex.reshape(-1, 3).astype(np.int32)


def _corner_colors(mesh: Mesh, material: Material) -> Array | None:
    if mesh.colors is None:
        return None
    rgb = np.clip(mesh.colors.values[mesh.colors.indices], 0.0, 1.0)
    alpha = np.full((*rgb.shape[:2], 1), 1.0 - material.transparency)
    return np.concatenate([rgb, alpha], axis=2)


def _corner_uv(mesh: Mesh, texture: Texture | None) -> Array:
    """Return texture coordinates under the texture transform, shape (m, 3, 2)."""
    assert mesh.tex_coords is not None
    uv = mesh.tex_coords.values[mesh.tex_coords.indices]
    return uv if texture is None else transformed_coords(texture, uv)


def _colored(image: Image.Image | None) -> Image.Image:
    """Return an image of a kind that every viewer of glTF reads: RGB or RGBA."""
    assert image is not None
    return image.convert("RGBA" if _has_alpha(image) else "RGB")


def _has_alpha(image: Image.Image) -> bool:
    return image.mode in ("LA", "RGBA")


def _material(
    material: Material, image: Image.Image | None, vertex_colors: bool, solid: bool
) -> dict[str, Any]:
    """Return glTF's material.

    A coloured picture, or colours of vertices, replace the diffuse colour; a grey picture
    is multiplied with it (VRML97, 4.14.2). The exponent e of Phong's highlight becomes a
    roughness by e = 2 / r^4 - 2 (Karis 2013).
    """
    replaced = vertex_colors or (image is not None and image.mode in ("RGB", "RGBA"))
    alpha = 1.0 - material.transparency
    exponent = 128.0 * material.shininess if any(material.specular) else 0.0
    look: dict[str, Any] = {
        "pbrMetallicRoughness": {
            "baseColorFactor": [
                *((1.0, 1.0, 1.0) if replaced else map(float, material.diffuse)),
                1.0 if vertex_colors else alpha,
            ],
            "metallicFactor": 0.0,
            "roughnessFactor": sqrt(sqrt(2.0 / (exponent + 2.0))),
        },
        "emissiveFactor": [float(c) for c in material.emissive],
        "doubleSided": not solid,
    }
    if material.name:
        look["name"] = material.name
    if alpha < 1.0 or (image is not None and _has_alpha(image)):
        look["alphaMode"] = "BLEND"
    return look


def _with_material(
    look: dict[str, Any], texture: Texture | None
) -> Callable[[dict[str, Any]], None]:
    """Return a step of the export that puts our material where trimesh rounds its own."""

    def replace(tree: dict[str, Any]) -> None:
        if texture is not None:
            look["pbrMetallicRoughness"]["baseColorTexture"] = {"index": 0}
            wrap_s, wrap_t = (_REPEAT if r else _CLAMP_TO_EDGE for r in texture.repeat)
            tree["samplers"] = [{"wrapS": wrap_s, "wrapT": wrap_t}]
            tree["textures"][0]["sampler"] = 0
        tree["materials"] = [look]
        tree["meshes"][0]["primitives"][0]["material"] = 0

    return replace
