"""Read shapes with materials and textures from Shape and Resource nodes.

Scene files (``.scen``) contain shapes in the notation of a link's elements.
"""

from __future__ import annotations

import re
from dataclasses import replace
from math import atan2
from pathlib import Path

import numpy as np

from ...diagnostics import did_you_mean
from ...geometry import Color, Material, Mesh, SceneNode, Shape, Texture
from ...read_context import ReadContext, read_source
from ...rigid import Array
from ..yaml.tree import Mapping, Node, Scalar, Sequence
from .geometries import read_geometry
from .scope import (
    COMMON,
    UNDRAWN,
    Placement,
    Scope,
    flag,
    is_library,
    is_optional,
    lenient_choice,
    opened_library,
    parse,
    placement,
    read_angle_unit,
    rotation,
    skip_unsupported,
    typed_nodes,
    warn_misspelt_keys,
)

# Choreonoid's defaults.
_DEFAULT_EXPONENT = 25.0
DEFAULT_MATERIAL = Material(diffuse=(1.0, 1.0, 1.0), ambient=1.0, shininess=25.0 / 128.0)
_UNITS = {
    "meter": 1.0, "metre": 1.0, "m": 1.0,
    "millimeter": 0.001, "millimetre": 0.001, "mm": 0.001,
    "inch": 0.0254, "in": 0.0254,
}  # fmt: skip
_RESOURCE_IGNORED = (
    *COMMON, "exclude", "remove_redundant_vertices", "removeRedundantVertices",
)  # fmt: skip
# (x, y, z) to (z, x, y), as in Choreonoid, which so also turns the front of a file from z to x.
_Y_UP = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
_FORMATS = ("", "ChoreonoidScene", "choreonoid_scene")
_READ_KEYS = frozenset(
    ("format", "format_version", "formatVersion", "angle_unit", "angleUnit", "scene")
)
# Lights in a scene are not devices of a link.
_LIGHTS = ("DirectionalLight", "PointLight", "SpotLight")
_GROUPS = ("Group", "Transform")
_TYPES = (*_GROUPS, "Shape", "Resource", "Skip", *UNDRAWN, *_LIGHTS)


def read_appearance(owner: Mapping, scope: Scope) -> Material | None:
    """Read the ``appearance`` of a Shape; None without one.

    Reading the same node again returns the same object. Wrong values are only warnings.
    """
    written = owner.get("appearance")
    key = "appearance", id(written)
    if written is not None and key not in scope.cache:
        with scope.diagnostics.as_warnings("wrong-type", "wrong-count", "zero-axis"):
            mapping = owner.mapping("appearance")
            if not mapping:
                return None
            scope.cache[key] = _appearance(mapping, scope)
    material: Material | None = scope.cache.get(key)
    return material


def _appearance(mapping: Mapping, scope: Scope) -> Material:
    written = mapping.mapping("material")
    material = DEFAULT_MATERIAL if written is None else _material(written)
    texture = _texture(mapping, scope)
    mapping.get("name")
    mapping.finish(ignore=("type",))
    return replace(material, texture=texture) if texture else material


def _material(mapping: Mapping) -> Material:
    exponent = mapping.number("specular_exponent", "specularExponent", default=None)
    shininess = mapping.number("shininess", default=None)
    if exponent is None:
        exponent = _DEFAULT_EXPONENT
        if shininess is not None:
            exponent = 127.0 * min(max(shininess, 0.0), 1.0) + 1.0
    material = Material(
        name=mapping.text("name", default=""),
        ambient=mapping.number("ambient", "ambientIntensity", default=1.0),
        diffuse=_color(mapping, (1.0, 1.0, 1.0), "diffuse", "diffuseColor"),
        emissive=_color(mapping, (0.0, 0.0, 0.0), "emissive", "emissiveColor"),
        specular=_color(mapping, (0.0, 0.0, 0.0), "specular", "specularColor"),
        shininess=exponent / 128.0,
        transparency=mapping.number("transparency", default=0.0),
    )
    mapping.finish(ignore=("type",))
    return material


def _color(mapping: Mapping, default: Color, *spellings: str) -> Color:
    numbers = mapping.numbers(*spellings, count=3, default=None, shown=np.array(default))
    if numbers is None:
        return default
    r, g, b = numbers.tolist()
    return r, g, b


def _texture(mapping: Mapping, scope: Scope) -> Texture | None:
    written = mapping.mapping("texture")
    transform = mapping.mapping("texture_transform", "textureTransform", "texture_Transform")
    if written is None:
        return None
    uri = written.text("uri", "url", default="")
    at = written.at("uri", "url")
    repeat = _repeat(written)
    written.finish(ignore=("type", "name"))
    path = scope.context.resolve(uri, at) if uri else None
    if path is None:
        return None
    texture = Texture(path, repeat)
    if transform is None:
        return texture
    texture = replace(
        texture,
        center=_pair(transform, "center", 0.0),
        rotation=_texture_angle(transform, scope),
        scale=_pair(transform, "scale", 1.0),
        translation=_pair(transform, "translation", 0.0),
    )
    transform.finish(ignore=("type",))
    return texture


