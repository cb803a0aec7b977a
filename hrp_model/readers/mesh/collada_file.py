"""Read COLLADA files as scenes, with the names of their nodes."""

from __future__ import annotations

from math import inf
from pathlib import Path

import numpy as np

from ...diagnostics import Diagnostics, Severity, Source
from ...files.resources import MAX_TEXT_SIZE
from ...geometry import Mesh, SceneNode, Shape
from ...reading import Reading, read_source
from ...rigid import Array, axis_angle_matrix, unit_vector
from ..xml_tree import Element, parse
from .collada_materials import BoundMaterial, ColladaMaterials
from .collada_mesh import Primitive, read_primitives
from .collada_parts import ColladaParts, finite_numbers, numbers
from .mesh_resources import MeshResources

_MAX_DEPTH = 100
# Limits of instances of nodes, which a small file can repeat any number of times: the larger of a
# total and a multiple of the nodes in the file.
_MAX_NODES = 10_000
_MAX_REPEATS = 10
_MAX_ELEMENTS = 500_000  # which take about 0.5 kB of memory each
_TRANSFORMS = {"translate": 3, "rotate": 4, "scale": 3, "matrix": 16, "lookat": 9}


def read_collada(path: Path, reading: Reading) -> SceneNode:
    """Read the visual scene of a COLLADA file, in [m].

    The unit of the file is converted, but not its upper axis, as robot models with such files
    expect. Parts that cannot be used are left out with a warning: a broken material or camera
    does not affect the shapes.

    Raises:
        OSError: The file cannot be read.
        ValueError: It is not a COLLADA file, or has no polygons.
    """
    return read_collada_text(read_source(path, limit=MAX_TEXT_SIZE), reading)


def read_collada_text(source: Source, reading: Reading) -> SceneNode:
    """Read the visual scene of a COLLADA document, as ``read_collada``."""
    path = source.path or Path(source.name)
    root = _root(source, reading.diagnostics)
    parts = ColladaParts(root, path.name, reading.diagnostics)
    file = _File(parts, MeshResources(path, reading))
    scene = file.scene()
    parts.report()
    if not file.has_shapes:
        raise ValueError("it contains no polygon")
    return scene


def _root(source: Source, diagnostics: Diagnostics) -> Element:
    """Return the root element of a file; raises ValueError if it is not COLLADA."""
    if source.text.startswith("PK"):
        raise ValueError("it is compressed; unpack it first")
    if source.text.count("<") > 2 * _MAX_ELEMENTS:
        raise ValueError(f"it has more than {_MAX_ELEMENTS} elements")
    found = Diagnostics(listener=lambda _: None)
    root = parse(source, found)
    if root is None:
        problem = next(x for x in found.found if x.severity is Severity.ERROR)
        line, _ = source.line_column(problem.at.start if problem.at else 0)
        raise ValueError(f"{problem.message} (line {line})")
    if root.tag.rpartition(":")[2] != "COLLADA":
        raise ValueError("it is not COLLADA")
    for warning in found.found:
        diagnostics.add(warning)
    return root


