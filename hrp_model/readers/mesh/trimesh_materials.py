"""Convert materials, colours and textures of meshes loaded by trimesh."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from ...geometry import GREY, Attribute, Color, IntArray, Material, Texture
from ...reading import Reading
from ...rigid import Array
from ...shapes import images
from .mesh_resources import MeshResources


class TrimeshMaterials:
    """Converts the materials and colours of one file, each material once."""

    def __init__(self, path: Path, reading: Reading, mesh_resources: MeshResources) -> None:
        self._path = path
        self._reading = reading
        self._resources = mesh_resources
        self._materials: dict[int, tuple[Any, Material]] = {}  # keeps the key alive

    def material(self, visual: Any) -> Material:
        """Return the material of a mesh's visual."""
        written = getattr(visual, "material", None)
        if written is None:
            return GREY
        if id(written) not in self._materials:
            convert = self._gltf if hasattr(written, "baseColorFactor") else self._ply
            self._materials[id(written)] = (written, convert(written))
        return self._materials[id(written)][1]

    def colors(self, visual: Any, faces: IntArray, kept: IntArray, count: int) -> Attribute | None:
        """Return the colours of vertices or faces.

        If a file has both vertex colours and a material, their product applies.

        Args:
            visual: The visual of the mesh.
            faces: Faces that are kept.
            kept: Their indices among all faces of the file.
            count: Number of vertices.
        """
        given = getattr(visual, "vertex_attributes", None) or {}
        if visual.kind == "vertex":
            values, indices = _unit_range(visual.vertex_colors), faces
        elif visual.kind == "face":
            values = _unit_range(visual.face_colors)
            indices = np.repeat(kept[:, None], 3, axis=1)
        elif "color" in given and len(given["color"]) == count:
            values = _unit_range(given["color"]) * np.array(self.material(visual).diffuse)
            indices = faces
        else:
            return None
        return Attribute(values, indices)

    @staticmethod
    def double_sided(visual: Any) -> bool:
        """Return whether both sides of the faces are visible."""
        return bool(getattr(getattr(visual, "material", None), "doubleSided", False))

    def _ply(self, written: Any) -> Material:
        """Return the material of a PLY file with a texture."""
        return replace(GREY, texture=self._texture(written.image, opaque=False))

    def _gltf(self, written: Any) -> Material:
        """Return a material of a glTF file."""
        factor = getattr(written, "baseColorFactor", None)
        r, g, b, a = (
            (1.0, 1.0, 1.0, 1.0)
            if factor is None
            else (float(c) / 255.0 for c in np.asarray(factor).ravel()[:4])
        )
        opaque = (getattr(written, "alphaMode", None) or "OPAQUE").upper() == "OPAQUE"
        return replace(
            GREY,
            name=str(getattr(written, "name", None) or ""),
            diffuse=(r, g, b),
            emissive=_color(getattr(written, "emissiveFactor", None), (0.0, 0.0, 0.0)),
            transparency=1.0 - a,
            texture=self._texture(
                getattr(written, "baseColorTexture", None), opaque=opaque, factor=(r, g, b)
            ),
        )

    def _texture(
        self, image: Image.Image | None, *, opaque: bool, factor: Color = (1.0, 1.0, 1.0)
    ) -> Texture | None:
        """Return the texture of an image.

        Args:
            image: Image as opened by trimesh, or a placeholder of ``MeshResources``.
            opaque: Whether to ignore its alpha channel.
            factor: Colour to multiply it with; only the diffuse colour multiplies a grey image.
        """
        texture = None if image is None else self._resources.texture(image)
        if image is None or (texture is not None and not opaque and factor == (1.0, 1.0, 1.0)):
            return texture
        try:
            decoded = images.decoded(image if texture is None else texture.path or Path())
        except OSError as error:
            message = f"a texture of '{self._path.name}' is left out: {error}"
            self._reading.diagnostics.warn(
                "unreadable-texture", message, self._reading.reference_span
            )
            return None
        if opaque and decoded.mode in ("LA", "RGBA"):
            decoded = decoded.convert(decoded.mode[:-1])
        pixels = images.pixels_of(decoded)
        if pixels.shape[2] >= 3 and factor != (1.0, 1.0, 1.0):
            pixels = pixels.copy()
            pixels[:, :, :3] = np.round(pixels[:, :, :3] * np.array(factor)).astype(np.uint8)
        return Texture(image=pixels)


def _unit_range(colors: Any) -> Array:
    """Return RGB in 0..1 of colours given as floats or integers, shape (n, 3)."""
    values = np.asarray(colors)
    top = float(np.iinfo(values.dtype).max) if values.dtype.kind in "iu" else 1.0
    rgb = np.asarray(values[:, :3], dtype=np.float64) / top
    return np.clip(np.nan_to_num(rgb), 0.0, 1.0)


def _color(written: Any, default: Color) -> Color:
    try:
        r, g, b = (min(max(float(value), 0.0), 1.0) for value in written[:3])
    except (TypeError, ValueError):
        return default
    return (r, g, b) if np.isfinite((r, g, b)).all() else default
