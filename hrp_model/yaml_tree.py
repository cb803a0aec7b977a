"""YAML events to a tree of located nodes.

A general YAML loader resolves types: the key ``on`` becomes true, ``010`` becomes 8 and
``1e-3`` a string. Here every scalar stays text until a reader asks, every node knows its
place, and what YAML lets pass silently (equal keys, equal anchors) is reported.
"""

from __future__ import annotations

from collections.abc import Mapping as AbstractMapping
from dataclasses import dataclass, field

from .collector import paused_collector
from .diagnostics import Diagnostics, Source, Span
from .yaml_events import ALIAS, CLOSE, LIST, MAPPING, NUMBERS, SCALAR, YamlSyntaxError, events
from .yaml_nodes import Context, Mapping, Node, Scalar, Sequence

__all__ = ["Document", "Mapping", "Node", "Scalar", "Sequence", "parse", "parse_document"]

# Deeper nesting, or more lists and mappings after following every alias, is an attack or
# an accident; the largest published models stay below a tenth of either.
_MAX_DEPTH = 100
_MAX_WEIGHT = 500_000

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
        with paused_collector():
            return Document(builder.build(), builder.anchors)
    except _UnusableError as error:
        diagnostics.error(error.code, str(error), error.at)
    except YamlSyntaxError as error:
        at = builder.place_of(error)
        is_tab = source.text[at.start : at.end] == "\t"
        if is_tab and error.character is None:
            message = "a tab; YAML is indented with spaces only"
        elif error.character is not None:
            message = f"{error}: U+{ord(error.character):04X}"
        else:
            message = str(error)
        diagnostics.error("yaml-syntax", message, at)
    return Document(None, builder.anchors)


class _UnusableError(Exception):
    """The document cannot be used at all."""

    def __init__(self, code: str, message: str, at: Span) -> None:
        super().__init__(message)
        self.code = code
        self.at = at


class _Open:
    """A list or mapping under construction.

    Attributes:
        node: What will be handed on when it is complete.
        anchor: Its name for aliases.
        key: A key of a mapping that waits for its value.
        entries: The mapping's own entries so far.
        merged: What its merge keys name, in their order.
    """

    __slots__ = ("anchor", "entries", "key", "merged", "node")

    def __init__(self, node: Sequence | Mapping, anchor: str | None) -> None:
        self.node = node
        self.anchor = anchor
        self.key: Node | None = None
        self.entries: _Entries = {}
        self.merged: list[Mapping] = []


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
        self._stack: list[_Open] = []
        self._merged = 0

    def build(self) -> Node | None:
        """Return the root of the first document."""
        context, stack = self._context, self._stack
        root: Node | None = None
        documents = 0
        for kind, start, end, content, anchor, plain in events(
            self._source.text[self._shift :], self._shift
        ):
            node: Node
            if kind == SCALAR:
                node = Scalar(content, plain, context, start, end)
            elif kind == NUMBERS:
                node = Sequence(context, start, *content)
                node.close(end)
            elif kind == ALIAS:
                node = self._aliased(content, Span(self._source, start, end))
            elif kind == LIST:
                self._open(Sequence(context, start, None, content), anchor)
                continue
            elif kind == MAPPING:
                self._open(Mapping(context, start), anchor)
                continue
            elif kind == CLOSE:
                node, anchor = self._close(end)
            else:
                documents += 1
                if documents > 1:
                    self._report_more(start)
                    break
                continue
            if anchor is not None:
                self._name(anchor, node)
            if not stack:
                root = node
                continue
            top = stack[-1]
            if type(top.node) is Sequence:
                top.node.items.append(node)
            elif top.key is None:
                top.key = node
            else:
                self._put(top, top.key, node)
                top.key = None
        return root

    def place_of(self, error: YamlSyntaxError) -> Span:
        """Return the character at which a text shows to be no YAML."""
        text, offset = self._source.text, error.offset
        if error.character is not None:
            offset = text.find(error.character, self._shift)
        offset = min(max(offset or 0, 0), len(text))
        return Span(self._source, offset, min(offset + 1, len(text)))

    def _report_more(self, offset: int) -> None:
        message = "only the first document of a file is read"
        at = Span(self._source, offset, min(offset + 1, len(self._source.text)))
        self._diagnostics.warn("more-documents", message, at)

    def _open(self, node: Sequence | Mapping, anchor: str | None) -> None:
        if len(self._stack) >= _MAX_DEPTH:
            raise _UnusableError("too-deep", f"more than {_MAX_DEPTH} levels of nesting", node.span)
        self._stack.append(_Open(node, anchor))

    def _close(self, end: int) -> tuple[Sequence | Mapping, str | None]:
        """Return the innermost list or mapping, complete, and its anchor."""
        opened = self._stack.pop()
        node = opened.node
        if isinstance(node, Mapping):
            for other in opened.merged:
                self._count_merged(other)
                for key, entry in other.entries().items():
                    opened.entries.setdefault(key, entry)
            node.close(end, opened.entries)
            children = [c for _, c in opened.entries.values() if not isinstance(c, Scalar)]
            self._measure(node, children)
        else:
            node.close(end)
            self._measure(node, [c for c in node.items if not isinstance(c, Scalar)])
        return node, opened.anchor

    def _count_merged(self, other: Mapping) -> None:
        """Bound what merge keys copy: any number of mappings may take up a long one."""
        self._merged += len(other)
        if self._merged > _MAX_WEIGHT:
            message = "merge keys repeat this mapping too often"
            raise _UnusableError("alias-bomb", message, other.span)

    def _measure(self, node: Sequence | Mapping, children: list[Sequence | Mapping]) -> None:
        """Bound what following every alias would visit, and how deep it would go."""
        for child in children:
            node.weight += child.weight
            node.depth = max(node.depth, 1 + child.depth)
        if node.weight > _MAX_WEIGHT:
            raise _UnusableError("alias-bomb", "the aliases repeat each other too often", node.span)
        if node.depth > _MAX_DEPTH:
            raise _UnusableError("too-deep", f"more than {_MAX_DEPTH} levels of nesting", node.span)

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
