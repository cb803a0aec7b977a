"""Read the materials, effects and images of COLLADA."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ...geometry import Color, Material, Texture
from ..xml_tree import Element
from .collada_parts import ColladaParts, finite_numbers, numbers
from .mesh_resources import MeshResources

_GREY = 0.6  # default diffuse colour, as in Choreonoid
_SHADERS = ("phong", "lambert", "blinn", "constant")
_FLOATS = ("float", "float2", "float3", "float4")
_MAX_SHININESS = 128.0
_LUMINANCE = (0.212671, 0.715160, 0.072169)
DEFAULT = Material(diffuse=(_GREY, _GREY, _GREY), ambient=1.0)


@dataclass(frozen=True, slots=True, eq=False)
class BoundMaterial:
    """A material as it is used for a geometry.

    Attributes:
        material: The material; a texture applies to the coordinates named by ``tex_coord``.
        double_sided: Whether both sides of faces are visible.
        tex_coord: Name of the texture coordinates of its texture, "" without one.
    """

    material: Material = DEFAULT
    double_sided: bool = False
    tex_coord: str = ""


class ColladaMaterials:
    """Converts the materials of one file, each once."""

    def __init__(self, parts: ColladaParts, resources: MeshResources) -> None:
        self._parts = parts
        self._resources = resources
        self._converted: dict[int, BoundMaterial] = {}

    def material(self, material: Element) -> BoundMaterial:
        """Return a material; the default one after recording that it is broken."""
        if id(material) not in self._converted:
            self._converted[id(material)] = self._bound(material)
        return self._converted[id(material)]

    def _bound(self, material: Element) -> BoundMaterial:
        instance = material.first("instance_effect")
        effect = None
        if instance is None:
            self._parts.lose(material, "a material has no <instance_effect>")
        else:
            effect = self._parts.find(instance, "url", "effect")
        if effect is None:
            return BoundMaterial()
        profile = effect.first("profile_COMMON")
        technique = None if profile is None else profile.first("technique")
        shader = None if technique is None else technique.first(*_SHADERS)
        if profile is None or technique is None or shader is None:
            self._parts.lose(effect, "an effect has no shader of profile_COMMON")
            return BoundMaterial()
        is_double_sided = any(
            x.tag == "double_sided" and x.text.strip() == "1" for x in effect.descendants()
        )
        shading = _Shading(shader, (technique, profile, effect), self._parts, self._resources)
        name = material.attributes.get("name", "")
        return BoundMaterial(shading.material(name), is_double_sided, shading.tex_coord)


class _Shading:
    """The properties of one shader.

    Args:
        shader: The ``<phong>``, ``<lambert>``, ... element.
        scopes: Elements with parameters, the innermost first.
        parts: The elements of the file.
        resources: Resolves images.
    """

    def __init__(
        self,
        shader: Element,
        scopes: tuple[Element, ...],
        parts: ColladaParts,
        resources: MeshResources,
    ) -> None:
        self._shader = shader
        self._scopes = scopes
        self._parts = parts
        self._resources = resources
        self.tex_coord = ""

    def material(self, name: str) -> Material:
        """Return the material."""
        written = self._shader.first("diffuse")
        map_ = None if written is None else written.first("texture")
        texture = None if map_ is None else self._texture(map_)
        # OpenHRP writes a colour, too, which remains if there is no image.
        diffuse = self._color("diffuse", 1.0 if map_ is not None else _GREY)
        if texture is not None:
            diffuse = (1.0, 1.0, 1.0)
        brightness = sum(diffuse)
        ambient = sum(self._color("ambient", 0.1)) / brightness if brightness > 0.0 else 1.0
        shininess = self._float("shininess") or 0.0
        return Material(
            name=name,
            diffuse=diffuse,
            specular=self._color("specular", 0.4),
            emissive=self._color("emission", 0.0),
            ambient=min(ambient, 1.0),
            shininess=min(max(shininess / _MAX_SHININESS, 0.0), 1.0),
            transparency=self._transparency(),
            texture=texture,
        )

    def _values(self, name: str, *counts: int) -> list[float] | None:
        """Return the numbers of a property; None without it, or after recording that it is broken.

        A ``<param>`` refers to a ``<newparam>`` with the numbers.
        """
        element = self._shader.first(name)
        written = None if element is None else element.first("color", "float", "param")
        if element is None or written is None:
            if element is not None and element.first("texture") is None:
                self._parts.lose(element, f"<{name}> of an effect has no value")
            return None
        if written.tag == "param":
            parameter = self._parameter(written.attributes.get("ref", ""))
            written = next(parameter.all(*_FLOATS), written) if parameter else written
        values = finite_numbers(written, *counts)
        if values is None:
            invalid = numbers(written.text)
            if invalid is not None and len(invalid) in counts:
                message = f"'{self._parts.name}' has a <{name}> that is not finite; "
                message += "the default is used"
                self._parts.warn("wrong-value", message, written.span)
            else:
                self._parts.lose(element, f"<{name}> of an effect has no numbers")
        return values

    def _color(self, name: str, default: float) -> Color:
        values = self._values(name, 3, 4)
        if values is None:
            return default, default, default
        r, g, b = (min(max(value, 0.0), 1.0) for value in values[:3])
        return r, g, b

    def _float(self, name: str) -> float | None:
        values = self._values(name, 1)
        return None if values is None else values[0]

    def _transparency(self) -> float:
        """Return 0 for opaque to 1 for invisible (COLLADA 1.4.1, determining transparency).

        Completely invisible materials are treated as opaque: some exporters invert the scale.
        """
        transparent = self._shader.first("transparent")
        mode = "A_ONE" if transparent is None else transparent.attributes.get("opaque", "A_ONE")
        color = self._values("transparent", 3, 4) or [1.0, 1.0, 1.0]
        amount = self._float("transparency")
        is_by_alpha = mode in ("A_ONE", "A_ZERO")
        if amount is None:
            amount = 1.0 if is_by_alpha else 0.0
        shown = color[3] if len(color) > 3 else 1.0
        if not is_by_alpha:
            shown = sum(c * weight for c, weight in zip(color[:3], _LUMINANCE, strict=True))
        hidden = shown * amount if mode in ("A_ZERO", "RGB_ZERO") else 1.0 - shown * amount
        return hidden if 0.0 <= hidden < 1.0 else 0.0

    def _texture(self, map_: Element) -> Texture | None:
        image = self._image(map_.attributes.get("texture", ""))
        written = None if image is None else image.first("init_from")
        reference = None if written is None else written.first("ref") or written
        if reference is None or not reference.text.strip():
            message = f"'{self._parts.name}' has a texture without an image; it is left out"
            self._parts.warn("missing-resource", message, map_.span)
            return None
        path = self._resources.resolve(reference.text.strip(), reference.span)
        if path is None:
            return None
        self.tex_coord = map_.attributes.get("texcoord", "")
        return Texture(path)

    def _image(self, name: str) -> Element | None:
        """Return the image of a sampler, directly (1.5), or of its surface; or one by its id."""
        sampler = self._inner(name, "sampler2D")
        if sampler is None:
            return self._parts.with_id(name, "image")
        instance = sampler.first("instance_image")
        if instance is not None:
            return self._parts.find(instance, "url", "image")
        source = sampler.first("source")
        surface = None if source is None else self._inner(source.text.strip(), "surface")
        written = None if surface is None else surface.first("init_from")
        return None if written is None else self._parts.with_id(written.text.strip(), "image")

    def _inner(self, name: str, tag: str) -> Element | None:
        parameter = self._parameter(name)
        return None if parameter is None else parameter.first(tag)

    def _parameter(self, name: str) -> Element | None:
        return next((x for x in self._parameters() if x.attributes.get("sid") == name), None)

    def _parameters(self) -> Iterator[Element]:
        for scope in self._scopes:
            yield from scope.all("newparam")