def _texture_angle(mapping: Mapping, scope: Scope) -> float:
    """Read an angle or, as some files have it, an axis and an angle, in [rad]."""
    node = mapping.get("rotation")
    if isinstance(node, Sequence) and node.count == 4:
        R = rotation(scope, mapping)
        return atan2(R[1, 0], R[0, 0])
    return mapping.number("rotation", default=0.0) * scope.angle


def _repeat(mapping: Mapping) -> tuple[bool, bool]:
    both = mapping.get("repeat")
    s = t = True
    if isinstance(both, Sequence):
        words = [item.boolean() if isinstance(item, Scalar) else None for item in both.items]
        s, t = (word is not False for word in [*words, True, True][:2])
    elif both is not None:
        s = t = flag(mapping, "repeat", default=True)
    return (
        flag(mapping, "repeat_s", "repeatS", default=s),
        flag(mapping, "repeat_t", "repeatT", default=t),
    )


def _pair(mapping: Mapping, key: str, default: float) -> tuple[float, float]:
    x, y = mapping.numbers(key, count=2, default=np.full(2, default)).tolist()
    return x, y


def read_shape(mapping: Mapping, scope: Scope) -> tuple[Shape, ...]:
    """Read a ``Shape`` node, placed in the frame of its parent node."""
    return shapes_of(mapping, scope, placement(mapping, scope).T)


def shapes_of(mapping: Mapping, scope: Scope, T: Array) -> tuple[Shape, ...]:
    """Read a ``Shape`` node, placed by T of shape (4, 4) instead of its own placement."""
    name = mapping.text("name", default="")
    material = read_appearance(mapping, scope)
    geometry = mapping.mapping("geometry")
    shapes: tuple[Shape, ...] = ()
    if geometry is not None and geometry.text("type", default="") == "Resource":
        inside = read_resource(geometry, scope)
        shapes = tuple(_with_material(shape, material).moved(T) for shape in inside)
    elif geometry is not None:
        found = read_geometry(geometry, scope)
        if found is not None:
            shapes = (Shape(found, T, material or DEFAULT_MATERIAL, name),)
    elif mapping.get("geometry") is None:
        scope.diagnostics.warn(
            "missing-key", "a Shape needs a 'geometry'; it is left out", mapping.span
        )
    scope.finish(mapping, ignore=COMMON)
    return shapes


def read_resource(mapping: Mapping, scope: Scope) -> tuple[Shape, ...]:
    """Read the shapes of a Resource, placed in the frame of its parent node.

    A file that cannot be read is reported and gives no shapes.
    """
    T = placement(mapping, scope).T
    scene = resource_scene(mapping, scope)
    return () if scene is None else tuple(shape.moved(T) for shape in scene.flattened())


def resource_scene(mapping: Mapping, scope: Scope) -> SceneNode | None:
    """Return the scene node that a Resource selects in a mesh or scene file.

    The placement of the Resource is not applied. None after reporting a problem.
    """
    scene = _resource_scene(mapping, scope)
    if scene is None:
        scope.context.lost_shapes += 1
    return scene


def _resource_scene(mapping: Mapping, scope: Scope) -> SceneNode | None:
    T = _unit_and_axes(mapping)
    uri = mapping.text("uri", "url", default="")
    node = mapping.text("node", "fragment", default="")
    crease = mapping.number("crease_angle", "creaseAngle", default=None)
    at = mapping.at("uri", "url")
    scope.finish(mapping, ignore=_RESOURCE_IGNORED)
    if not uri:
        scope.diagnostics.error("missing-key", "a Resource needs a 'uri'", mapping.span)
        return None
    path = scope.context.resolve(uri, at)
    scene = scope.context.read_scene(path, at) if path else None
    if scene is None:
        return None
    selected = _select(scene, node, np.eye(3)) if node else scene
    if selected is None:
        message = f"'{uri}' has no node named '{node}'; it is left out"
        scope.diagnostics.warn("unknown-node", message, mapping.at("node", "fragment"))
        return None
    if selected.children:
        elsewhere = scope.selected_nodes(uri, mapping.get("metadata")) - {node}
    else:
        elsewhere = set()
    found = _without(replace(selected, T_PN=T @ selected.T_PN), elsewhere)
    return found if crease is None else _creased(found, crease * scope.angle)


def _creased(scene: SceneNode, angle: float) -> SceneNode:
    """Return a scene with a new crease angle in [rad], which replaces the normals of meshes."""
    shapes = tuple(
        replace(shape, geometry=replace(mesh, normals=None, crease_angle=angle))
        if isinstance(mesh := shape.geometry, Mesh)
        else shape
        for shape in scene.shapes
    )
    children = tuple(_creased(child, angle) for child in scene.children)
    return replace(scene, shapes=shapes, children=children)


def _without(scene: SceneNode, names: set[str]) -> SceneNode:
    """Return a scene without the nodes below it that have one of the names."""
    if not names or not scene.children:
        return scene
    kept = [_without(child, names) for child in scene.children if child.name not in names]
    return replace(scene, children=tuple(kept))


