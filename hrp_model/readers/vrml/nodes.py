"""Syntax tree of a VRML file, with the place of each node and field.

USE is resolved, and instances of PROTOs are expanded, on access.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from enum import Enum

from ...diagnostics import Diagnostics, Source, Span
from ...late_dataclass import dataclass
from ...read_context import TooLargeError

# Limit of repeated and copied nodes: PROTOs and USEs that double at every level would fill any
# memory. Nodes that occur once are not limited.
_MAX_NODES = 150_000


class Kind(Enum):
    """Kind of the scalars of a field."""

    BOOL = "TRUE or FALSE"
    INT = "an integer"
    FLOAT = "a number"
    STRING = "a string"
    NODE = "a node"
    IMAGE = "an image"  # starts with its size


@dataclass(frozen=True, slots=True)
class FieldType:
    """``width`` scalars of one kind; ``many`` for the MF types, which are lists."""

    kind: Kind
    width: int = 1
    many: bool = False


_SINGLE = {
    "Bool": FieldType(Kind.BOOL),
    "Int32": FieldType(Kind.INT),
    "Float": FieldType(Kind.FLOAT),
    "Time": FieldType(Kind.FLOAT),
    "String": FieldType(Kind.STRING),
    "Node": FieldType(Kind.NODE),
    "Vec2f": FieldType(Kind.FLOAT, 2),
    "Vec3f": FieldType(Kind.FLOAT, 3),
    "Color": FieldType(Kind.FLOAT, 3),
    "Rotation": FieldType(Kind.FLOAT, 4),
}
FIELD_TYPES = {
    **{f"SF{name}": t for name, t in _SINGLE.items()},
    **{f"MF{name}": FieldType(t.kind, t.width, many=True) for name, t in _SINGLE.items()},
    "SFImage": FieldType(Kind.IMAGE),
}


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


class Expander:
    """Returns the nodes in fields, with USE resolved and PROTOs expanded."""

    def __init__(self, diagnostics: Diagnostics) -> None:
        self._diagnostics = diagnostics
        self._instances: dict[int, tuple[Node, Node | None]] = {}  # keeps the key's node alive
        self._reported: set[int] = set()
        self._visited: set[int] = set()
        self._repeated = 0

    def nodes(self, value: object) -> Iterator[Node]:
        """Yield the nodes of a field's value, which may be one node, a list, or anything else."""
        for written in value if isinstance(value, tuple) else (value,):
            node = self._target(written) if isinstance(written, Use) else written
            while isinstance(node, Node) and node.type.body:
                node = self._instance(node)
            if isinstance(node, Node):
                if id(node) in self._visited:
                    self._repeat()
                self._visited.add(id(node))
                yield node

    def node(self, owner: Node, field_name: str) -> Node | None:
        """Return the (first) node of a field, or None."""
        return next(self.nodes(owner.get(field_name)), None)

    def _repeat(self) -> None:
        """Count a repeated or copied node."""
        self._repeated += 1
        if self._repeated > _MAX_NODES:
            raise TooLargeError(f"PROTO and USE multiply this file to more than {_MAX_NODES} nodes")

    def _target(self, use: Use) -> Node | None:
        """Return the node that a USE refers to; None after reporting that there is none."""
        subject = use if use.target is None else use.target
        if id(subject) not in self._reported:
            self._reported.add(id(subject))
            if use.target is None:
                message = f"USE of '{use.name}', which is not defined above; it is left out"
                self._diagnostics.warn("unknown-use", message, use.span)
            elif use.first is not None:
                message = (
                    f"'{use.name}' names two different nodes, at {use.first.span} and "
                    f"{use.target.span}; the latter is used"
                )
                self._diagnostics.warn("ambiguous-use", message, use.span)
        return use.target

    def _instance(self, node: Node) -> Node | None:
        """Return the node that an instance of a PROTO expands to: the first one in its body."""
        if id(node) not in self._instances:
            made = self._copy(node.type.body[0], node, {})
            made.name = node.name or made.name
            made.instance = node.instance or node
            self._instances[id(node)] = (node, made)
        return self._instances[id(node)][1]

    def _copy(self, part: Node, instance: Node, copies: dict[int, Node]) -> Node:
        """Copy a node in the body of ``instance``'s PROTO, with IS replaced by values."""
        self._repeat()
        copy = Node(part.type, part.name, part.source, part.start, part.end)
        copy.places = part.places
        for name, written in part.values.items():
            value = written
            if isinstance(written, Is):
                value = self._field_of(instance, written, part, name)
                if value is None:
                    continue  # the field has its default
            elif isinstance(written, Node | Use | tuple):
                value = self._copied(written, instance, copies)
            copy.values[name] = value
        copies[id(part)] = copy
        return copy

    def _copied(self, value: object, instance: Node, copies: dict[int, Node]) -> object:
        if isinstance(value, Node):
            return self._copy(value, instance, copies)
        if isinstance(value, Use):
            return copies.get(id(value.target), value)
        if isinstance(value, tuple):
            return tuple([self._copied(item, instance, copies) for item in value])
        return value

    def _field_of(self, instance: Node, reference: Is, part: Node, name: str) -> object:
        if reference.name not in instance.type.fields:
            if reference.name not in instance.type.events:
                message = f"PROTO {instance.type_name} has no field '{reference.name}'"
                self._diagnostics.warn("unknown-is", message, part.at(name))
            return None
        return instance.get(reference.name)
