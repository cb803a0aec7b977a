"""Syntax tree of a VRML file, with the place of each node and field."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ...diagnostics import Source, Span
from .field_types import FieldType


@dataclass(frozen=True, slots=True)
class Declaration:
    """A field of a node type: its type and default value."""

    type: FieldType
    default: object = None


@dataclass(frozen=True, slots=True, eq=False)
class Proto:
    """A node type of VRML97 or OpenHRP, or one that a file declares.

    Attributes:
        name: Name of the type.
        fields: Declarations by name. If a file declares a known type itself, its fields take
            precedence, and missing ones are added from the known type.
        events: Names of eventIn and eventOut entries, which have no value.
        undeclared: Fields that the file's own declaration lacks.
        body: Nodes that an instance expands to; empty for types known by name.
        is_known: Whether the type is declared; of an unknown type all fields are kept.
    """

    name: str
    fields: Mapping[str, Declaration]
    events: frozenset[str] = frozenset()
    undeclared: frozenset[str] = frozenset()
    body: tuple[Node, ...] = field(default=(), repr=False)
    is_known: bool = True


# Not frozen, although never changed after parsing: making instances of a frozen class takes
# three times as long.
@dataclass(slots=True, eq=False)
class Node:
    """A node as written, without interpretation or defaults.

    Values are bool, int, float, str, a tuple of numbers (SFVec3f, ...), a numpy array
    (MF types of numbers, shape (n,) or (n, width); SFImage), a tuple of str or of nodes,
    or one node: a Node, a Use, or None for NULL. Inside a PROTO's body also an Is.

    Attributes:
        type: Its type; one without fields if it is unknown.
        name: Its DEF name, or "".
        source: The file.
        start, end: Offsets of its type name and of the end of its closing brace.
        values: Values that are written, by field name.
        places: Offset of each field's name.
        instance: The instance of a PROTO from which this node was expanded, or None.
    """

    type: Proto
    name: str
    source: Source = field(repr=False)
    start: int
    end: int
    values: dict[str, object] = field(default_factory=dict)
    places: dict[str, int] = field(default_factory=dict, repr=False)
    instance: Node | None = field(default=None, repr=False)

    @property
    def type_name(self) -> str:
        """Name of its type."""
        return self.type.name

    @property
    def span(self) -> Span:
        """Place of its type name."""
        return Span(self.source, self.start, self.start + len(self.type.name))

    def at(self, field_name: str) -> Span:
        """Return the place of a field's name, or of the node if the field is not written."""
        if field_name not in self.places:
            return self.span
        start = self.places[field_name]
        return Span(self.source, start, start + len(field_name))

    def get(self, field_name: str) -> object:
        """Return the value of a field as written, else its default, else None."""
        if field_name in self.values:
            return self.values[field_name]
        declaration = self.type.fields.get(field_name)
        return None if declaration is None else declaration.default


@dataclass(slots=True, eq=False)
class Use:
    """A ``USE name``.

    Attributes:
        target: The last node defined by that name above it in the file, or None.
        first: The first node of that name if it differs from the target, else None.
    """

    name: str
    target: Node | None
    first: Node | None
    span: Span


@dataclass(slots=True, eq=False)
class Is:
    """``IS name`` in the body of a PROTO: the value of the instance's field."""

    name: str


@dataclass(slots=True, eq=False)
class Document:
    """A parsed file: its top-level nodes, in order."""

    source: Source
    nodes: tuple[Node | Use, ...]
