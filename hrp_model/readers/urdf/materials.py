"""Read materials: colours and textures by name."""

from __future__ import annotations

from urdf_parser_py import urdf

from ...diagnostics import Diagnostics, did_you_mean
from ...geometry import Material, Texture
from ...reading import Reading
from ..xml_tree import Element
from .objects import ObjectReader, UrdfObject

# Of shapes without a material.
PLAIN = Material()
_COLOR_TOLERANCE = 1e-3


class MaterialReader:
    """Reads the materials of a robot."""

    def __init__(self, reading: Reading, objects: ObjectReader) -> None:
        self._reading = reading
        self._objects = objects
        self._by_name: dict[str, Material] = {}
        self._by_element: dict[int, Material] = {}

    def collect(self, robot: Element) -> None:
        """Collect the materials at the top level of a robot, then those defined in links.

        A link may refer to a material that any other link defines.
        """
        for element in robot.all("material"):
            name = element.attributes.get("name", "")
            made = self._objects.read(urdf.Material, element)
            if name in self._by_name:
                message = f"material '{name}' is already defined; this one is ignored"
                self._reading.diagnostics.warn("duplicate-material", message, element.span)
            elif name:
                self._by_name[name] = self._defined(made, element)
        # Problems are reported when the links are read.
        quiet = ObjectReader(Diagnostics(listener=lambda _: None))
        for link in robot.all("link"):
            for visual in link.all("visual"):
                for element in visual.all("material"):
                    name = element.attributes.get("name", "")
                    if name and element.children and name not in self._by_name:
                        made = quiet.read(urdf.LinkMaterial, element)
                        self._by_name[name] = self._defined(made, element)

    def material(self, visual: Element, made: UrdfObject | None) -> Material | None:
        """Return the material of a shape; None if it has none, or an unknown one.

        Args:
            visual: Its <visual>.
            made: The object of the <material> in it, if there is one.
        """
        if made is None:
            return None
        element = visual.first("material")
        assert element is not None
        if element.first("color", "texture") is not None:
            return self._defined(made, element)
        known = self._by_name.get(made.name)
        if known is None:
            message = f"there is no material '{made.name}'.{did_you_mean(made.name, self._by_name)}"
            self._reading.diagnostics.warn("unknown-material", message, element.at("name"))
        return known

    def _defined(self, made: UrdfObject | None, element: Element) -> Material:
        """Return the material that an element defines; its texture is resolved once."""
        if id(element) not in self._by_element:
            name = element.attributes.get("name", "")
            material = Material(name) if made is None else self._material(made, element)
            self._by_element[id(element)] = material
        return self._by_element[id(element)]

    def _material(self, made: UrdfObject, element: Element) -> Material:
        texture = self._texture(made, element)
        if made.color is None or made.color.rgba is None:
            diffuse = (1.0, 1.0, 1.0) if texture else PLAIN.diffuse  # an image shows as it is
            return Material(made.name, diffuse, texture=texture)
        if not all(-_COLOR_TOLERANCE <= x <= 1.0 + _COLOR_TOLERANCE for x in made.color.rgba):
            written = element.first("color")
            at = element.span if written is None else written.at("rgba")
            message = f"the numbers of colour '{made.name}' must be in 0..1; they are clipped"
            self._reading.diagnostics.warn("color-range", message, at)
        r, g, b, a = (min(1.0, max(0.0, x)) for x in made.color.rgba)
        return Material(made.name, (r, g, b), transparency=1.0 - a, texture=texture)

    def _texture(self, made: UrdfObject, element: Element) -> Texture | None:
        if made.texture is None:
            return None
        written = element.first("texture")
        at = element.span if written is None else written.at("filename")
        path = self._reading.resolve(made.texture.filename, at, folder=self._reading.folder)
        return None if path is None else Texture(path)
