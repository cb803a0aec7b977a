"""The syntax tree of a VRML file: what was written, and where."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ...diagnostics import Source, Span
from .field_types import FieldType


@dataclass(frozen=True, slots=True)
class Declaration:
    """One field of a node type: its type and the value it has where none is written."""

    type: FieldType
    default: object = None


@dataclass(frozen=True, slots=True, eq=False)
class Proto:
    """A node type: one of the standard's or OpenHRP's, or one that a file declares.

    Attributes:
        name: What nodes of this type begin with.
        fields: By name. A file's own declaration of a known type comes first, and
            what it leaves out is completed from the known one.
        events: Names of eventIn and eventOut entries, which carry no value.
        undeclared: The fields that the file's own declaration left out.
        body: What an instance stands for; empty where the name alone says what it means.
        is_known: Whether anybody declared it; of an unknown type any field is kept.
    """

    name: str
    fields: Mapping[str, Declaration]
    events: frozenset[str] = frozenset()
    undeclared: frozenset[str] = frozenset()
    body: tuple[Node, ...] = field(default=(), repr=False)
    is_known: bool = True


# Not frozen, for a tree is built in the innermost loop and a frozen class takes three
# times as long to make; nobody changes a node once it is parsed.
@dataclass(slots=True, eq=False)
class Node:
    """A node as written. Nothing is interpreted yet, and no default is filled in.

    Values are bool, int, float, str, a tuple of numbers (SFVec3f, ...), a numpy array
    (MF types of numbers, shape (n,) or (n, width); SFImage), a tuple of str or of nodes,
    or one node: a Node, a Use, or None for NULL. Inside a PROTO's body also an Is.

    Attributes:
        type: Its declaration; one without fields when the type is unknown.
        name: The name that DEF gives it, or "".
        values: What is written, by field name.
        places: Offset of each field's name in the source.
        source, start, end: Where it stands, from its type to its closing brace.
        instance: The instance of a PROTO that this node stands for, if it does.
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
        """The word it begins with."""
        return self.type.name

    @property
    def span(self) -> Span:
        """The place of its type name."""
        return Span(self.source, self.start, self.start + len(self.type.name))

    def at(self, field_name: str) -> Span:
        """Return the place of a field's name, or of the node where it is not written."""
        if field_name not in self.places:
            return self.span
        start = self.places[field_name]
        return Span(self.source, start, start + len(field_name))

    def get(self, field_name: str) -> object:
        """Return the value of a field: as written, else its declared default, else None."""
        if field_name in self.values:
            return self.values[field_name]
        declaration = self.type.fields.get(field_name)
        return None if declaration is None else declaration.default


@dataclass(slots=True, eq=False)
class Use:
    """``USE name``, with the latest node of that name above it in the file.

    Attributes:
        target: None when there is no such node.
        first: The first node of that name, when it is another and reads differently.
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
    """One parsed file: its nodes at the top, in order."""

    source: Source
    nodes: tuple[Node | Use, ...]
