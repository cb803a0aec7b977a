"""Shape nodes to shapes: geometry, appearance, and what is drawn of a group."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from ..geometry import Box, Color, Cone, Cylinder, Geometry, Material, Mesh, Shape, Sphere, Texture
from ..meshing import planar_tex_coords
from ..reading import Reading
from ..resources import ResourceError, resolve
from ..rigid import Array
from .expand import Expander
from .fields import Fields
from .meshes import MeshReader
from .nodes import Node

# Where a node keeps what is below it, when it is not "children".
_MEMBERS = {"Humanoid": "humanoidBody", "Surface": "visual"}


def members(node: Node, expander: Expander) -> Iterator[Node]:
    """Yield the nodes that a group shows: of a Switch its choice, of a LOD the finest level."""
    if node.type_name == "Switch":
        choices = tuple(expander.nodes(node.get("choice")))
        chosen = node.get("whichChoice")
        if isinstance(chosen, int) and 0 <= chosen < len(choices):
            yield choices[chosen]
    elif node.type_name == "LOD":
        level = node.get("level")
        yield from expander.nodes(level[:1] if isinstance(level, tuple) else level)
    else:
        yield from expander.nodes(node.get(_MEMBERS.get(node.type_name, "children")))


class ShapeReader:
    """Reads shapes; what several shapes share is read once."""

    def __init__(self, reading: Reading, expander: Expander, fields: Fields) -> None:
        self._reading = reading
        self._expander = expander
        self._fields = fields
        self._meshes = MeshReader(reading.diagnostics, expander, fields)
        self._geometries: dict[int, tuple[Node, Geometry | None]] = {}  # keeps the key alive
        self._materials: dict[int, tuple[Node, Material]] = {}

    def shape(self, node: Node, T_FG: Array) -> Shape | None:
        """Return the shape of a Shape node placed by ``T_FG``; None when nothing is to be seen."""
        written = self._expander.node(node, "geometry")
        if written is None:
            return None
        if id(written) not in self._geometries:
            self._geometries[id(written)] = (written, self._geometry(written))
        geometry = self._geometries[id(written)][1]
        if geometry is None:
            return None
        material = self._appearance(self._expander.node(node, "appearance"))
        if isinstance(geometry, Mesh) and material.texture and geometry.tex_coords is None:
            geometry = self._textured(written, geometry)
        return Shape(geometry, T_FG, material, node.name)

    def inline(self, node: Node) -> Path | None:
        """Return the file that an Inline draws in: the first of its list that exists.

        The standard takes the first that can be had; some viewers take all, so further
        existing files are reported.
        """
        found: Path | None = None
        for url in self._fields.texts(node, "url"):
            if found is None:
                found = self._reading.resolve(url, node.at("url"))
            elif _exists(url, node):
                message = f"an Inline takes the first file of its list; '{url}' is left out"
                self._reading.diagnostics.warn("inline-list", message, node.at("url"))
        return found

    def _geometry(self, node: Node) -> Geometry | None:
        name, fields = node.type_name, self._fields
        if name == "Box":
            size = fields.vector(node, "size")
            return None if self._negative(node, "size", size.min()) else Box(size)
        if name in ("Sphere", "Cylinder", "Cone"):
            radius_field = "bottomRadius" if name == "Cone" else "radius"
            radius = fields.number(node, radius_field)
            if self._negative(node, radius_field, radius):
                return None
            if name == "Sphere":
                return Sphere(radius)
            height = fields.number(node, "height")
            if self._negative(node, "height", height):
                return None
            side, bottom = fields.flag(node, "side"), fields.flag(node, "bottom")
            if name == "Cone":
                return Cone(radius, height, bottom, side)
            return Cylinder(radius, height, fields.flag(node, "top"), bottom, side)
        return self._meshes.mesh(node)

    def _negative(self, node: Node, field_name: str, value: float) -> bool:
        if 0.0 <= value < np.inf:
            return False
        message = f"a {node.type_name} of {field_name} {value:g} is left out"
        self._reading.diagnostics.warn("bad-size", message, node.at(field_name))
        return True

    def _textured(self, written: Node, mesh: Mesh) -> Mesh:
        """Return the mesh with the standard's default texture coordinates (6.23)."""
        mesh = replace(mesh, tex_coords=planar_tex_coords(mesh))
        self._geometries[id(written)] = (written, mesh)
        return mesh

    def _appearance(self, node: Node | None) -> Material:
        if node is None:
            return Material()
        if id(node) not in self._materials:
            self._materials[id(node)] = (node, self._material(node))
        return self._materials[id(node)][1]

    def _material(self, appearance: Node) -> Material:
        texture = self._texture(appearance)
        node = self._expander.node(appearance, "material")
        if node is None:
            return Material(appearance.name, texture=texture)
        fields = self._fields
        return Material(
            name=node.name or appearance.name,
            diffuse=self._color(node, "diffuseColor"),
            specular=self._color(node, "specularColor"),
            emissive=self._color(node, "emissiveColor"),
            ambient=fields.number(node, "ambientIntensity"),
            shininess=fields.number(node, "shininess"),
            transparency=fields.number(node, "transparency"),
            texture=texture,
        )

    def _color(self, node: Node, field_name: str) -> Color:
        red, green, blue = self._fields.vector(node, field_name).tolist()
        return red, green, blue

    def _texture(self, appearance: Node) -> Texture | None:
        node = self._expander.node(appearance, "texture")
        if node is None:
            return None
        if node.type_name != "ImageTexture":
            message = f"a {node.type_name} is not drawn; put its picture in a file"
            self._reading.diagnostics.warn("unsupported-texture", message, node.span)
            return None
        fields = self._fields
        urls = fields.texts(node, "url")
        path = next(filter(None, (self._reading.resolve(u, node.at("url")) for u in urls)), None)
        if path is None:
            return None
        repeat = fields.flag(node, "repeatS"), fields.flag(node, "repeatT")
        moved = self._expander.node(appearance, "textureTransform")
        if moved is None:
            return Texture(path, repeat)
        return Texture(
            path,
            repeat,
            center=_pair(fields.vector(moved, "center", 2)),
            rotation=fields.number(moved, "rotation"),
            scale=_pair(fields.vector(moved, "scale", 2)),
            translation=_pair(fields.vector(moved, "translation", 2)),
        )


def _pair(vector: Array) -> tuple[float, float]:
    first, second = vector.tolist()
    return first, second


def _exists(url: str, node: Node) -> bool:
    folder = node.source.path.parent if node.source.path else Path()
    try:
        resolve(url, folder)
    except ResourceError:
        return False
    return True
