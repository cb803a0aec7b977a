"""Plain nodes out of what was written: USE followed, instances of PROTOs replaced."""

from __future__ import annotations

from collections.abc import Iterator

from ...diagnostics import Diagnostics
from ...reading import TooLargeError
from .nodes import Is, Node, Use

# PROTOs and USEs that double at every level would fill any memory. Nodes that a file
# spells out, and that are met once, are as many as they may be.
_MAX_NODES = 150_000


class Expander:
    """Gives the nodes that the values of fields stand for, in order."""

    def __init__(self, diagnostics: Diagnostics) -> None:
        self._diagnostics = diagnostics
        self._instances: dict[int, tuple[Node, Node | None]] = {}  # keeps the key's node alive
        self._reported: set[int] = set()
        self._met: set[int] = set()
        self._repeated = 0

    def nodes(self, value: object) -> Iterator[Node]:
        """Yield the plain nodes of a field's value: one node, a list of them, or neither."""
        for written in value if isinstance(value, tuple) else (value,):
            node = self._followed(written) if isinstance(written, Use) else written
            while isinstance(node, Node) and node.type.body:
                node = self._instance(node)
            if isinstance(node, Node):
                if id(node) in self._met:
                    self._repeat()
                self._met.add(id(node))
                yield node

    def node(self, owner: Node, field_name: str) -> Node | None:
        """Return the one node of a field, or None."""
        return next(self.nodes(owner.get(field_name)), None)

    def _repeat(self) -> None:
        """Count a node that is there again, or a copy."""
        self._repeated += 1
        if self._repeated > _MAX_NODES:
            raise TooLargeError("PROTO and USE multiply this file beyond any model's size")

    def _followed(self, use: Use) -> Node | None:
        subject = use if use.target is None else use.target
        if id(subject) not in self._reported:
            self._reported.add(id(subject))
            if use.target is None:
                message = f"USE of '{use.name}', which nothing above is named; it is left out"
                self._diagnostics.warn("unknown-use", message, use.span)
            elif use.first is not None:
                message = (
                    f"'{use.name}' names two different nodes, at {use.first.span} and "
                    f"{use.target.span}; this is the latter"
                )
                self._diagnostics.warn("ambiguous-use", message, use.span)
        return use.target

    def _instance(self, node: Node) -> Node | None:
        """Return the node that an instance of a PROTO stands for: the first of the body."""
        if id(node) not in self._instances:
            made = self._copy(node.type.body[0], node, {})
            made.name = node.name or made.name
            made.instance = node.instance or node
            self._instances[id(node)] = (node, made)
        return self._instances[id(node)][1]

    def _copy(self, part: Node, instance: Node, copies: dict[int, Node]) -> Node:
        """Copy a node of the body of ``instance``'s PROTO, with IS replaced by values."""
        self._repeat()
        copy = Node(part.type, part.name, part.source, part.start, part.end)
        copy.places = part.places
        for name, written in part.values.items():
            value = written
            if isinstance(written, Is):
                value = self._field_of(instance, written, part, name)
                if value is None:
                    continue  # the default of the part's own field
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
