"""The materials of a robot: colours and textures by name."""

from __future__ import annotations

from urdf_parser_py import urdf

from ..diagnostics import did_you_mean
from ..geometry import Material, Texture
from ..reading import Reading
from .markup import Element
from .objects import ObjectReader, UrdfObject

# What a shape looks like of which nothing is said.
PLAIN = Material()


class MaterialReader:
    """Knows the materials defined anywhere in a robot."""

    def __init__(self, reading: Reading, objects: ObjectReader) -> None:
        self._reading = reading
        self._objects = objects
        self._by_name: dict[str, Material] = {}

    def collect(self, robot: Element) -> None:
        """Take up the materials at the top of a robot, then those that its links define.

        A link may use a name that another one defines, above it or below.
        """
        for element in robot.all("material"):
            self._define(element, urdf.Material)
        for link in robot.all("link"):
            for visual in link.all("visual"):
                for element in visual.all("material"):
                    if element.children and element.attributes.get("name") not in self._by_name:
                        self._define(element, urdf.LinkMaterial)

    def _define(self, element: Element, kind: UrdfObject) -> None:
        name = element.attributes.get("name", "")
        if not name:
            return  # a link may look like this one, but no other can
        if name in self._by_name:
            message = f"there is a material '{name}' already; this one is not used"
            self._reading.diagnostics.warn("duplicate-material", message, element.span)
            return
        made = self._objects.read(kind, element)
        self._by_name[name] = Material(name) if made is None else self._material(made, element)

    def material(self, visual: Element, made: UrdfObject | None) -> Material:
        """Return the looks of a shape.

        Args:
            visual: Its <visual>.
            made: What is read of the <material> in it, if there is one.
        """
        if made is None:
            return PLAIN
        element = visual.first("material")
        assert element is not None
        if made.color is not None or made.texture is not None:
            return self._material(made, element)
        known = self._by_name.get(made.name)
        if known is None:
            message = f"there is no material '{made.name}'.{did_you_mean(made.name, self._by_name)}"
            self._reading.diagnostics.warn("unknown-material", message, element.at("name"))
            return Material(made.name)
        return known

    def _material(self, made: UrdfObject, element: Element) -> Material:
        texture = self._texture(made, element)
        if made.color is None or made.color.rgba is None:
            # An image shows as it is.
            return Material(made.name or "", (1.0, 1.0, 1.0) if texture else PLAIN.diffuse,
                            texture=texture)  # fmt: skip
        r, g, b, a = (min(1.0, max(0.0, x)) for x in made.color.rgba)
        return Material(made.name or "", (r, g, b), transparency=1.0 - a, texture=texture)

    def _texture(self, made: UrdfObject, element: Element) -> Texture | None:
        if made.texture is None:
            return None
        written = element.first("texture")
        at = element.span if written is None else written.at("filename")
        path = self._reading.resolve(made.texture.filename, at)
        return None if path is None else Texture(path)
