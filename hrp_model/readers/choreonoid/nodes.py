"""Read typed nodes in their different notations, node libraries in other files, and headers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from math import radians
from pathlib import Path

from ...diagnostics import Diagnostics, Span, did_you_mean
from ...read_context import read_source
from ..yaml.tree import Document, Mapping, Node, Scalar, Sequence
from .scope import Scope, flag, parse

VERSION = ("format_version", "formatVersion")
ANGLE_UNIT = ("angle_unit", "angleUnit")
_FIRST_UNSUPPORTED = 2.1
_DEGREE = radians(1.0)
_ANGLE_UNITS = {"degree": _DEGREE, "radian": 1.0}
# Keys without effect that any node may have.
COMMON = ("type", "name", "is_optional", "isOptional", "is_meta_scene")
# Nodes of a scene without shapes.
UNDRAWN = (
    "LineSet", "PointSet", "Text", "Fog", "PerspectiveCamera", "OrthographicCamera", "Node",
)  # fmt: skip
# Limit of uses of libraries: far beyond any model, but soon reached by libraries that use others
# repeatedly.
_MAX_LIBRARY_USES = 10_000


def read_angle_unit(top: Mapping, diagnostics: Diagnostics) -> float | None:
    """Check the format version and return the file's angle unit in [rad].

    All spellings of keys are accepted in every version. None after reporting that the version
    is too new.
    """
    version = top.number(*VERSION, default=None)
    at = top.at(*VERSION)
    if version is None:
        diagnostics.warn("no-version", "'format_version' is missing; 1.0 is assumed", at)
    elif version >= _FIRST_UNSUPPORTED:
        message = f"format version {version:g} is not supported; the latest supported one is 2.0"
        diagnostics.error("unknown-version", message, at)
        return None
    unit = top.choice(*ANGLE_UNIT, choices=_ANGLE_UNITS, default=_DEGREE)
    if version is not None and version >= 2.0 and unit == 1.0:
        message = "from format version 2.0 on, angles must be in degrees"
        diagnostics.error("radian", message, top.at(*ANGLE_UNIT))
    return unit


def typed_nodes(node: Node, scope: Scope) -> Iterator[tuple[str, Mapping]]:
    """Yield (type, node) of elements in any of their three notations.

    These are a list of nodes with a ``type``, one such node, and a mapping from types to nodes.
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
    """Report a node whose own type differs from the key that contains it."""
    if mapping.text("type", default=key) != key:
        message = f"the 'type' of this node differs from its key '{key}'"
        scope.diagnostics.error("type-mismatch", message, mapping.at("type"))


def is_optional(mapping: Mapping) -> bool:
    """Whether the file marks the node as optional."""
    return flag(mapping, "is_optional", "isOptional", default=False)


def skip_unsupported(type_name: str, mapping: Mapping, scope: Scope) -> None:
    """Skip a node of an unsupported type, with a note."""
    message = f"{type_name} is not supported and is left out"
    scope.diagnostics.note("left-out", message, mapping.span)
    mapping.ignore()


def is_library(uri: str) -> bool:
    """Whether a Resource refers to a library of nodes, not to a file of shapes."""
    return uri.lower().endswith((".yaml", ".yml"))


@contextmanager
def opened_library(mapping: Mapping, uri: str, scope: Scope) -> Iterator[Node | None]:
    """Open the library that a Resource refers to within a ``with`` block, to detect cycles.

    Yields:
        The node that the Resource selects, by default the root of the library; None after
        reporting a problem.
    """
    with _opened_library(mapping, uri, scope) as node:
        if node is None:
            scope.context.lost_shapes += 1
        yield node


@contextmanager
def _opened_library(mapping: Mapping, uri: str, scope: Scope) -> Iterator[Node | None]:
    context = scope.context
    at = mapping.at("uri", "url")
    name = mapping.text("node", "fragment", default="")
    mapping.finish(ignore=(*COMMON, "exclude"))
    path = context.resolve(uri, at)
    if path is None:
        yield None
        return
    scope.library_uses += 1
    if scope.library_uses > _MAX_LIBRARY_USES:
        if scope.library_uses == _MAX_LIBRARY_USES + 1:
            message = f"libraries of nodes are used more than {_MAX_LIBRARY_USES} times"
            scope.diagnostics.error("too-large", message, at)
        yield None
        return
    with context.entering(path, at) as entered:
        library = _document(path, at, scope) if entered else None
        if library is None:
            yield None
            return
        node = library.anchors.get(name) if name else library.root
        if node is None:
            message = f"'{uri}' has no anchor '&{name}'." if name else f"'{uri}' is empty"
            message += did_you_mean(name, library.anchors)
            scope.diagnostics.warn("unknown-node", message, mapping.at("node", "fragment"))
        yield node


def _document(path: Path, at: Span, scope: Scope) -> Document | None:
    """Return a library of nodes, read once; None after reporting an error."""
    if path not in scope.libraries:
        try:
            source = read_source(path)
        except OSError as error:
            message = f"cannot read '{path}': {error.strerror or error}"
            scope.diagnostics.error("unreadable-file", message, at)
            return None
        # Its aliases may refer to nodes of the model that uses it.
        anchors = scope.document.anchors
        scope.libraries[path] = parse(source, scope.diagnostics, anchors)
    return scope.libraries[path]


def _is_typed(mapping: Mapping) -> bool:
    """Whether all keys of a mapping are types, which begin with a capital letter."""
    return all(name[:1].isupper() for name in mapping.entries())
