"""Read the ``elements`` of a link: shapes, mass properties and devices."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field, replace
from enum import Enum

import numpy as np

from ...diagnostics import did_you_mean
from ...geometry import Shape
from ...inertia import MassProperties, describe_asymmetry, is_symmetric, symmetric, tensor
from ...late_dataclass import dataclass
from ...rigid import Array
from ..yaml.tree import Mapping, Node
from . import devices
from .devices import DeviceNode
from .scenes import read_resource, read_shape
from .scope import (
    COMMON,
    UNDRAWN,
    UNMOVED,
    Placement,
    Scope,
    is_library,
    is_optional,
    opened_library,
    placement,
    skip_unsupported,
    typed_nodes,
)

# Keys of an inertia in other formats; they are too different to be reported as misspelt.
_FOREIGN_KEYS = ("momentsOfInertia", "momentOfInertia")


def read_mass(mapping: Mapping, default: MassProperties) -> MassProperties:
    """Read the mass keys of a link or a RigidBody, in its own frame."""
    numbers = mapping.numbers("inertia", count=None, default=None, shown=default.inertia)
    for key in _FOREIGN_KEYS:
        if numbers is None and key in mapping:
            mapping.get(key)
            message = f"'{key}' is unknown here and ignored. Did you mean 'inertia'?"
            mapping.diagnostics.warn("unknown-key", message, mapping.at(key))
    return MassProperties(
        mapping.number("mass", default=default.mass),
        mapping.numbers("center_of_mass", "centerOfMass", count=3, default=default.center_of_mass),
        default.inertia if numbers is None else _inertia(numbers, mapping),
    )


def _inertia(numbers: Array, mapping: Mapping) -> Array:
    at = mapping.at("inertia")
    inertia = tensor(numbers)
    if inertia is None:
        message = f"an inertia needs 9 numbers, or the 6 of its upper triangle, not {len(numbers)}"
        mapping.diagnostics.error("wrong-count", message, at)
        return np.zeros((3, 3))
    if not is_symmetric(inertia):
        message = f"the inertia {describe_asymmetry(inertia, 'write 6 numbers, or all 9')}"
        mapping.diagnostics.warn("asymmetric-inertia", message, at)
    return symmetric(inertia)


class Use(Enum):
    """Use of the shapes below a node."""

    BOTH = "both"
    VISUAL = "visual"
    COLLISION = "collision"


@dataclass
class Contents:
    """Contents of a link's elements, in the frame of the link.

    Attributes:
        visual: Visual shapes.
        collision: Collision shapes.
        distinguished: Whether the link has separate visual and collision shapes.
        rigid_bodies: Mass properties of RigidBody nodes.
        devices: Device nodes, not yet read.
        lacks_shapes: Whether some files with shapes could not be read.
    """

    visual: list[Shape] = field(default_factory=list)
    collision: list[Shape] = field(default_factory=list)
    distinguished: bool = False
    rigid_bodies: list[MassProperties] = field(default_factory=list)
    devices: list[DeviceNode] = field(default_factory=list)
    lacks_shapes: bool = False


@dataclass(frozen=True)
class _Place:
    """Context of a node: the contents to fill, its placement, and the use of its shapes."""

    contents: Contents
    scope: Scope
    at: Placement = UNMOVED
    use: Use = Use.BOTH

    def inside(self, mapping: Mapping) -> _Place:
        """Return the context inside a node, with its translation, rotation and scale applied."""
        moved = placement(mapping, self.scope)
        if moved is UNMOVED:
            return self
        return _Place(self.contents, self.scope, self.at @ moved, self.use)

    def add(self, shapes: tuple[Shape, ...]) -> None:
        placed = [shape.moved(self.at.T) for shape in shapes]
        if self.use is not Use.COLLISION:
            self.contents.visual += placed
        if self.use is not Use.VISUAL:
            self.contents.collision += placed


def read_elements(mapping: Mapping, scope: Scope) -> Contents:
    """Read the ``elements`` of a link."""
    contents = Contents()
    lost = scope.context.lost_shapes
    _children(mapping, _Place(contents, scope))
    contents.lacks_shapes = scope.context.lost_shapes > lost
    return contents


def _children(mapping: Mapping, place: _Place) -> None:
    node = mapping.get("elements")
    if node is not None:
        _walk(node, place)


def _walk(node: Node, place: _Place) -> None:
    for type_name, mapping in typed_nodes(node, place.scope):
        place.scope.context.count("nodes", at=mapping.span)
        reader = _NODES.get(type_name)
        if reader is not None:
            reader(mapping, place)
            if reader not in (_skip, _shape, _resource):
                place.scope.finish(mapping, ignore=COMMON)
        elif type_name in UNDRAWN:
            skip_unsupported(type_name, mapping, place.scope)
        else:
            _device(type_name, mapping, place)


def _transform(mapping: Mapping, place: _Place) -> None:
    _children(mapping, place.inside(mapping))


def _group(mapping: Mapping, place: _Place) -> None:
    _children(mapping, place)


def _skip(mapping: Mapping, place: _Place) -> None:
    """Skip a node with all its contents."""


def _shape(mapping: Mapping, place: _Place) -> None:
    place.add(read_shape(mapping, place.scope))


def _visual(mapping: Mapping, place: _Place) -> None:
    _dedicated(mapping, place, Use.VISUAL)


def _collision(mapping: Mapping, place: _Place) -> None:
    _dedicated(mapping, place, Use.COLLISION)


def _dedicated(mapping: Mapping, place: _Place, use: Use) -> None:
    if place.use not in (Use.BOTH, use):
        message = "Visual and Collision nodes must not be nested in one another"
        place.scope.diagnostics.error("bad-nesting", message, mapping.span)
        mapping.ignore()
        return
    inside = replace(place.inside(mapping), use=use)
    counts = len(place.contents.visual), len(place.contents.collision)
    _children(mapping, inside)
    shape = mapping.mapping("shape")
    if shape is not None:
        inside.add(read_shape(shape, place.scope))
    resource = mapping.mapping("resource")
    if resource is not None:
        _resource(resource, inside)
    if counts != (len(place.contents.visual), len(place.contents.collision)):
        place.contents.distinguished = True


def _rigid_body(mapping: Mapping, place: _Place) -> None:
    inside = place.inside(mapping)
    mass = read_mass(mapping, MassProperties())
    # A scale above the node also scales the inertia, quadratically.
    p, A = inside.at.T[:3] @ [*mass.center_of_mass, 1.0], inside.at.T[:3, :3]
    placed = MassProperties(mass.mass, p, A @ mass.inertia @ A.T)
    place.contents.rigid_bodies.append(placed)
    _children(mapping, inside)


def _resource(mapping: Mapping, place: _Place) -> None:
    uri = mapping.text("uri", "url", default="")
    if is_library(uri):
        inside = place.inside(mapping)
        with opened_library(mapping, uri, place.scope) as node:
            if node is not None:
                _walk(node, inside)
    else:
        place.add(read_resource(mapping, place.scope))


def _device(type_name: str, mapping: Mapping, place: _Place) -> None:
    if not any(
        type_name in x for x in (devices.READERS, devices.NUMBER_FIELD_READERS, devices.GENERIC)
    ):
        _report_unknown(type_name, mapping, place.scope)
    inside = place.inside(mapping)
    place.contents.devices.append(DeviceNode(type_name, mapping, inside.at))
    _children(mapping, inside)


def _report_unknown(type_name: str, mapping: Mapping, scope: Scope) -> None:
    message = f"node type '{type_name}' is unknown; it becomes a generic device."
    at = mapping.at("type")
    if is_optional(mapping):
        scope.diagnostics.note("unknown-type", message, at)
        return
    known = [*_NODES, *UNDRAWN, *devices.READERS, *devices.NUMBER_FIELD_READERS, *devices.GENERIC]
    scope.diagnostics.warn("unknown-type", message + did_you_mean(type_name, known), at)


_NODES: dict[str, Callable[[Mapping, _Place], None]] = {
    "Transform": _transform,
    "Group": _group,
    "Skip": _skip,
    "Shape": _shape,
    "Visual": _visual,
    "Collision": _collision,
    "RigidBody": _rigid_body,
    "Resource": _resource,
}
