"""Read shapes from Shape nodes: geometry, appearance and textures.

A file read as a scene has only its shapes, with the names by which a model can select them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from ...diagnostics import Diagnostics
from ...geometry import (
    Attribute,
    Box,
    ByteArray,
    Color,
    Cone,
    Cylinder,
    Geometry,
    IntArray,
    Material,
    Mesh,
    SceneNode,
    Shape,
    Sphere,
    Texture,
)
from ...read_context import ReadContext
from ...rigid import Array
from ...shapes.meshing import elevation_grid, extrusion, face_set
from ...shapes.triangulate import oversized_polygon
from .fields import Fields, scenery_types, standard_types
from .nodes import Expander, Node
from .parts import LIGHTS

# Limit of the points of all extrusions in a file, each the product of the lengths of two lists.
_MAX_POINTS = 2_000_000
_WITHOUT_SURFACE = frozenset(("IndexedLineSet", "PointSet", "Text"))
_MAX_COMPONENTS = 4
# Field with the children of a node, if it is not "children".
_CHILDREN_FIELDS = {"Humanoid": "humanoidBody", "Surface": "visual"}
# Far deeper than any scene, and well within the limit of Python's stack.
MAX_DEPTH = 250


class MeshReader:
    """Reads geometry nodes that become meshes."""

    def __init__(self, diagnostics: Diagnostics, expander: Expander, fields: Fields) -> None:
        self._diagnostics = diagnostics
        self._expander = expander
        self._fields = fields
        self._swept = 0
        self._readers = {
            "IndexedFaceSet": self._face_set,
            "Extrusion": self._extrusion,
            "ElevationGrid": self._elevation_grid,
        }

    def mesh(self, node: Node) -> Mesh | None:
        """Return the mesh of a geometry node, or None if it has no triangles."""
        reader = self._readers.get(node.type_name)
        if reader is not None:
            mesh = reader(node)
            if mesh is None or len(mesh.triangles):
                return mesh
            message = f"this {node.type_name} has no face with three corners; it is left out"
            self._diagnostics.note("empty-mesh", message, node.span)
            return None
        if node.type_name in _WITHOUT_SURFACE:
            message = f"{node.type_name} has no surface; it is left out"
            self._diagnostics.note("no-surface", message, node.span)
        else:
            message = f"{node.type_name} is not a geometry; it is left out"
            self._diagnostics.warn("unknown-geometry", message, node.span)
        return None

    def _face_set(self, node: Node) -> Mesh:
        fields = self._fields
        points = self._values(node, "coord", "point", 3)
        index = fields.indices(node, "coordIndex")
        if points is None or not len(index):
            return Mesh(np.empty((0, 3)), np.empty((0, 3), dtype=np.int32))
        points, index = self._usable(node, points, index)
        given = {
            "normals": self._attribute(node, "normal", "vector", 3, "normal", index),
            "colors": self._attribute(node, "color", "color", 3, "color", index),
            "tex_coords": self._attribute(node, "texCoord", "point", 2, "", index),
        }
        mesh = face_set(
            points,
            index,
            **given,
            ccw=fields.flag(node, "ccw"),
            crease_angle=fields.number(node, "creaseAngle"),
            solid=fields.flag(node, "solid"),
        )
        for name, attribute in given.items():
            if attribute is not None and getattr(mesh, name) is None and len(mesh.triangles):
                what = f"{name.replace('_', ' ')} ({len(attribute.values)})"
                message = f"the {what} do not match the faces; they are left out"
                self._diagnostics.warn("mismatched-attribute", message, node.span)
        return mesh

    def _usable(self, node: Node, points: Array, index: IntArray) -> tuple[Array, IntArray]:
        """Return points and indices in which faces with invalid points are marked to be dropped.

        Indices out of range, oversized polygons and points that are not finite are reported.
        """
        if int(index.max()) >= len(points):
            faces = 1 + np.count_nonzero(index[: np.argmax(index >= len(points))] < 0)
            message = f"face {faces} uses a point that does not exist; there are {len(points)}"
            self._diagnostics.warn("bad-index", message, node.at("coordIndex"))
            index = np.minimum(index, len(points))
        if corners := oversized_polygon(index):
            message = f"a face with {corners} corners is triangulated as if it were convex"
            self._diagnostics.warn("large-face", message, node.at("coordIndex"))
        # The sum detects any NaN without an array of flags.
        if not np.isfinite(points.sum()):
            broken = np.logical_not(np.isfinite(points).all(axis=1))
            if broken.any():
                message = (
                    f"{np.count_nonzero(broken)} points are not finite; their faces are left out"
                )
                self._diagnostics.warn("not-finite", message, node.span)
                points = np.where(broken[:, None], 0.0, points)
                inside = np.clip(index, 0, len(points) - 1)
                index = np.where((index >= 0) & broken[inside], len(points), index)
        return points, index

    def _attribute(
        self, node: Node, owner: str, values_field: str, width: int, prefix: str, index: IntArray
    ) -> Attribute | None:
        """Return the attribute of a Normal, Color or TextureCoordinate node."""
        values = self._values(node, owner, values_field, width)
        if values is None or not len(values):
            return None
        own = self._fields.indices(node, f"{prefix}Index" if prefix else "texCoordIndex")
        if owner == "color" and len(values) == 1 and not len(own):
            return Attribute(values, np.zeros_like(index))  # one colour for all
        if prefix and not self._fields.flag(node, f"{prefix}PerVertex"):
            faces = np.count_nonzero(index < 0) + int(index[-1] >= 0)
            own = own if len(own) else np.arange(faces, dtype=np.int32)
            return Attribute(values, own[:faces].astype(np.int32))
        if not len(own):
            own = index
        elif abs(len(own) - len(index)) == 1:  # the last -1 is missing in one of the lists
            own = np.append(own, -1)[: len(index)]
        return Attribute(values, np.minimum(own, len(values)).astype(np.int32))

    def _values(self, node: Node, owner: str, values_field: str, width: int) -> Array | None:
        """Return the rows in a child node, such as a Coordinate."""
        child = self._expander.node(node, owner)
        if child is None:
            return None
        if values_field not in child.type.fields:
            message = f"{child.type_name} cannot be the '{owner}' of {node.type_name}"
            self._diagnostics.warn("unknown-geometry", message, child.span)
            return None
        return self._fields.rows(child, values_field, width)

    def _extrusion(self, node: Node) -> Mesh | None:
        fields = self._fields
        section = fields.rows(node, "crossSection", 2)
        spine = fields.rows(node, "spine", 3)
        scale = fields.rows(node, "scale", 2)
        orientation = fields.rows(node, "orientation", 4)
        for name, rows in (("scale", scale), ("orientation", orientation)):
            if not len(rows) or 1 < len(rows) < len(spine):
                message = f"{len(rows)} values of '{name}' for {len(spine)} points of the spine"
                self._diagnostics.warn("short-list", message, node.at(name))
        if not all(np.isfinite(rows).all() for rows in (section, spine, scale, orientation)):
            message = "an Extrusion has values that are not finite; it is left out"
            self._diagnostics.warn("not-finite", message, node.span)
            return None
        self._swept += len(section) * len(spine)
        if self._swept > _MAX_POINTS:
            message = f"an Extrusion of {len(section)} x {len(spine)} points is left out"
            self._diagnostics.warn("too-large", message, node.span)
            return None
        return extrusion(
            section,
            spine,
            scale if len(scale) else (1.0, 1.0),
            orientation if len(orientation) else (0.0, 0.0, 1.0, 0.0),
            begin_cap=fields.flag(node, "beginCap"),
            end_cap=fields.flag(node, "endCap"),
            ccw=fields.flag(node, "ccw"),
            crease_angle=fields.number(node, "creaseAngle"),
            solid=fields.flag(node, "solid"),
        )

    def _elevation_grid(self, node: Node) -> Mesh | None:
        fields = self._fields
        columns, rows = fields.integer(node, "xDimension"), fields.integer(node, "zDimension")
        height = fields.numbers(node, "height")
        if not np.isfinite(height).all():
            message = "an ElevationGrid has heights that are not finite; it is left out"
            self._diagnostics.warn("not-finite", message, node.span)
            return None
        try:
            mesh = elevation_grid(
                columns,
                rows,
                fields.number(node, "xSpacing"),
                fields.number(node, "zSpacing"),
                height,
                ccw=fields.flag(node, "ccw"),
                crease_angle=fields.number(node, "creaseAngle"),
                solid=fields.flag(node, "solid"),
            )
        except ValueError as error:
            message = f"an ElevationGrid is left out: {error}"
            self._diagnostics.warn("bad-size", message, node.at("height"))
            return None
        return replace(
            mesh,
            normals=self._grid_attribute(node, mesh, "normal", "vector", 3),
            colors=self._grid_attribute(node, mesh, "color", "color", 3),
            tex_coords=self._grid_attribute(node, mesh, "texCoord", "point", 2),
        )

    def _grid_attribute(
        self, node: Node, mesh: Mesh, owner: str, values_field: str, width: int
    ) -> Attribute | None:
        values = self._values(node, owner, values_field, width)
        if values is None:
            return None
        indices = mesh.triangles
        if owner == "color" and len(values) == 1:
            indices = np.zeros_like(indices)  # one colour for all
        elif owner != "texCoord" and not self._fields.flag(node, f"{owner}PerVertex"):
            cells = np.arange(len(indices), dtype=np.int32) // 2  # two triangles a cell
            indices = np.repeat(cells[:, None], 3, axis=1)
        if indices.size and int(indices.max()) >= len(values):
            message = f"'{owner}' does not match the grid; it is left out"
            self._diagnostics.warn("mismatched-attribute", message, node.at(owner))
            return None
        return Attribute(values, indices)


def image_pixels(values: Array) -> ByteArray | None:
    """Return the pixels of an SFImage, top row first, shape (height, width, components).

    An SFImage (ISO/IEC 14772-1, 5.5) consists of width, height and number of components,
    followed by one number per pixel, starting at the lower left corner, with one byte per
    component, the first one in the most significant byte. None for an empty image.

    Raises:
        ValueError: The numbers are not a valid image.
    """
    if len(values) < 3 or not np.isfinite(values).all():
        raise ValueError("its size is missing, or a number is not finite")
    width, height, components = (int(value) for value in values[:3])
    if not (width and height and components):
        return None
    if width < 0 or height < 0 or not 0 < components <= _MAX_COMPONENTS:
        raise ValueError(f"its size is {width} x {height} with {components} components")
    if len(values) - 3 != width * height:
        raise ValueError(f"it has {len(values) - 3} pixels instead of {width} x {height}")
    numbers = values[3:]
    if numbers.min() < 0.0 or numbers.max() >= 256.0**components:
        raise ValueError(f"a pixel does not fit into {components} bytes")
    words = numbers.astype(">u4").reshape(height, width)[::-1]
    pixels = np.ascontiguousarray(words).view(np.uint8).reshape(height, width, 4)
    return pixels[:, :, 4 - components :]


class ShapeReader:
    """Reads shapes; geometries and materials that several shapes share are read once."""

    def __init__(self, context: ReadContext, expander: Expander, fields: Fields) -> None:
        self._context = context
        self._expander = expander
        self._fields = fields
        self._meshes = MeshReader(context.diagnostics, expander, fields)
        self._geometries: dict[int, tuple[Node, Geometry | None]] = {}  # keeps the key alive
        self._materials: dict[int, tuple[Node, Material]] = {}
        self._inlines: dict[int, tuple[Node, Path | None]] = {}

    def members(self, node: Node) -> Iterator[Node]:
        """Yield the visible children: of a Switch its choice, of a LOD the finest level.

        A node that cannot have children, such as a Box outside of a Shape, is reported.
        """
        if node.type_name == "Switch":
            yield from self._chosen(node, "choice", self._fields.integer(node, "whichChoice"))
        elif node.type_name == "LOD":
            yield from self._chosen(node, "level", 0)
        else:
            field_name = _CHILDREN_FIELDS.get(node.type_name, "children")
            if field_name in node.type.fields or field_name in node.values:
                yield from self._expander.nodes(node.get(field_name))
            elif node.type_name in standard_types():
                message = f"a {node.type_name} is not allowed here; it is left out"
                self._context.diagnostics.warn("misplaced-node", message, node.span)

    def _chosen(self, node: Node, field_name: str, number: int) -> Iterator[Node]:
        written = node.get(field_name)
        listed = written if isinstance(written, tuple) else (written,)
        if 0 <= number < len(listed):
            yield from self._expander.nodes(listed[number])

    def shape(self, node: Node, T_FG: Array) -> Shape | None:
        """Return the shape of a Shape node placed by ``T_FG``; None if it has no geometry."""
        written = self._expander.node(node, "geometry")
        if written is None:
            return None
        if id(written) not in self._geometries:
            self._geometries[id(written)] = (written, self._geometry(written))
        geometry = self._geometries[id(written)][1]
        if geometry is None:
            return None
        material = self._appearance(self._part(node, "appearance", "Appearance"))
        return Shape(geometry, T_FG, material, node.name)

    def inline(self, node: Node) -> Path | None:
        """Return the file of an Inline: the first existing one of its list.

        So the standard specifies; some viewers load all, so further existing files are reported.
        """
        if id(node) in self._inlines:
            return self._inlines[id(node)][1]
        at = node.at("url")
        existing = [url for url in self._urls(node) if self._context.exists(url, at)]
        for url in existing[1:]:
            message = f"an Inline uses only the first file of its list; '{url}' is left out"
            self._context.diagnostics.warn("inline-list", message, at)
        path = self._file(node)
        self._inlines[id(node)] = (node, path)
        return path

    def _urls(self, node: Node) -> list[str]:
        return [url for url in self._fields.texts(node, "url") if url.strip()]

    def _file(self, node: Node) -> Path | None:
        """Return the first file of a list of alternatives, or None after reporting them all."""
        at, urls = node.at("url"), self._urls(node)
        first = next((url for url in urls if self._context.exists(url, at)), None)
        wanted = urls if first is None else [first]
        return next(filter(None, [self._context.resolve(url, at) for url in wanted]), None)

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
        return self._meshes.mesh(node) if node.type.is_known else None

    def _negative(self, node: Node, field_name: str, value: float) -> bool:
        if 0.0 <= value < np.inf:
            return False
        message = f"a {node.type_name} of {field_name} {value:g} is left out"
        self._context.diagnostics.warn("bad-size", message, node.at(field_name))
        return True

    def _appearance(self, node: Node | None) -> Material:
        if node is None:
            return Material()
        if id(node) not in self._materials:
            self._materials[id(node)] = (node, self._material(node))
        return self._materials[id(node)][1]

    def _material(self, appearance: Node) -> Material:
        texture = self._texture(appearance)
        node = self._part(appearance, "material", "Material")
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

    def _part(self, owner: Node, field_name: str, type_name: str) -> Node | None:
        """Return the node of a field that allows only one type; report any other."""
        node = self._expander.node(owner, field_name)
        if node is None or node.type_name == type_name:
            return node
        if node.type.is_known:
            message = f"{node.type_name} cannot be the '{field_name}' of {owner.type_name}"
            self._context.diagnostics.warn("misplaced-node", message, node.span)
        return None

    def _color(self, node: Node, field_name: str) -> Color:
        red, green, blue = self._fields.vector(node, field_name).tolist()
        return red, green, blue

    def _texture(self, appearance: Node) -> Texture | None:
        node = self._expander.node(appearance, "texture")
        if node is None:
            return None
        if node.type_name == "ImageTexture":
            path, image = self._file(node), None
        elif node.type_name == "PixelTexture":
            path, image = None, self._pixels(node)
        elif not node.type.is_known:
            return None  # was reported by the parser
        else:
            message = f"{node.type_name} is not supported; use an ImageTexture with a file"
            self._context.diagnostics.warn("unsupported-texture", message, node.span)
            return None
        if path is None and image is None:
            return None
        fields = self._fields
        repeat = fields.flag(node, "repeatS"), fields.flag(node, "repeatT")
        moved = self._part(appearance, "textureTransform", "TextureTransform")
        if moved is None:
            return Texture(path, repeat, image=image)
        return Texture(
            path,
            repeat,
            image=image,
            center=_pair(fields.vector(moved, "center", 2)),
            rotation=fields.number(moved, "rotation"),
            scale=_pair(fields.vector(moved, "scale", 2)),
            translation=_pair(fields.vector(moved, "translation", 2)),
        )

    def _pixels(self, node: Node) -> ByteArray | None:
        try:
            return image_pixels(self._fields.numbers(node, "image"))
        except ValueError as error:
            message = f"the image of a PixelTexture is left out: {error}"
            self._context.diagnostics.warn("bad-image", message, node.at("image"))
            return None


def _pair(vector: Array) -> tuple[float, float]:
    first, second = vector.tolist()
    return first, second


class SceneBuilder:
    """Converts VRML nodes to scene nodes, one for each group and each named shape.

    Attributes:
        joints: All Joint nodes, which are treated as groups.
        lights: All lights, each with the map from its group to the file, shape (4, 4).
    """

    def __init__(self, context: ReadContext, expander: Expander) -> None:
        self._context = context
        self._expander = expander
        self._fields = Fields(context.diagnostics)
        self._shapes = ShapeReader(context, expander, self._fields)
        self._depth = 0
        self._T_FG = np.eye(4)  # map of the current group to the file
        self.joints: list[Node] = []
        self.lights: list[tuple[Node, Array]] = []

    def scene(self, nodes: Iterable[object]) -> SceneNode:
        """Return the scene of a file's top-level nodes."""
        return self._group("", np.eye(4), self._expander.nodes(tuple(nodes)))

    def _group(self, name: str, T_PN: Array, nodes: Iterable[Node]) -> SceneNode:
        """Return a scene node of several nodes, in their order."""
        shapes: list[Shape] = []
        children: list[SceneNode] = []
        for node in nodes:
            part = self._part(node)
            if isinstance(part, Shape) and not part.name and not children:
                shapes.append(part)
            elif isinstance(part, Shape):
                children.append(SceneNode(part.name, shapes=(part,)))
            elif part is not None:
                children.append(part)
        return SceneNode(name, T_PN, tuple(shapes), tuple(children))

    def _part(self, node: Node) -> Shape | SceneNode | None:
        if node.type_name == "Shape":
            return self._shapes.shape(node, np.eye(4))
        if node.type_name in LIGHTS:
            self.lights.append((node, self._T_FG))
        if node.type_name in scenery_types():
            return None
        if node.type_name == "Inline":
            return self._inline(node)
        if self._depth >= MAX_DEPTH:
            message = f"groups are nested more than {MAX_DEPTH} levels deep"
            self._context.diagnostics.error("too-deep", message, node.span)
            return None
        if node.type_name == "Joint":
            self.joints.append(node)
        matrix = self._fields.affine(node)
        T_PN = np.eye(4) if matrix is None else matrix
        T_FP, self._T_FG = self._T_FG, self._T_FG @ T_PN
        self._depth += 1
        group = self._group(node.name, T_PN, self._shapes.members(node))
        self._depth -= 1
        self._T_FG = T_FP
        return group

    def _inline(self, node: Node) -> SceneNode | None:
        path: Path | None = self._shapes.inline(node)
        if path is None:
            self._context.lost_shapes += 1
            return None
        scene = self._context.read_scene(path, node.at("url"))
        if scene is None or not node.name:
            return scene
        return SceneNode(node.name, children=(scene,))
