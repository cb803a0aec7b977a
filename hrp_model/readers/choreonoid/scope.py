"""What the readers of one model file share, and how the file writes poses and angles."""

from __future__ import annotations

import difflib
from collections.abc import Collection
from collections.abc import Mapping as AbstractMapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ...diagnostics import Diagnostics, Source, Span, did_you_mean_or_all
from ...reading import Reading
from ...rigid import IDENTITY_3, IDENTITY_4, Array, Pose, axis_angle_matrix, unit_vector
from ..yaml.tree import Document, Mapping, Node, Scalar, Sequence, parse_document

_T = TypeVar("_T")
# No key of the format is half as long.
_LONGEST_KEY = 60
# Of these a wrong kind of value is an error, by any of their spellings.
_STRICT_KEYS = frozenset(
    ("format", "format_version", "model_file", "type", "root_link", "parent", "joint_name",
     "joint_type", "actuation_mode", "joint_angle", "joint_displacement",
     "link1_name", "link2_name", "numJoints", "joint_offset", "initialJointAngles")
)  # fmt: skip
_ZERO = np.zeros(3)
_ONES = np.ones(3)


def parse(
    source: Source, diagnostics: Diagnostics, anchors: AbstractMapping[str, Node] | None = None
) -> Document:
    """Parse a file of Choreonoid; a value of a wrong kind is treated as Choreonoid does.

    It reads most keys by functions that keep the default where a value is of another kind:
    text for a number, one number for a list or a list for a number. So that is a warning. Of the
    strict keys a wrong kind ends its reading, as it ends ours; so do wrong numbers in lists.
    """
    return parse_document(source, diagnostics, anchors, _STRICT_KEYS)


@dataclass
class Scope:
    """One model file being read.

    Attributes:
        reading: The run of reading it belongs to.
        document: The file's own nodes and anchors.
        angle: Radians in one unit of the file's angles.
        cache: Results by what was asked of which node (its id): an alias stands for one object.
        libraries: Files of nodes that were read so far.
        opened: How often such a file was used.
    """

    reading: Reading
    document: Document
    angle: float
    cache: dict[tuple[str, int], Any] = field(default_factory=dict)
    libraries: dict[Path, Document] = field(default_factory=dict)
    opened: int = 0
    _picks: dict[str, set[str]] = field(default_factory=dict)
    _searched: int = 0
    _anchored: set[int] = field(default_factory=set)
    _collected: int = 0

    def picked(self, uri: str) -> set[str]:
        """Return the names of the nodes that the file picks out of another one, anywhere in it."""
        documents = [self.document, *self.libraries.values()]
        for document in documents[self._searched :]:
            if document.root is not None:
                self._note_picks(document.root)
        self._searched = len(documents)
        return self._picks.get(uri, set())

    def _note_picks(self, root: Node) -> None:
        seen = {id(root)}
        stack = [root]
        while stack:
            node = stack.pop()
            if isinstance(node, Mapping):
                entries = {key: value for key, (_, value) in node.entries().items()}
                uri = entries.get("uri", entries.get("url"))
                name = entries.get("node", entries.get("fragment"))
                if isinstance(uri, Scalar) and isinstance(name, Scalar):
                    self._picks.setdefault(uri.text, set()).add(name.text)
                below = list(entries.values())
            elif isinstance(node, Sequence) and node.plain_numbers is None:
                below = node.items
            else:
                below = []
            new = [child for child in below if id(child) not in seen]
            seen.update(map(id, new))
            stack += new

    def finish(self, mapping: Mapping, ignore: Collection[str] = ()) -> None:
        """Warn about every key that nobody asked for, but for those in ``ignore``.

        Nor about keys under which a node is only kept for aliases: any name will do.
        """
        documents = [self.document, *self.libraries.values()]
        for document in documents[self._collected :]:
            self._anchored.update(map(id, document.anchors.values()))
        self._collected = len(documents)
        if mapping.all_used:  # as of most
            return
        kept = [
            name
            for name, (key, value) in mapping.entries().items()
            if id(value) in self._anchored and _follows(value.span, key.span)
        ]
        mapping.finish(ignore=(*ignore, *kept))

    @property
    def diagnostics(self) -> Diagnostics:
        """Where problems go."""
        return self.reading.diagnostics


@dataclass(frozen=True, eq=False)
class Placement:
    """Where a node lies in its link's frame L.

    Attributes:
        T: Affine map from the node's frame to L, shape (4, 4).
        R: The rotations in it alone, without any scale, shape (3, 3).
    """

    T: Array = field(default_factory=lambda: IDENTITY_4)
    R: Array = field(default_factory=lambda: IDENTITY_3)

    def __matmul__(self, other: Placement) -> Placement:
        """Place ``other`` inside this one."""
        if other is UNMOVED or self is UNMOVED:
            return self if other is UNMOVED else other
        return Placement(self.T @ other.T, self.R @ other.R)

    @property
    def pose(self) -> Pose:
        """Pose in L of what takes no scale itself."""
        return Pose(self.R, self.T[:3, 3])


