"""Resolve USE, and expand instances of PROTOs."""

from __future__ import annotations

from collections.abc import Iterator

from ...diagnostics import Diagnostics
from ...reading import TooLargeError
from .nodes import Is, Node, Use

# Limit of repeated and copied nodes: PROTOs and USEs that double at every level would fill any
# memory. Nodes that occur once are not limited.
_MAX_NODES = 150_000


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
