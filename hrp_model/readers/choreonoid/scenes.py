"""Read shapes from Shape and Resource nodes."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np

from ...geometry import Material, Mesh, SceneNode, Shape
from ...rigid import Array
from ..yaml.tree import Mapping, Scalar
from .geometries import read_geometry
from .materials import DEFAULT_MATERIAL, read_appearance
from .nodes import COMMON
from .scope import Scope, lenient_choice, placement

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
        scope.reading.lost_shapes += 1
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
    path = scope.reading.resolve(uri, at)
    scene = scope.reading.read_scene(path, at) if path else None
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