class _File:
    """Converts the nodes and geometries of one file, each geometry once."""

    def __init__(self, parts: ColladaParts, resources: MeshResources) -> None:
        self._parts = parts
        self._materials = ColladaMaterials(parts, resources)
        self._primitives: dict[int, list[Primitive]] = {}
        self._meshes: dict[tuple[int, bool, str | None], Mesh | None] = {}
        self._count = 0
        self._seen: set[int] = set()
        self._open: list[Element] = []
        self.has_shapes = False

    def scene(self) -> SceneNode:
        """Return the visual scene; the first one if the file does not choose."""
        unit = self._unit()
        chosen = self._parts.root.first("scene")
        instance = None if chosen is None else chosen.first("instance_visual_scene")
        scene = None if instance is None else self._parts.find(instance, "url", "visual_scene")
        if scene is None:
            libraries = self._parts.root.all("library_visual_scenes")
            scene = next((x for library in libraries for x in library.all("visual_scene")), None)
        nodes = () if scene is None else scene.all("node")
        children = tuple(self._node(node) for node in nodes)
        return SceneNode(T_PN=np.diag([unit, unit, unit, 1.0]), children=children)

    def _unit(self) -> float:
        """Return the length unit of the file in [m]."""
        asset = self._parts.root.first("asset")
        element = None if asset is None else asset.first("unit")
        written = None if element is None else element.attributes.get("meter")
        if element is None or written is None:
            return 1.0
        values = numbers(written)
        unit = float(values[0]) if values is not None and len(values) == 1 else np.nan
        if 0.0 < unit < inf:
            return unit
        message = f"'{self._parts.name}' has a length unit of '{written}' m; metres are used"
        self._parts.warn("wrong-value", message, element.at("meter"))
        return 1.0

    def _node(self, element: Element) -> SceneNode:
        """Return a node with all that it contains."""
        self._count += 1
        self._seen.add(id(element))
        if len(self._open) > _MAX_DEPTH:
            raise ValueError(f"its nodes are nested more than {_MAX_DEPTH} levels deep")
        if self._count > max(_MAX_NODES, _MAX_REPEATS * len(self._seen)):
            raise ValueError(f"its {len(self._seen)} nodes are used {self._count} times or more")
        self._open.append(element)
        shapes: list[Shape] = []
        children = []
        T_PN = np.eye(4)
        for child in element.children:
            if child.tag in _TRANSFORMS:
                T_PN = T_PN @ self._transform(child)
            elif child.tag == "skew":
                self._parts.lose(child, "<skew> is not supported")
            elif child.tag == "instance_geometry":
                shapes += self._shapes(child, self._parts.find(child, "url", "geometry"))
            elif child.tag == "instance_controller":
                shapes += self._controlled(child, self._parts.find(child, "url", "controller"))
            elif child.tag == "node":
                children.append(self._node(child))
            elif child.tag == "instance_node":
                children += self._instance(child)
        self._open.pop()
        self.has_shapes = self.has_shapes or bool(shapes)
        name = element.attributes.get("name") or element.attributes.get("id", "")
        return SceneNode(name=name, T_PN=T_PN, shapes=tuple(shapes), children=tuple(children))

    def _instance(self, instance: Element) -> list[SceneNode]:
        """Return the node that an ``<instance_node>`` repeats; none if there is none."""
        node = self._parts.find(instance, "url", "node")
        if node is None:
            return []
        if any(node is x for x in self._open):
            self._parts.lose(instance, f"node '{node.attributes['id']}' contains itself")
            return []
        return [self._node(node)]

    def _transform(self, element: Element) -> Array:
        values = finite_numbers(element, _TRANSFORMS[element.tag])
        T = None if values is None else _matrix(element.tag, np.array(values))
        if T is None:
            self._parts.lose(element, f"<{element.tag}> must be {_TRANSFORMS[element.tag]} numbers")
            return np.eye(4)
        return T

    def _controlled(self, instance: Element, controller: Element | None) -> list[Shape]:
        """Return the shapes of a skin in its bind pose, or of a morph's base.

        Bones are not animated.
        """
        T = np.eye(4)
        # A skin may be that of a morph.
        for _ in range(_MAX_DEPTH):
            if controller is None or controller.tag == "geometry":
                break
            deformer = controller.first("skin", "morph")
            if deformer is None:
                self._parts.lose(controller, "a controller has neither <skin> nor <morph>")
                return []
            bound = deformer.first("bind_shape_matrix")
            if bound is not None:
                values = finite_numbers(bound, 16)
                if values is None:
                    self._parts.lose(bound, "<bind_shape_matrix> must be 16 numbers")
                else:
                    T = T @ np.array(values).reshape(4, 4)
            controller = self._parts.find(deformer, "source", "geometry", "controller")
        if controller is None or controller.tag != "geometry":
            return []
        return [shape.moved(T) for shape in self._shapes(instance, controller)]

    def _shapes(self, instance: Element, geometry: Element | None) -> list[Shape]:
        if geometry is None:
            return []
        if id(geometry) not in self._primitives:
            self._primitives[id(geometry)] = list(read_primitives(geometry, self._parts))
        bindings = self._bindings(instance)
        shapes = []
        for primitive in self._primitives[id(geometry)]:
            bound, tex_coord_set = bindings.get(primitive.symbol, (BoundMaterial(), None))
            key = id(primitive), bound.double_sided, tex_coord_set
            if key not in self._meshes:
                self._meshes[key] = primitive.mesh(
                    solid=not bound.double_sided, tex_coord_set=tex_coord_set
                )
            mesh = self._meshes[key]
            if mesh is not None:
                name = geometry.attributes.get("name", "")
                shapes.append(Shape(mesh, material=bound.material, name=name))
        return shapes

    def _bindings(self, instance: Element) -> dict[str, tuple[BoundMaterial, str | None]]:
        """Return the material of each symbol, and the set of texture coordinates that it uses."""
        bindings: dict[str, tuple[BoundMaterial, str | None]] = {}
        binding = instance.first("bind_material")
        technique = None if binding is None else binding.first("technique_common")
        for used in () if technique is None else technique.all("instance_material"):
            material = self._parts.find(used, "target", "material")
            if material is None:
                continue
            bound = self._materials.material(material)
            inputs = {x.attributes.get("semantic"): x for x in used.all("bind_vertex_input")}
            chosen = inputs.get(bound.tex_coord)
            number = None if chosen is None else chosen.attributes.get("input_set", "0")
            bindings[used.attributes.get("symbol", "")] = bound, number
        return bindings


def _matrix(tag: str, values: Array) -> Array | None:
    """Return the matrix of a transform, or None if it has none."""
    T = np.eye(4)
    if tag == "matrix":
        T = values.reshape(4, 4)
    elif tag == "translate":
        T[:3, 3] = values
    elif tag == "scale":
        T[[0, 1, 2], [0, 1, 2]] = values
    elif tag == "rotate":
        axis = unit_vector(values[:3])
        if axis is not None:
            T[:3, :3] = axis_angle_matrix(axis, float(np.radians(values[3])))
    else:  # lookat: from the eye along -Z to a point, with Y upward
        eye, target, up = values.reshape(3, 3)
        z = unit_vector(eye - target)
        x = None if z is None else unit_vector(np.cross(up, z))
        if x is None or z is None:
            return None
        T[:3] = np.column_stack((x, np.cross(z, x), z, eye))
    return T
