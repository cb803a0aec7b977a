"""Colours and textures of what trimesh has read."""

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
    """Materials and colours of one file, each material converted once."""

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
            make = self._of_gltf if hasattr(written, "baseColorFactor") else self._of_image
            self._materials[id(written)] = (written, make(written))
        return self._materials[id(written)][1]

    def colors(self, visual: Any, faces: IntArray, kept: IntArray, count: int) -> Attribute | None:
        """Return the colours of vertices or faces; ``kept`` are the rows of ``faces`` in the file.

        A file that has a colour for each of ``count`` vertices and a material wants the product.
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
        """Tell whether both sides of the faces are to be drawn."""
        return bool(getattr(getattr(visual, "material", None), "doubleSided", False))

    def _of_image(self, written: Any) -> Material:
        """Return the material of a PLY file that names a picture."""
        return replace(GREY, texture=self._texture(written.image, opaque=False))

    def _of_gltf(self, written: Any) -> Material:
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
        """Return a file's picture as a texture.

        Args:
            image: As trimesh has opened it.
            opaque: Whether its opacity, if it has any, means nothing.
            factor: Colour to multiply it with; a grey one is, by the diffuse colour.
        """
        texture = None if image is None else self._resources.texture(image)
        if image is None or (texture is not None and not opaque and factor == (1.0, 1.0, 1.0)):
            return texture
        try:
            picture = images.decoded(image if texture is None else texture.path or Path())
        except OSError as error:
            message = f"a texture of '{self._path.name}' is left out: {error}"
            self._reading.diagnostics.warn(
                "unreadable-texture", message, self._reading.reference_span
            )
            return None
        if opaque and picture.mode in ("LA", "RGBA"):
            picture = picture.convert(picture.mode[:-1])
        pixels = images.pixels_of(picture)
        if pixels.shape[2] >= 3 and factor != (1.0, 1.0, 1.0):
            pixels = pixels.copy()
            pixels[:, :, :3] = np.round(pixels[:, :, :3] * np.array(factor)).astype(np.uint8)
        return Texture(image=pixels)


def _unit_range(colors: Any) -> Array:
    """Return RGB in 0..1 of colours in floats or in bytes, shape (n, 3)."""
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