UNMOVED = Placement()


def placement(mapping: Mapping, scope: Scope) -> Placement:
    """Read translation, rotation and scale of a node, applied in the order T R S."""
    if mapping.lacks("translation", "rotation", "scale"):  # as most nodes do
        return UNMOVED
    R = rotation(scope, mapping)
    T = IDENTITY_4.copy()
    T[:3, :3] = R if mapping.lacks("scale") else R * scale(mapping)
    T[:3, 3] = translation(mapping)
    return Placement(T, R)


def scale(mapping: Mapping) -> Array:
    """Read a scale along the axes: three numbers, or one for all, shape (3,)."""
    if isinstance(mapping.get("scale"), Scalar):
        return np.full(3, mapping.number("scale", default=1.0))
    return mapping.numbers("scale", count=3, default=_ONES)


def translation(mapping: Mapping, *spellings: str) -> Array:
    """Read [x, y, z] in [m], or a list of such, which add up, shape (3,)."""
    total = _ZERO
    for vector in _vectors(mapping, spellings or ("translation",), 3):
        total = total + vector
    return total


def rotation(scope: Scope, mapping: Mapping, *spellings: str) -> Array:
    """Read [x, y, z, angle], or a list of such, multiplied left to right, shape (3, 3)."""
    spellings = spellings or ("rotation",)
    R = IDENTITY_3
    for vector in _vectors(mapping, spellings, 4):
        x, y, z, angle = vector.tolist()
        axis = unit_vector((x, y, z))
        if axis is not None:
            R = R @ axis_angle_matrix(axis, angle * scope.angle)
        elif angle == 0.0:
            message = "a rotation by 0 about no axis is read as no rotation"
            scope.diagnostics.warn("zero-axis", message, mapping.at(*spellings))
        else:
            message = "the axis of a rotation must not be zero"
            scope.diagnostics.error("zero-axis", message, mapping.at(*spellings))
    return R


def _vectors(mapping: Mapping, spellings: tuple[str, ...], count: int) -> list[Array]:
    """Return one vector, or those of a list of vectors, all of ``count`` numbers."""
    node = mapping.get_nonempty(*spellings)
    return [] if node is None else _flattened(node, count, mapping.diagnostics)


def _flattened(node: Node, count: int, diagnostics: Diagnostics) -> list[Array]:
    """Return a vector, or those in a list of such; aliases of lists may stand in lists."""
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
    """Return a truth value; anything else is reported and not used, as the format has it."""
    node = mapping.get(*spellings)
    if not isinstance(node, Scalar) or node.is_boolean or node.is_null:
        return mapping.boolean(*spellings, default=default)
    message = f"'{node.text}' is neither true nor false and not used"
    mapping.diagnostics.warn("unknown-word", message, node.span)
    return default


def lenient_choice(
    mapping: Mapping,
    *spellings: str,
    choices: dict[str, _T],
    default: _T,
    code: str = "unknown-word",
) -> _T:
    """Return what a word stands for; an unknown one is reported and not used.

    For words that other programs pass over when they do not know them.
    """
    written = mapping.text(*spellings, default="")
    if not written or written in choices:
        return choices.get(written, default)
    key = next(s for s in spellings if s in mapping)
    message = f"{key} '{written}' is unknown and not used.{did_you_mean_or_all(written, choices)}"
    mapping.diagnostics.warn(code, message, mapping.at(*spellings))
    return default


def warn_misspelt_keys(mapping: Mapping, known: frozenset[str], free: Collection[str] = ()) -> None:
    """Warn about keys that look like misspelt ones of ``known``, but for those in ``free``.

    Any other key may hold anchors, or information for whoever knows it: the format allows it.
    """
    others = {key for key in mapping.entries().keys() - known if not _misspelt(key, known)}
    mapping.finish(ignore=others.union(free))


@lru_cache(maxsize=2**16)  # the same few keys stand in every link of a file
def _misspelt(key: str, known: frozenset[str]) -> bool:
    """Whether a key looks like a slip of the pen in one of the known ones."""
    return len(key) <= _LONGEST_KEY and bool(difflib.get_close_matches(key, known, n=1, cutoff=0.8))


def _follows(value: Span, key: Span) -> bool:
    """Whether a value stands behind its key: what an alias names stands before it."""
    return value.source is key.source and value.start > key.start


def word_set(text: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(text.split())
