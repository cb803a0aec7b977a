"""Read scene files (``.scen``), which contain shapes in the notation of a link's elements."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ...diagnostics import did_you_mean
from ...geometry import SceneNode
from ...reading import Reading, read_source
from ...rigid import Array
from ..yaml.tree import Mapping, Node
from .header import read_angle_unit
from .nodes import (
    COMMON,
    UNDRAWN,
    is_library,
    is_optional,
    opened_library,
    skip_unsupported,
    typed_nodes,
)
from .scenes import resource_scene, shapes_of
from .scope import Placement, Scope, parse, placement, rotation, warn_misspelt_keys

_FORMATS = ("", "ChoreonoidScene", "choreonoid_scene")
_READ_KEYS = frozenset(
    ("format", "format_version", "formatVersion", "angle_unit", "angleUnit", "scene")
)
# Lights in a scene are not devices of a link.
_LIGHTS = ("DirectionalLight", "PointLight", "SpotLight")
_GROUPS = ("Group", "Transform")
_TYPES = (*_GROUPS, "Shape", "Resource", "Skip", *UNDRAWN, *_LIGHTS)


def read_scene(path: Path, reading: Reading) -> SceneNode:
    """Read the shapes of a scene file, with the node names by which models select them.

    Raises:
        OSError: The file cannot be read.
        ValueError: It is not a scene file.
    """
    document = parse(read_source(path), reading.diagnostics)
    top = document.root
    if not isinstance(top, Mapping):
        raise ValueError("it is not a YAML mapping")
    written = top.text("format", default="")
    if written not in _FORMATS:
        raise ValueError(f"its format is '{written}', not 'ChoreonoidScene'")
    angle = read_angle_unit(top, reading.diagnostics)
    if angle is None:
        return SceneNode()
    scene = top.get("scene")
    if scene is None:
        reading.diagnostics.warn("missing-key", "a scene file needs a 'scene'", top.span)
        return SceneNode()
    children = _children(scene, Scope(reading, document, angle))
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
