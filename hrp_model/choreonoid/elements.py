"""What hangs below a link: the walk over its ``elements``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path

from ..diagnostics import Span, did_you_mean
from ..geometry import Shape
from ..inertia import MassProperties
from ..reading import read_source
from ..yaml_tree import Document, Mapping, Node, Scalar, Sequence, parse_document
from . import devices
from .devices import DeviceNode
from .masses import read_mass
from .scenes import read_resource, read_shape
from .scope import Placement, Scope, placement


class Use(Enum):
    """What the shapes below a node are for."""

    BOTH = "both"
    VISUAL = "visual"
    COLLISION = "collision"


@dataclass
class Contents:
    """What a link's elements hold, in the frame of the link.

    Attributes:
        visual: What is drawn.
        collision: What touches.
        distinguished: Whether the link tells the two apart.
        rigid_bodies: Mass properties of RigidBody nodes.
        devices: Devices, still unread.
    """

    visual: list[Shape] = field(default_factory=list)
    collision: list[Shape] = field(default_factory=list)
    distinguished: bool = False
    rigid_bodies: list[MassProperties] = field(default_factory=list)
    devices: list[DeviceNode] = field(default_factory=list)


@dataclass(frozen=True)
class _Place:
    """Where the walk is: the contents to fill, the placement so far, the use of shapes."""

    contents: Contents
    scope: Scope
    at: Placement = field(default_factory=Placement)
    use: Use = Use.BOTH

    def inside(self, mapping: Mapping) -> _Place:
        """Return the place within a node, below its own translation, rotation and scale."""
        return replace(self, at=self.at @ placement(mapping, self.scope))

    def add(self, shapes: tuple[Shape, ...]) -> None:
        placed = [shape.moved(self.at.T) for shape in shapes]
        if self.use is not Use.COLLISION:
            self.contents.visual += placed
        if self.use is not Use.VISUAL:
            self.contents.collision += placed


def read_elements(mapping: Mapping, scope: Scope) -> Contents:
    """Read the ``elements`` of a link."""
    contents = Contents()
    _children(mapping, _Place(contents, scope))
    return contents


def _children(mapping: Mapping, place: _Place) -> None:
    node = mapping.get("elements")
    if node is not None:
        _walk(node, place)


def _walk(node: Node, place: _Place) -> None:
    for type_name, mapping in _typed(node, place.scope):
        reader = _NODES.get(type_name)
        if reader is not None:
            reader(mapping, place)
            if reader not in (_skip, _shape, _resource):
                mapping.finish(ignore=("type", "name", "is_optional", "isOptional"))
        else:
            _device(type_name, mapping, place)


def _typed(node: Node, scope: Scope) -> Iterator[tuple[str, Mapping]]:
    """Yield (type, node) from any of the three forms that elements take.

    They are a list of nodes with a type, one such node, and a mapping from types to nodes.
    """
    diagnostics = scope.diagnostics
    if isinstance(node, Sequence):
        for item in node.items:
            if isinstance(item, Mapping) and "type" in item:
                yield item.text("type", default=""), item
            elif isinstance(item, Mapping) and _is_typed(item):
                yield from _typed(item, scope)
            else:
                diagnostics.error("wrong-type", "expected a node with a 'type'", item.span)
    elif isinstance(node, Mapping) and "type" in node:
        yield node.text("type", default=""), node
    elif isinstance(node, Mapping) and _is_typed(node):
        for key, value in node.items():
            for inner in value.items if isinstance(value, Sequence) else [value]:
                if isinstance(inner, Mapping):
                    if inner.text("type", default=key.text) != key.text:
                        message = f"this node says it is another type than '{key.text}'"
                        diagnostics.error("type-mismatch", message, inner.at("type"))
                    yield key.text, inner
                elif not (isinstance(inner, Scalar) and inner.is_null):
                    message = f"expected the keys of a {key.text} node"
                    diagnostics.error("wrong-type", message, inner.span)
    elif not (isinstance(node, Scalar) and node.is_null):
        diagnostics.error("wrong-type", "expected nodes with a 'type'", node.span)


def _is_typed(mapping: Mapping) -> bool:
    """Whether the keys of a mapping are types, which begin with a capital letter."""
    return all(name[:1].isupper() for name in mapping.entries())


def _transform(mapping: Mapping, place: _Place) -> None:
    _children(mapping, place.inside(mapping))


def _group(mapping: Mapping, place: _Place) -> None:
    _children(mapping, place)


def _skip(mapping: Mapping, place: _Place) -> None:
    """Skip a node with all it holds."""


def _undrawn(mapping: Mapping, place: _Place) -> None:
    kind = mapping.text("type", default="")
    message = f"{kind or 'a node of the scene'} has no counterpart here and is left out"
    place.scope.diagnostics.note("left-out", message, mapping.span)
    mapping.ignore()


def _shape(mapping: Mapping, place: _Place) -> None:
    place.add(read_shape(mapping, place.scope))


def _visual(mapping: Mapping, place: _Place) -> None:
    _dedicated(mapping, place, Use.VISUAL)


def _collision(mapping: Mapping, place: _Place) -> None:
    _dedicated(mapping, place, Use.COLLISION)


def _dedicated(mapping: Mapping, place: _Place, use: Use) -> None:
    if place.use not in (Use.BOTH, use):
        message = "Visual and Collision must not be inside one another"
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
    p, R = inside.at.T[:3] @ [*mass.center_of_mass, 1.0], inside.at.R
    placed = MassProperties(mass.mass, p, R @ mass.inertia @ R.T)
    place.contents.rigid_bodies.append(placed)
    _children(mapping, inside)


def _resource(mapping: Mapping, place: _Place) -> None:
    uri = mapping.text("uri", "url", default="")
    if uri.lower().endswith((".yaml", ".yml")):
        _library(mapping, uri, place.inside(mapping))
    else:
        place.add(read_resource(mapping, place.scope))


def _library(mapping: Mapping, uri: str, place: _Place) -> None:
    """Read nodes from a YAML file that holds nothing else."""
    scope, reading = place.scope, place.scope.reading
    at = mapping.at("uri", "url")
    name = mapping.text("node", "fragment", default="")
    mapping.finish(ignore=("type", "name", "exclude"))
    path = reading.resolve(uri, at)
    if path is None:
        return
    with reading.entering(path, at) as entered:
        library = _library_document(path, at, scope) if entered else None
        if library is None:
            return
        node = library.anchors.get(name) if name else library.root
        if node is None:
            message = f"'{uri}' has no node anchored '&{name}'." if name else f"'{uri}' is empty"
            message += did_you_mean(name, library.anchors)
            scope.diagnostics.warn("unknown-node", message, mapping.at("node", "fragment"))
            return
        _walk(node, place)


def _library_document(path: Path, at: Span, scope: Scope) -> Document | None:
    """Return a YAML file of nodes, read once; None after reporting an error."""
    if path not in scope.libraries:
        try:
            source = read_source(path)
        except OSError as error:
            message = f"cannot read '{path}': {error.strerror or error}"
            scope.diagnostics.error("unreadable-file", message, at)
            return None
        # Its aliases may name nodes of the model that uses it.
        anchors = scope.document.anchors
        scope.libraries[path] = parse_document(source, scope.diagnostics, anchors)
    return scope.libraries[path]


def _device(type_name: str, mapping: Mapping, place: _Place) -> None:
    if type_name not in devices.READERS and type_name not in devices.GENERIC:
        known = [*_NODES, *devices.READERS, *devices.GENERIC]
        message = f"node type '{type_name}' is unknown; it is kept as a device without meaning."
        at = mapping.at("type")
        message += did_you_mean(type_name, known)
        place.scope.diagnostics.warn("unknown-type", message, at)
    inside = place.inside(mapping)
    place.contents.devices.append(DeviceNode(type_name, mapping, inside.at))
    _children(mapping, inside)


_NODES: dict[str, Callable[[Mapping, _Place], None]] = {
    "Transform": _transform,
    "Group": _group,
    "Skip": _skip,
    "Shape": _shape,
    "Visual": _visual,
    "Collision": _collision,
    "RigidBody": _rigid_body,
    "Resource": _resource,
    **dict.fromkeys(
        ("LineSet", "PointSet", "Text", "Fog", "DirectionalLight", "PerspectiveCamera",
         "OrthographicCamera"),
        _undrawn,
    ),
}  # fmt: skip
