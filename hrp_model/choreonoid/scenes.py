"""Shape and Resource nodes: what a model shows, here or in another file."""

from __future__ import annotations

import re
from dataclasses import replace
from math import pi

import numpy as np

from ..geometry import Material, Mesh, SceneNode, Shape
from ..meshing import planar_tex_coords
from ..rigid import Array, axis_angle_matrix
from ..yaml_tree import Mapping, Scalar
from .geometries import read_geometry
from .materials import DEFAULT_MATERIAL, read_appearance
from .scope import Scope, placement

_UNITS = {
    "meter": 1.0, "metre": 1.0, "m": 1.0,
    "millimeter": 0.001, "millimetre": 0.001, "mm": 0.001,
    "inch": 0.0254, "in": 0.0254,
}  # fmt: skip
_Y_UP = axis_angle_matrix([1.0, 0.0, 0.0], pi / 2.0)


def read_shape(mapping: Mapping, scope: Scope) -> tuple[Shape, ...]:
    """Read a ``Shape`` node, placed in the frame of the node that holds it."""
    T = placement(mapping, scope).T
    name = mapping.text("name", default="")
    appearance = mapping.mapping("appearance")
    material = read_appearance(appearance, scope) if appearance else None
    geometry = mapping.mapping("geometry")
    shapes: tuple[Shape, ...] = ()
    if geometry is not None and geometry.text("type", default="") == "Resource":
        inside = read_resource(geometry, scope)
        shapes = tuple(_redrawn(shape, material).moved(T) for shape in inside)
    elif geometry is not None:
        found = read_geometry(geometry, scope)
        if found is not None:
            shape = Shape(found, T, material or DEFAULT_MATERIAL, name)
            shapes = (_textured(shape),)
    elif mapping.get("geometry") is None:
        scope.diagnostics.warn(
            "missing-key", "a Shape without geometry shows nothing", mapping.span
        )
    mapping.finish(ignore=("type",))
    return shapes


def read_resource(mapping: Mapping, scope: Scope) -> tuple[Shape, ...]:
    """Read a reference to a mesh or scene file, placed in the frame of the node that holds it.

    A file that cannot be used was reported and gives no shapes.
    """
    T = placement(mapping, scope).T @ _unit_and_axes(mapping)
    uri = mapping.text("uri", "url", default="")
    node = mapping.text("node", "fragment", default="")
    mapping.get("exclude")
    at = mapping.at("uri", "url")
    mapping.finish(ignore=("type", "name"))
    if not uri:
        scope.diagnostics.error("missing-key", "a Resource needs a 'uri'", mapping.span)
        return ()
    path = scope.reading.resolve(uri, at)
    scene = scope.reading.read_scene(path, at) if path else None
    if scene is None:
        return ()
    picked = _pick(scene, node, np.eye(3)) if node else scene
    if picked is None:
        message = f"'{uri}' has no node named '{node}'; it is left out"
        scope.diagnostics.warn("unknown-node", message, mapping.at("node", "fragment"))
        return ()
    elsewhere = scope.picked(uri) - {node} if picked.children else set()
    return tuple(shape.moved(T) for shape in _without(picked, elsewhere).flattened())


def _without(scene: SceneNode, names: set[str]) -> SceneNode:
    """Return a scene without the nodes below it that the model picks out by themselves."""
    if not names or not scene.children:
        return scene
    kept = [_without(child, names) for child in scene.children if child.name not in names]
    return replace(scene, children=tuple(kept))


def _pick(scene: SceneNode, name: str, linear: Array) -> SceneNode | None:
    """Return the node of this name where a model that picks it expects it.

    It sits at the frame it is put into, with the rotations and scales from the top of
    its file down to itself; translations on that way do not count.
    """
    linear = linear @ scene.T_PN[:3, :3]
    if scene.name == name:
        T = np.eye(4)
        T[:3, :3] = linear
        return replace(scene, T_PN=T)
    found = (_pick(child, name, linear) for child in scene.children)
    return next((node for node in found if node is not None), None)


def _unit_and_axes(mapping: Mapping) -> Array:
    """Read what a Resource says of its file's unit and upper axis, shape (4, 4)."""
    T = np.eye(4)
    metadata = mapping.get("metadata")
    if isinstance(metadata, Mapping):
        unit = metadata.choice("length_unit", "lengthUnit", choices=_UNITS, default=1.0)
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


def _redrawn(shape: Shape, material: Material | None) -> Shape:
    return shape if material is None else _textured(replace(shape, material=material))


def _textured(shape: Shape) -> Shape:
    """Give a mesh under a texture the default texture coordinates if it brings none."""
    mesh = shape.geometry
    if shape.material.texture is None or not isinstance(mesh, Mesh) or mesh.tex_coords:
        return shape
    if not len(mesh.triangles):
        return shape
    return replace(shape, geometry=replace(mesh, tex_coords=planar_tex_coords(mesh)))
