"""YAML text to a tree of located nodes, by the events of libyaml.

A general YAML loader resolves types: the key ``on`` becomes true, ``010`` becomes 8 and
``1e-3`` a string. Here every scalar stays text until a reader asks, every node knows its
place, and what YAML lets pass silently (equal keys, equal anchors) is reported.
"""

from __future__ import annotations

from collections.abc import Mapping as AbstractMapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from .diagnostics import Diagnostics, Source, Span
from .yaml_nodes import Context, Mapping, Node, Scalar, Sequence

__all__ = ["Document", "Mapping", "Node", "Scalar", "Sequence", "parse", "parse_document"]

# Deeper nesting, or more lists and mappings after following every alias, is an attack or
# an accident; the largest published models stay below a tenth of either.
_MAX_DEPTH = 100
_MAX_WEIGHT = 500_000

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_Entries = dict[str, tuple[Scalar, Node]]


@dataclass(frozen=True)
class Document:
    """A parsed document: its root node (None: nothing usable) and what its anchors name."""

    root: Node | None
    anchors: dict[str, Node] = field(default_factory=dict)


def parse(source: Source, diagnostics: Diagnostics) -> Node | None:
    """Return the root of the first document in a YAML text, or None if there is none.

    Syntax errors are reported at their place and give None; an empty text gives None silently.
    """
    return parse_document(source, diagnostics).root


def parse_document(
    source: Source, diagnostics: Diagnostics, anchors: AbstractMapping[str, Node] | None = None
) -> Document:
    """Parse a text whose aliases may also name nodes of another one.

    Args:
        source: The text.
        diagnostics: Where problems go.
        anchors: Nodes that aliases may name beside those anchored in the text itself.
    """
    builder = _Builder(source, diagnostics, anchors or {})
    try:
        return Document(builder.build(), builder.anchors)
    except _UnusableError as error:
        diagnostics.error(error.code, str(error), error.at)
    except yaml.MarkedYAMLError as error:
        at = builder.mark_span(error.problem_mark)
        is_tab = source.text[at.start : at.end] == "\t"
        message = "a tab; YAML is indented with spaces only" if is_tab else _sentence(error)
        diagnostics.error("yaml-syntax", message, at)
    except yaml.reader.ReaderError as error:
        span = builder.character_span(error)
        diagnostics.error("yaml-syntax", f"{error.reason}: U+{error.character:04X}", span)
    return Document(None, builder.anchors)


class _UnusableError(Exception):
    """The document cannot be used at all."""

    def __init__(self, code: str, message: str, at: Span) -> None:
        super().__init__(message)
        self.code = code
        self.at = at


@dataclass(slots=True)
class _Open:
    """A list or mapping under construction.

    Attributes:
        node: What will be handed on when it is complete.
        anchor: Its name for aliases.
        items: Where the items of a list go; None for a mapping.
        key: A key of a mapping that waits for its value.
        entries: The mapping's own entries so far.
        merged: What its merge keys name, in their order.
    """

    node: Sequence | Mapping
    anchor: str | None
    items: list[Node] | None = None
    key: Node | None = None
    entries: _Entries = field(default_factory=dict)
    merged: list[Mapping] = field(default_factory=list)


