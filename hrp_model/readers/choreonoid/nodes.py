"""The ways in which nodes are written one inside another, and files that hold only nodes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ...diagnostics import Span, did_you_mean
from ...reading import read_source
from ..yaml.tree import Document, Mapping, Node, Scalar, Sequence
from .scope import Scope, flag, parse

# Keys that any node may have and that change nothing about it.
COMMON = ("type", "name", "is_optional", "isOptional", "is_meta_scene")
# Nodes of the scene that carry no shape.
UNDRAWN = (
    "LineSet", "PointSet", "Text", "Fog", "PerspectiveCamera", "OrthographicCamera", "Node",
)  # fmt: skip

# Far beyond any model; libraries that use others twice each get there quickly.
_MAX_OPENED = 10_000


def typed_nodes(node: Node, scope: Scope) -> Iterator[tuple[str, Mapping]]:
    """Yield (type, node) from any of the three forms that elements take.

    They are a list of nodes with a type, one such node, and a mapping from types to nodes.
    """
    diagnostics = scope.diagnostics
    if isinstance(node, Sequence):
        for item in node.items:
            if isinstance(item, Mapping) and "type" in item:
                yield item.text("type", default=""), item
            elif isinstance(item, Mapping) and _is_typed(item):
                yield from typed_nodes(item, scope)
            else:
                diagnostics.error("wrong-type", "expected a node with a 'type'", item.span)
    elif isinstance(node, Mapping) and "type" in node:
        yield node.text("type", default=""), node
    elif isinstance(node, Mapping) and _is_typed(node):
        for key, value in node.items():
            for inner in value.items if isinstance(value, Sequence) else [value]:
                if isinstance(inner, Mapping):
                    check_type(inner, key.text, scope)
                    yield key.text, inner
                elif not (isinstance(inner, Scalar) and inner.is_null):
                    message = f"expected the keys of a {key.text} node"
                    diagnostics.error("wrong-type", message, inner.span)
    elif not (isinstance(node, Scalar) and node.is_null):
        diagnostics.error("wrong-type", "expected nodes with a 'type'", node.span)


def check_type(mapping: Mapping, key: str, scope: Scope) -> None:
    """Report a node whose own type is another one than the key it stands under says."""
    if mapping.text("type", default=key) != key:
        message = f"this node says it is another type than '{key}'"
        scope.diagnostics.error("type-mismatch", message, mapping.at("type"))


def is_optional(mapping: Mapping) -> bool:
    """Whether the file itself allows programs to skip the node."""
    return flag(mapping, "is_optional", "isOptional", default=False)


def skip_unsupported(type_name: str, mapping: Mapping, scope: Scope) -> None:
    """Note that a node has no counterpart here, and skip it with all it holds."""
    message = f"{type_name} has no counterpart here and is left out"
    scope.diagnostics.note("left-out", message, mapping.span)
    mapping.ignore()


def is_library(uri: str) -> bool:
    """Whether a Resource names a file of nodes, not one of shapes."""
    return uri.lower().endswith((".yaml", ".yml"))


@contextmanager
def opened_library(mapping: Mapping, uri: str, scope: Scope) -> Iterator[Node | None]:
    """Keep open the file of nodes that a Resource names.

    Yields:
        The nodes that the Resource picks, the whole file by default; None after
        reporting why there are none.
    """
    with _opened_library(mapping, uri, scope) as node:
        if node is None:
            scope.reading.lost_shapes += 1
        yield node


@contextmanager
def _opened_library(mapping: Mapping, uri: str, scope: Scope) -> Iterator[Node | None]:
    reading = scope.reading
    at = mapping.at("uri", "url")
    name = mapping.text("node", "fragment", default="")
    mapping.finish(ignore=(*COMMON, "exclude"))
    path = reading.resolve(uri, at)
    if path is None:
        yield None
        return
    scope.opened += 1
    if scope.opened > _MAX_OPENED:
        if scope.opened == _MAX_OPENED + 1:
            message = f"files of nodes are used more than {_MAX_OPENED} times"
            scope.diagnostics.error("too-large", message, at)
        yield None
        return
    with reading.entering(path, at) as entered:
        library = _document(path, at, scope) if entered else None
        if library is None:
            yield None
            return
        node = library.anchors.get(name) if name else library.root
        if node is None:
            message = f"'{uri}' has no node anchored '&{name}'." if name else f"'{uri}' is empty"
            message += did_you_mean(name, library.anchors)
            scope.diagnostics.warn("unknown-node", message, mapping.at("node", "fragment"))
        yield node


def _document(path: Path, at: Span, scope: Scope) -> Document | None:
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
        scope.libraries[path] = parse(source, scope.diagnostics, anchors)
    return scope.libraries[path]


def _is_typed(mapping: Mapping) -> bool:
    """Whether the keys of a mapping are types, which begin with a capital letter."""
    return all(name[:1].isupper() for name in mapping.entries())
