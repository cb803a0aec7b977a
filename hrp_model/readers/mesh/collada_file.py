"""Read COLLADA files as scenes, with the names of their nodes, and materials with their images."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from pathlib import Path

import numpy as np

from ...diagnostics import Diagnostics, Severity, Source
from ...files.resources import MAX_TEXT_SIZE
from ...geometry import Color, Material, Mesh, SceneNode, Shape, Texture
from ...late_dataclass import dataclass
from ...read_context import ReadContext, read_source
from ...rigid import Array, axis_angle_matrix, unit_vector
from ..xml_tree import Element, parse
from .collada_mesh import ColladaParts, Primitive, finite_numbers, numbers, read_primitives
from .mesh_resources import MeshResources

_GREY = 0.6  # default diffuse colour, as in Choreonoid
_SHADERS = ("phong", "lambert", "blinn", "constant")
_FLOATS = ("float", "float2", "float3", "float4")
_MAX_SHININESS = 128.0
_LUMINANCE = (0.212671, 0.715160, 0.072169)
DEFAULT = Material(diffuse=(_GREY, _GREY, _GREY), ambient=1.0)
_MAX_DEPTH = 100
# Limits of instances of nodes, which a small file can repeat any number of times: the larger of a
# total and a multiple of the nodes in the file.
_MAX_NODES = 10_000
_MAX_REPEATS = 10
_MAX_ELEMENTS = 500_000  # which take about 0.5 kB of memory each
_TRANSFORMS = {"translate": 3, "rotate": 4, "scale": 3, "matrix": 16, "lookat": 9}


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


def read_collada(path: Path, context: ReadContext) -> SceneNode:
    """Read the visual scene of a COLLADA file, in [m].

    The unit of the file is converted, but not its upper axis, as robot models with such files
    expect. Parts that cannot be used are left out with a warning: a broken material or camera
    does not affect the shapes.

    Raises:
        OSError: The file cannot be read.
        ValueError: It is not a COLLADA file, or has no polygons.
    """
    return read_collada_text(read_source(path, limit=MAX_TEXT_SIZE), context)


def read_collada_text(source: Source, context: ReadContext) -> SceneNode:
    """Read the visual scene of a COLLADA document, as ``read_collada``."""
    path = source.path or Path(source.name)
    root = _root(source, context.diagnostics)
    parts = ColladaParts(root, path.name, context.diagnostics)
    file = _File(parts, MeshResources(path, context))
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
    found = Diagnostics.silent()
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