def _select(scene: SceneNode, name: str, linear: Array) -> SceneNode | None:
    """Return the node of this name, placed as in Choreonoid.

    The rotations and scales of its ancestors and itself apply, but no translations.
    """
    linear = linear @ scene.T_PN[:3, :3]
    if scene.name == name:
        T = np.eye(4)
        T[:3, :3] = linear
        return replace(scene, T_PN=T)
    nodes = (_select(child, name, linear) for child in scene.children)
    return next((node for node in nodes if node is not None), None)


def _unit_and_axes(mapping: Mapping) -> Array:
    """Return the map for the file's length unit and upper axis, shape (4, 4)."""
    T = np.eye(4)
    metadata = mapping.get("metadata")
    if isinstance(metadata, Mapping):
        unit = lenient_choice(metadata, "length_unit", "lengthUnit", choices=_UNITS, default=1.0)
        y_up = metadata.text("upper_axis", "upperAxis", default="Z").upper() == "Y"
        metadata.finish()
    elif isinstance(metadata, Scalar):
        words = re.split(r"[\s,]+", metadata.text.strip())
        unit = next((_UNITS[word] for word in words if word in _UNITS), 1.0)
        y_up = "y_upper" in words
    else:
        return T
    T[:3, :3] = (_Y_UP if y_up else np.eye(3)) * unit
    return T


def _with_material(shape: Shape, material: Material | None) -> Shape:
    return shape if material is None else replace(shape, material=material)


def read_scene(path: Path, context: ReadContext) -> SceneNode:
    """Read the shapes of a scene file, with the node names by which models select them.

    Raises:
        OSError: The file cannot be read.
        ValueError: It is not a scene file.
    """
    document = parse(read_source(path), context.diagnostics)
    top = document.root
    if not isinstance(top, Mapping):
        raise ValueError("it is not a YAML mapping")
    written = top.text("format", default="")
    if written not in _FORMATS:
        raise ValueError(f"its format is '{written}', not 'ChoreonoidScene'")
    angle = read_angle_unit(top, context.diagnostics)
    if angle is None:
        return SceneNode()
    scene = top.get("scene")
    if scene is None:
        context.diagnostics.warn("missing-key", "a scene file needs a 'scene'", top.span)
        return SceneNode()
    children = _children(scene, Scope(context, document, angle))
    warn_misspelt_keys(top, _READ_KEYS)
    return SceneNode(children=children)


def _children(node: Node, scope: Scope) -> tuple[SceneNode, ...]:
    nodes = (_node(name, mapping, scope) for name, mapping in typed_nodes(node, scope))
    return tuple(found for found in nodes if found is not None)


def _node(type_name: str, mapping: Mapping, scope: Scope) -> SceneNode | None:
    if type_name in UNDRAWN or type_name in _LIGHTS:
        skip_unsupported(type_name, mapping, scope)
        return None
    if type_name == "Skip":
        return None
    name = mapping.text("name", default="")
    if type_name == "Group":
        return _group(name, mapping, scope, np.eye(4))
    own = placement(mapping, scope)
    T = own.T
    if type_name == "Transform":
        return _group(name, mapping, scope, _oriented(own, mapping, scope))
    if type_name == "Shape":
        return SceneNode(name, T, shapes_of(mapping, scope, np.eye(4)))
    if type_name == "Resource":
        return SceneNode(name, T, children=_resource(mapping, scope))
    _report_unknown(type_name, mapping, scope)
    return _group(name, mapping, scope, T)


def _group(name: str, mapping: Mapping, scope: Scope, T: Array) -> SceneNode:
    elements = mapping.get("elements")
    children = () if elements is None else _children(elements, scope)
    mapping.finish(ignore=COMMON)
    return SceneNode(name, T, children=children)


def _oriented(own: Placement, mapping: Mapping, scope: Scope) -> Array:
    """Return T R S with the scale along axes rotated by ``scale_orientation``, shape (4, 4)."""
    R = rotation(scope, mapping, "scale_orientation", "scaleOrientation")
    if np.array_equal(R, np.eye(3)):
        return own.T
    T = own.T.copy()
    T[:3, :3] = own.R @ R @ (own.R.T @ own.T[:3, :3]) @ R.T
    return T


def _resource(mapping: Mapping, scope: Scope) -> tuple[SceneNode, ...]:
    uri = mapping.text("uri", "url", default="")
    if is_library(uri):
        with opened_library(mapping, uri, scope) as node:
            return () if node is None else _children(node, scope)
    scene = resource_scene(mapping, scope)
    return () if scene is None else (scene,)


def _report_unknown(type_name: str, mapping: Mapping, scope: Scope) -> None:
    message = f"node type '{type_name}' is unknown in a scene; only its elements are read."
    at = mapping.at("type")
    if is_optional(mapping):
        scope.diagnostics.note("unknown-type", message, at)
    else:
        message += did_you_mean(type_name, _TYPES)
        scope.diagnostics.warn("unknown-type", message, at)
    mapping.ignore()