class _Builder:
    """Turns events into nodes, with its own stack: no text can exhaust the interpreter's."""

    def __init__(
        self, source: Source, diagnostics: Diagnostics, foreign: AbstractMapping[str, Node]
    ) -> None:
        self.anchors: dict[str, Node] = {}
        self._foreign = foreign
        self._source = source
        self._diagnostics = diagnostics
        self._context = Context(source, diagnostics)
        # A byte order mark is a character of the text but none to libyaml.
        self._shift = 1 if source.text.startswith("\ufeff") else 0
        self._root: Node | None = None
        self._stack: list[_Open] = []

    def build(self) -> Node | None:
        text = self._source.text[self._shift :]
        loader = _Loader(text.encode("utf-8", "replace").decode("utf-8"))
        shift, context, next_event = self._shift, self._context, loader.get_event
        scalar_event, add = yaml.ScalarEvent, self._add
        while (event := next_event()) is not None:
            kind = type(event)
            start, end = event.start_mark.index + shift, event.end_mark.index + shift
            if kind is scalar_event:
                scalar = Scalar(event.value, event.implicit[0], context, start, end)
                if event.anchor is not None:
                    self._name(event.anchor, scalar)
                add(scalar)
            elif kind is yaml.SequenceStartEvent:
                self._open(Sequence(context, start), event.anchor)
            elif kind is yaml.MappingStartEvent:
                self._open(Mapping(context, start), event.anchor)
            elif kind in (yaml.SequenceEndEvent, yaml.MappingEndEvent):
                self._close(end)
            elif kind is yaml.AliasEvent:
                self._add(self._aliased(event.anchor, Span(self._source, start, end)))
            elif kind is yaml.DocumentEndEvent:
                break
        self._report_more(loader)
        return self._root

    def mark_span(self, mark: Any) -> Span:
        """Return the character at one of libyaml's marks."""
        offset = min((mark.index if mark else 0) + self._shift, len(self._source.text))
        return Span(self._source, offset, min(offset + 1, len(self._source.text)))

    def character_span(self, error: yaml.reader.ReaderError) -> Span:
        """Return the character that may not stand in a YAML text at all."""
        character = chr(error.character) if isinstance(error.character, int) else error.character
        offset = max(self._source.text.find(character), 0)
        return Span(self._source, offset, offset + 1)

    def _report_more(self, loader: Any) -> None:
        event = loader.get_event()
        if isinstance(event, yaml.DocumentStartEvent):
            message = "only the first document of a file is read"
            self._diagnostics.warn("more-documents", message, self.mark_span(event.start_mark))

    def _open(self, node: Sequence | Mapping, anchor: str | None) -> None:
        if len(self._stack) >= _MAX_DEPTH:
            raise _UnusableError("too-deep", f"more than {_MAX_DEPTH} levels of nesting", node.span)
        items = node.items if isinstance(node, Sequence) else None
        self._stack.append(_Open(node, anchor, items))

    def _close(self, end: int) -> None:
        opened = self._stack.pop()
        node = opened.node
        if isinstance(node, Mapping):
            for other in opened.merged:
                for key, entry in other.entries().items():
                    opened.entries.setdefault(key, entry)
            node.close(end, opened.entries)
            self._measure(node, [value for _, value in opened.entries.values()])
        else:
            node.close(end)
            self._measure(node, node.items)
        if opened.anchor is not None:
            self._name(opened.anchor, node)
        self._add(node)

    def _measure(self, node: Sequence | Mapping, children: list[Node]) -> None:
        """Bound what following every alias would visit, and how deep it would go."""
        for child in children:
            if not isinstance(child, Scalar):
                node.weight += child.weight
                node.depth = max(node.depth, 1 + child.depth)
        if node.weight > _MAX_WEIGHT:
            raise _UnusableError("alias-bomb", "the aliases repeat each other too often", node.span)
        if node.depth > _MAX_DEPTH:
            raise _UnusableError("too-deep", f"more than {_MAX_DEPTH} levels of nesting", node.span)

    def _add(self, node: Node) -> None:
        """Hand a complete node to what is open around it."""
        if not self._stack:
            self._root = node
            return
        top = self._stack[-1]
        if top.items is not None:
            top.items.append(node)
        elif top.key is None:
            top.key = node
        else:
            key, top.key = top.key, None
            self._put(top, key, node)

    def _put(self, top: _Open, key: Node, value: Node) -> None:
        if not isinstance(key, Scalar):
            self._diagnostics.error("bad-key", "a key must be a single value", key.span)
        elif key.text == "<<" and key.plain:
            self._merge(top, value)
        else:
            if key.text in top.entries:
                line, _ = self._source.line_column(top.entries[key.text][0].span.start)
                message = f"'{key.text}' replaces the one in line {line} of the same mapping"
                self._diagnostics.warn("duplicate-key", message, key.span)
            top.entries[key.text] = (key, value)

    def _merge(self, top: _Open, value: Node) -> None:
        """Note the mappings of a merge key. An earlier one wins over a later one."""
        for other in value.items if isinstance(value, Sequence) else [value]:
            if isinstance(other, Mapping):
                top.merged.append(other)
            else:
                message = "'<<' takes a mapping or a list of mappings"
                self._diagnostics.error("bad-merge", message, other.span)

    def _name(self, anchor: str, node: Node) -> None:
        if anchor in self.anchors:
            message = f"the anchor '&{anchor}' is used again; aliases after it mean this node"
            self._diagnostics.warn("duplicate-anchor", message, node.span)
        self.anchors[anchor] = node

    def _aliased(self, anchor: str, at: Span) -> Node:
        if any(opened.anchor == anchor for opened in self._stack):
            self._diagnostics.error("alias-cycle", f"'*{anchor}' contains itself", at)
        elif anchor in self.anchors:
            return self.anchors[anchor]
        elif anchor in self._foreign:
            return self._foreign[anchor]
        else:
            self._diagnostics.error("unknown-alias", f"no anchor '&{anchor}' before this", at)
        return Scalar("", True, self._context, at.start, at.end)


def _sentence(error: yaml.MarkedYAMLError) -> str:
    return ", ".join(part for part in (error.context, error.problem) if part) or "invalid YAML"
