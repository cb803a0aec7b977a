"""Context of reading one model file, and its notations: headers, typed nodes, poses, choices.

Nodes may come from libraries in other files.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterator
from collections.abc import Mapping as AbstractMapping
from contextlib import contextmanager
from dataclasses import field
from functools import lru_cache
from math import radians
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import numpy as np

from ...diagnostics import Diagnostics, Source, Span, did_you_mean, did_you_mean_or_all
from ...late_dataclass import dataclass
from ...read_context import ReadContext, read_source
from ...rigid import IDENTITY_3, IDENTITY_4, Array, Pose, axis_angle_matrix, unit_vector
from ..yaml.tree import Document, Mapping, Node, Scalar, Sequence, parse_document

_T = TypeVar("_T")
_MAX_KEY_LENGTH = 60  # of keys that are compared with known ones
# Keys for which a value of the wrong type is an error.
_STRICT_KEYS = frozenset(
    ("format", "format_version", "model_file", "type", "root_link", "parent", "joint_name",
     "joint_type", "actuation_mode", "joint_angle", "joint_displacement",
     "link1_name", "link2_name", "numJoints", "joint_offset", "initialJointAngles")
)  # fmt: skip
# The old notation of metadata, a string of words.
_METADATA_WORDS = {
    "millimeter": ("length_unit", "millimeter"),
    "inch": ("length_unit", "inch"),
    "y_upper": ("upper_axis", "y"),
}
_METADATA_KEYS = {"lengthUnit": "length_unit", "upperAxis": "upper_axis"}
_Metadata: TypeAlias = frozenset[tuple[str, str]]
_ZERO = np.zeros(3)
_ONES = np.ones(3)
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


def parse(
    source: Source, diagnostics: Diagnostics, anchors: AbstractMapping[str, Node] | None = None
) -> Document:
    """Parse a file of Choreonoid, treating values of the wrong type as Choreonoid does.

    For most keys Choreonoid silently uses the default if a value has the wrong type, such as text
    for a number or a list for a number; here that is a warning. For the strict keys, and for
    wrong numbers in lists, Choreonoid stops reading; here that is an error.
    """
    return parse_document(source, diagnostics, anchors, _STRICT_KEYS)


@dataclass
class Scope:
    """Context of reading one model file.

    Attributes:
        context: Context of the whole model.
        document: The file's own nodes and anchors.
        angle: The file's angle unit, in [rad].
        cache: Results by kind and id of a node, so that all aliases of a node give one object.
        libraries: Libraries of nodes that were read so far.
        library_uses: Number of uses of such libraries.
    """

    context: ReadContext
    document: Document
    angle: float
    cache: dict[tuple[str, int], Any] = field(default_factory=dict)
    libraries: dict[Path, Document] = field(default_factory=dict)
    library_uses: int = 0
    _selections: dict[tuple[str, _Metadata], set[str]] = field(default_factory=dict)
    _searched: int = 0
    _anchored: set[int] = field(default_factory=set)
    _collected: int = 0

    def selected_nodes(self, uri: str, metadata: Node | None) -> set[str]:
        """Return the names of all nodes that this file selects in another file.

        Args:
            uri: The other file.
            metadata: Of the Resource. Those with other metadata have a copy of the file of their
                own, as in Choreonoid.
        """
        documents = [self.document, *self.libraries.values()]
        for document in documents[self._searched :]:
            if document.root is not None:
                self._collect_selections(document.root)
        self._searched = len(documents)
        return self._selections.get((uri, _content(metadata)), set())

    def _collect_selections(self, root: Node) -> None:
        seen = {id(root)}
        stack = [root]
        while stack:
            node = stack.pop()
            if isinstance(node, Mapping):
                entries = {key: value for key, (_, value) in node.entries().items()}
                uri = entries.get("uri", entries.get("url"))
                name = entries.get("node", entries.get("fragment"))
                if isinstance(uri, Scalar) and isinstance(name, Scalar):
                    key = uri.text, _content(entries.get("metadata"))
                    self._selections.setdefault(key, set()).add(name.text)
                children = list(entries.values())
            elif isinstance(node, Sequence) and node.plain_numbers is None:
                children = node.items
            else:
                children = []
            new = [child for child in children if id(child) not in seen]
            seen.update(map(id, new))
            stack += new

    def finish(self, mapping: Mapping, ignore: Collection[str] = ()) -> None:
        """Warn about every key that was not used and is not in ``ignore``.

        Keys that only define a node for aliases, which may have any name, are not reported.
        """
        documents = [self.document, *self.libraries.values()]
        for document in documents[self._collected :]:
            self._anchored.update(map(id, document.anchors.values()))
        self._collected = len(documents)
        if mapping.all_used:  # the usual case
            return
        definitions = [
            name
            for name, (key, value) in mapping.entries().items()
            if id(value) in self._anchored and _follows(value.span, key.span)
        ]
        mapping.finish(ignore=(*ignore, *definitions))

    @property
    def diagnostics(self) -> Diagnostics:
        """Receives all problems."""
        return self.context.diagnostics


@dataclass(frozen=True, eq=False)
class Placement:
    """Placement of a node in its link's frame L.

    Attributes:
        T: Affine map from the node's frame to L, shape (4, 4).
        R: Its rotation without scale, shape (3, 3).
    """

    T: Array = field(default_factory=lambda: IDENTITY_4)
    R: Array = field(default_factory=lambda: IDENTITY_3)

    def __matmul__(self, other: Placement) -> Placement:
        """Return the placement of a node placed by ``other`` inside a node placed by this."""
        if other is UNMOVED or self is UNMOVED:
            return self if other is UNMOVED else other
        return Placement(self.T @ other.T, self.R @ other.R)

    @property
    def pose(self) -> Pose:
        """Pose in L without the scale."""
        return Pose(self.R, self.T[:3, 3])


UNMOVED = Placement()


def placement(mapping: Mapping, scope: Scope) -> Placement:
    """Read translation, rotation and scale of a node, applied in the order T R S."""
    if mapping.lacks("translation", "rotation", "scale"):  # the usual case
        return UNMOVED
    R = rotation(scope, mapping)
    T = IDENTITY_4.copy()
    T[:3, :3] = R if mapping.lacks("scale") else R * scale(mapping)
    T[:3, 3] = translation(mapping)
    return Placement(T, R)


def scale(mapping: Mapping) -> Array:
    """Read a scale along the axes, shape (3,): three numbers, or one for all axes."""
    if isinstance(mapping.get("scale"), Scalar):
        return np.full(3, mapping.number("scale", default=1.0))
    return mapping.numbers("scale", count=3, default=_ONES)


def translation(mapping: Mapping, *spellings: str) -> Array:
    """Read [x, y, z] in [m], or the sum of a list of such vectors, shape (3,)."""
    total = _ZERO
    for vector in _vectors(mapping, spellings or ("translation",), 3):
        total = total + vector
    return total


def rotation(scope: Scope, mapping: Mapping, *spellings: str) -> Array:
    """Read [x, y, z, angle], or the product of a list of such rotations, shape (3, 3)."""
    spellings = spellings or ("rotation",)
    R = IDENTITY_3
    for vector in _vectors(mapping, spellings, 4):
        x, y, z, angle = vector.tolist()
        axis = unit_vector((x, y, z))
        if axis is not None:
            R = R @ axis_angle_matrix(axis, angle * scope.angle)
        elif angle == 0.0:
            message = "the axis of a rotation is zero; there is no rotation, as the angle is 0"
            scope.diagnostics.warn("zero-axis", message, mapping.at(*spellings))
        else:
            message = "the axis of a rotation must not be zero"
            scope.diagnostics.error("zero-axis", message, mapping.at(*spellings))
    return R


def _vectors(mapping: Mapping, spellings: tuple[str, ...], count: int) -> list[Array]:
    """Return one vector, or those of a list of vectors, each of ``count`` numbers."""
    node = mapping.get_nonempty(*spellings)
    return [] if node is None else _flattened(node, count, mapping.diagnostics)


def _flattened(node: Node, count: int, diagnostics: Diagnostics) -> list[Array]:
    """Return a vector, or those in a list, which may be nested by aliases of lists."""
    if isinstance(node, Sequence) and not node.count:
        return []
    if isinstance(node, Sequence) and node.is_nested:
        return [vector for item in node.items for vector in _flattened(item, count, diagnostics)]
    vector = numbers(node, count, diagnostics)
    return [] if vector is None else [vector]


def numbers(node: Node, count: int, diagnostics: Diagnostics) -> Array | None:
    """Return a list of exactly ``count`` numbers, or None after reporting an error."""
    if not isinstance(node, Sequence):
        diagnostics.error("wrong-type", f"expected a list of {count} numbers", node.span)
        return None
    array = node.numbers()
    if array is None or len(array) == count:
        return array
    message = f"{count} numbers are needed here, not {len(array)}"
    diagnostics.error("wrong-count", message, node.span)
    return None


def flag(mapping: Mapping, *spellings: str, default: bool) -> bool:
    """Return a boolean; any other value is ignored with a warning, as in Choreonoid."""
    node = mapping.get(*spellings)
    if not isinstance(node, Scalar) or node.is_boolean or node.is_null:
        return mapping.boolean(*spellings, default=default)
    message = f"'{node.text}' is neither true nor false; it is ignored"
    mapping.diagnostics.warn("unknown-word", message, node.span)
    return default


def lenient_choice(mapping: Mapping, *spellings: str, choices: dict[str, _T], default: _T) -> _T:
    """Return the choice that a word selects; an unknown word is ignored with a warning.

    For keys whose unknown values other programs ignore.
    """
    written = mapping.text(*spellings, default="")
    if not written or written in choices:
        return choices.get(written, default)
    key = next(s for s in spellings if s in mapping)
    message = f"{key} '{written}' is unknown and ignored.{did_you_mean_or_all(written, choices)}"
    mapping.diagnostics.warn("unknown-word", message, mapping.at(*spellings))
    return default


def warn_misspelt_keys(mapping: Mapping, known: frozenset[str], free: Collection[str] = ()) -> None:
    """Warn about keys that look like misspellings of ``known`` ones and are not in ``free``.

    The format allows any other key, for anchors or for other programs.
    """
    others = {key for key in mapping.entries().keys() - known if not _misspelt(key, known)}
    mapping.finish(ignore=others.union(free))


@lru_cache(maxsize=2**16)  # every link of a file has the same few keys
def _misspelt(key: str, known: frozenset[str]) -> bool:
    """Whether a key looks like a misspelling of a known one."""
    if len(key) > _MAX_KEY_LENGTH:
        return False
    return bool(difflib.get_close_matches(key, known, n=1, cutoff=0.8))


def _follows(value: Span, key: Span) -> bool:
    """Whether a value is written after its key; the node of an alias is written before it."""
    return value.source is key.source and value.start > key.start


def word_set(text: str) -> frozenset[str]:
    """Return the set of words in a text."""
    return frozenset(text.split())


def _content(metadata: Node | None) -> _Metadata:
    """Return the content of a Resource's metadata, equal for all its notations."""
    if isinstance(metadata, Mapping):
        return frozenset(
            (_METADATA_KEYS.get(key, key), value.text.lower())
            for key, (_, value) in metadata.entries().items()
            if isinstance(value, Scalar)
        )
    words = re.findall(r"[^\s,]+", metadata.text) if isinstance(metadata, Scalar) else []
    return frozenset(_METADATA_WORDS[word] for word in words if word in _METADATA_WORDS)


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
