"""Convert materials and textures of glTF."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from ...geometry import GREY, Color, Material, Texture
from ...rigid import Array
from .gltf_arrays import BROKEN, GltfArrays, Json, data_uri
from .lost_parts import LostParts
from .mesh_resources import MeshResources

_WHITE = (1.0, 1.0, 1.0, 1.0)
_TRANSFORM = "KHR_texture_transform"
# Extensions with the same image in another format.
_IMAGE_EXTENSIONS = ("EXT_texture_webp", "MSFT_texture_dds")
_CLAMP = 33071


@dataclass(frozen=True, slots=True, eq=False)
class GltfMaterial:
    """A material as the reader uses it.

    Attributes:
        material: The material.
        double_sided: Whether both sides of faces are visible.
        tex_coords: Attribute of primitives with the coordinates of its texture.
        transform: Map of these coordinates, shape (2, 3), or None.
    """

    material: Material = GREY
    double_sided: bool = False
    tex_coords: str = "TEXCOORD_0"
    transform: Array | None = None


class GltfMaterials:
    """Converts the materials of one file, each once."""

    def __init__(self, arrays: GltfArrays, resources: MeshResources, lost: LostParts) -> None:
        self._arrays = arrays
        self._resources = resources
        self._lost = lost
        self._materials: dict[object, GltfMaterial] = {}

    def material(self, index: object) -> GltfMaterial:
        """Return a material; the default one after recording that it is broken."""
        key = repr(index)
        if key not in self._materials:
            try:
                made = self._converted(self._arrays.item("materials", index))
            except BROKEN as error:
                self._lost.add(("material", key), f"a material: {error}")
                made = GltfMaterial()
            self._materials[key] = made
        return self._materials[key]

    def _converted(self, written: Json) -> GltfMaterial:
        shading = written.get("pbrMetallicRoughness", {})
        base, texture = shading.get("baseColorFactor", _WHITE), shading.get("baseColorTexture")
        glossy = written.get("extensions", {}).get("KHR_materials_pbrSpecularGlossiness")
        if glossy and "pbrMetallicRoughness" not in written:
            base, texture = glossy.get("diffuseFactor", _WHITE), glossy.get("diffuseTexture")
        r, g, b, a = self._factors(base, _WHITE)
        emissive = self._factors(written.get("emissiveFactor", (0.0, 0.0, 0.0)), (0.0, 0.0, 0.0))
        is_opaque = str(written.get("alphaMode", "OPAQUE")).upper() == "OPAQUE"
        made = GltfMaterial(
            replace(
                GREY,
                name=str(written.get("name") or ""),
                diffuse=(r, g, b),
                emissive=(emissive[0], emissive[1], emissive[2]),
                transparency=1.0 - a,
            ),
            double_sided=written.get("doubleSided") is True,
        )
        if texture is None:
            return made
        try:
            return self._textured(made, texture, is_opaque)
        except BROKEN as error:
            self._lost.add(("texture", repr(texture)), f"a texture: {error}")
            return made

    def _factors(self, written: Any, default: tuple[float, ...]) -> tuple[float, ...]:
        values = [float(value) for value in written]
        if len(values) == len(default) and all(map(isfinite, values)):
            return tuple(min(max(value, 0.0), 1.0) for value in values)
        message = f"'{self._lost.name}' has a colour that is invalid; the default is used"
        self._lost.warn("wrong-value", message)
        return default

    def _textured(self, made: GltfMaterial, reference: Json, is_opaque: bool) -> GltfMaterial:
        texture = self._arrays.item("textures", reference["index"])
        sources = [texture.get("source")]
        sources += [
            texture.get("extensions", {}).get(x, {}).get("source") for x in _IMAGE_EXTENSIONS
        ]
        source = next((x for x in sources if x is not None), None)
        if source is None:
            raise ValueError("it has no image of a supported format")
        image = self._image(self._arrays.item("images", source), is_opaque, made.material.diffuse)
        if image is None:
            return made
        if "sampler" in texture:
            sampler = self._arrays.item("samplers", texture["sampler"])
            wraps = [sampler.get(key) != _CLAMP for key in ("wrapS", "wrapT")]
            image = replace(image, repeat=(wraps[0], wraps[1]))
        transform = reference.get("extensions", {}).get(_TRANSFORM)
        number = reference.get("texCoord", 0)
        if transform is not None:
            number = transform.get("texCoord", number)
        return replace(
            made,
            material=replace(made.material, texture=image),
            tex_coords=f"TEXCOORD_{number}",
            transform=None if transform is None else _transform(transform),
        )

    def _image(self, written: Json, is_opaque: bool, factor: Color) -> Texture | None:
        """Return the texture of an image; None after reporting why there is none.

        Args:
            written: The image.
            is_opaque: Whether to ignore its alpha channel.
            factor: Colour to multiply it with; only the diffuse colour multiplies a grey image.
        """
        from ...shapes import images  # imports Pillow, which few models need

        source: Any
        if "bufferView" in written:
            content: bytes | None = self._arrays.view(written["bufferView"])
        else:
            content = data_uri(written["uri"])
        if content is None:
            source = self._resources.resolve(written["uri"])
            if source is None or (not is_opaque and factor == (1.0, 1.0, 1.0)):
                return None if source is None else Texture(source)
        try:
            with warnings.catch_warnings():  # about large images; the limit applies on decoding
                warnings.simplefilter("ignore")
                if content is not None:
                    source = images.opened_image(content)
                decoded = images.decoded(source)
        except Exception as error:  # Pillow's plugins raise any kind of error for broken data
            shown = "" if content is not None else f" '{Path(source).name}'"
            message = f"a texture{shown} of '{self._lost.name}' is left out: {error}"
            self._lost.warn("unreadable-texture", message)
            return None
        if is_opaque and decoded.mode in ("LA", "RGBA"):
            decoded = decoded.convert(decoded.mode[:-1])
        pixels = images.pixels_of(decoded)
        self._arrays.take(pixels.nbytes // 8)  # an image of a few bytes may decode to any size
        if pixels.shape[2] >= 3 and factor != (1.0, 1.0, 1.0):
            pixels = pixels.copy()
            pixels[:, :, :3] = np.round(pixels[:, :, :3] * np.array(factor)).astype(np.uint8)
        return Texture(image=pixels)


def _transform(written: Json) -> Array:
    """Return the map of KHR_texture_transform: scale, then rotation, then offset, shape (2, 3)."""
    u, v = (float(x) for x in written.get("offset", (0.0, 0.0)))
    width, height = (float(x) for x in written.get("scale", (1.0, 1.0)))
    angle = float(written.get("rotation", 0.0))
    c, s = np.cos(angle), np.sin(angle)
    T = np.array([[c * width, s * height, u], [-s * width, c * height, v]])
    if not np.isfinite(T).all():
        raise ValueError(f"{_TRANSFORM} is not finite")
    return T
