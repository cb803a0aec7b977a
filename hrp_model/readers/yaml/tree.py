"""Parse YAML into a tree of nodes with their places.

A general YAML loader resolves types: the key ``on`` becomes true, ``010`` becomes 8 and
``1e-3`` a string. Here every scalar stays text until a getter converts it, and duplicate keys
and anchors, which YAML loaders accept silently, are reported.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping as AbstractMapping
from dataclasses import field
from typing import Any, NoReturn

from ...diagnostics import Diagnostics, Source, Span
from ...late_dataclass import dataclass
from ..number_list import paused_gc
from . import _yaml
from .nodes import Context, Mapping, Node, Scalar, Sequence, number_nodes

__all__ = ["Document", "Mapping", "Node", "Scalar", "Sequence", "parse", "parse_document"]

# Kinds of events, with their content.
ANCHOR = 0  # anchor of the next node: its name
ALIAS = 1  # alias: the name of its anchor
LIST = 2  # start of a list: offsets of the plain numbers at its beginning, as uint32
MAPPING = 3  # start of a mapping: (entries, key of the next value or None, number of lists)
ENTRIES = 4  # a whole mapping: (entries, None, number of entries that are lists)
CLOSE = 5  # end of the innermost list or mapping: None
DOCUMENT = 6  # start of a document: None
# A scalar, a list of plain numbers, or (kind, start, end, content).
Event = Scalar | Sequence | tuple[int, int, int, Any]
# Limits of nesting, and of lists and mappings after following every alias. The largest published
# models stay below a tenth of either.
_MAX_DEPTH = 100
_MAX_WEIGHT = 500_000
_MAX_EVENTS = 1_200_000  # a list of numbers is one event, as are the plain entries of a mapping
_Entries = dict[str, tuple[Scalar, Node]]


class YamlSyntaxError(Exception):
    """The text is not valid YAML.

    Attributes:
        offset: Offset of the error; None if only ``character`` is known.
        character: A character that is not allowed in YAML, or None.
    """

    def __init__(self, message: str, offset: int | None, character: str | None = None) -> None:
        super().__init__(message)
        self.offset = offset
        self.character = character


def events(text: str, shift: int, context: Context) -> Iterable[Event]:
    """Yield the events of a text, with ``shift`` added to every offset.

    Offsets count characters.

    Raises:
        YamlSyntaxError: While iterating: the text is not valid YAML.
    """
    return _yaml.Events(text, shift, _syntax_error, context, Scalar, Sequence)


def _syntax_error(
    context: str | None, problem: str | None, offset: int, character: int
) -> YamlSyntaxError:
    """Return the exception for an invalid character or, if that is -1, for an offset."""
    message = ", ".join(part for part in (context, problem) if part) or "invalid YAML"
    if character < 0:
        return YamlSyntaxError(message, offset)
    return YamlSyntaxError(message, None, chr(character))


@dataclass(frozen=True)
class Document:
    """A parsed document: its root node (None if unusable) and its nodes by anchor."""

    root: Node | None
    anchors: dict[str, Node] = field(default_factory=dict)


def parse(source: Source, diagnostics: Diagnostics) -> Node | None:
    """Return the root of the first document in a YAML text, or None if there is none.

    Syntax errors are reported; an empty text gives None without a report.
    """
    return parse_document(source, diagnostics).root


def parse_document(
    source: Source,
    diagnostics: Diagnostics,
    anchors: AbstractMapping[str, Node] | None = None,
    strict_keys: frozenset[str] | None = None,
) -> Document:
    """Parse a text whose aliases may also refer to nodes of another text.

    Args:
        source: The text.
        diagnostics: Receives all problems.
        anchors: Further nodes by anchor to which aliases may refer.
        strict_keys: Keys whose values must have the right type, see ``Context``; by default
            all.
    """
    builder = _Builder(Context(source, diagnostics, strict_keys), anchors or {})
    try:
        with paused_gc():
            return Document(builder.build(), builder.anchors)
    except _UnusableError as error:
        diagnostics.error(error.code, str(error), error.at)
    except YamlSyntaxError as error:
        at = builder.place_of(error)
        is_tab = source.text[at.start : at.end] == "\t"
        if is_tab and error.character is None:
            message = "YAML must be indented with spaces, not with tabs"
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
    """A list or mapping under construction, or the whole document, as a list of one node.

    Attributes:
        start: Offset of its first character.
        anchor: Its anchor, or None.
        items: The nodes of a list.
        entries: A mapping's own entries so far; None for a list.
        key: The key of a mapping whose value comes next.
        merged: The mappings of its merge keys, in their order.
        weight: Number of lists and mappings in it so far, following aliases.
        depth: Depth of its nesting so far.
    """

    __slots__ = ("anchor", "depth", "entries", "items", "key", "merged", "start", "weight")

    def __init__(self, start: int, anchor: str | None) -> None:
        self.start = start
        self.anchor = anchor
        self.items: list[Node] = []
        self.entries: _Entries | None = None
        self.key: Node | None = None
        self.merged: list[Mapping] = []
        self.weight = 1
        self.depth = 1

    def measure(self, node: Node) -> None:
        """Add the weight and depth of a node."""
        if not isinstance(node, Scalar):
            self.weight += node.weight
            if self.depth <= node.depth:
                self.depth = 1 + node.depth


class _Builder:
    """Builds nodes from events, with a stack of its own instead of recursion."""

    def __init__(self, context: Context, foreign: AbstractMapping[str, Node]) -> None:
        self.anchors: dict[str, Node] = {}
        self._foreign = foreign
        self._source = source = context.source
        self._diagnostics = context.diagnostics
        self._context = context
        # libyaml does not count a byte order mark as a character.
        self._shift = 1 if source.text.startswith("\ufeff") else 0
        self._stack = [_Open(0, None)]
        self._merged = 0
        self._anchored: set[int] = set()  # ids of all nodes that had an anchor

    def build(self) -> Node | None:
        """Return the root of the first document."""
        root = top = self._stack[0]
        anchor: str | None = None
        node: Node
        count = 0
        for event in events(self._source.text[self._shift :], self._shift, self._context):
            count += 1
            if count > _MAX_EVENTS:
                self._give_up(top)
            if not isinstance(event, tuple):
                node = event
            else:
                kind, start, end, content = event
                if kind == MAPPING:
                    top, anchor = self._open(start, anchor), None
                    top.entries, top.key, lists = content
                    top.weight, top.depth = 1 + lists, 2 if lists else 1
                    continue
                if kind == LIST:
                    top, anchor = self._open(start, anchor), None
                    top.items = number_nodes(self._context, content) if content else []
                    continue
                if kind == ANCHOR:
                    anchor = content
                    continue
                if kind == DOCUMENT:
                    if root.items:
                        self._report_more(start)
                        break
                    continue
                if kind == ENTRIES:
                    node = Mapping(self._context, start, end, content[0])
                    node.weight, node.depth = 1 + content[2], 2 if content[2] else 1
                elif kind == CLOSE:
                    node, anchor = self._close(end)
                    top = self._stack[-1]
                else:
                    node = self._aliased(content, Span(self._source, start, end))
            if anchor is not None:
                self._name(anchor, node)
                anchor = None
            self._add(top, node)
        return root.items[0] if root.items else None

    def place_of(self, error: YamlSyntaxError) -> Span:
        """Return the place of a syntax error."""
        text, offset = self._source.text, error.offset
        if error.character is not None:
            offset = text.find(error.character, self._shift)
        offset = min(max(offset or 0, 0), len(text))
        return Span(self._source, offset, min(offset + 1, len(text)))

    def _give_up(self, top: _Open) -> NoReturn:
        at = Span(self._source, top.start, top.start)
        raise _UnusableError("too-large", f"the file has more than {_MAX_EVENTS} values", at)

    def _report_more(self, offset: int) -> None:
        message = "only the first document of a file is read"
        at = Span(self._source, offset, min(offset + 1, len(self._source.text)))
        self._diagnostics.warn("more-documents", message, at)

    def _open(self, start: int, anchor: str | None) -> _Open:
        if len(self._stack) > _MAX_DEPTH:
            at = Span(self._source, start, start)
            raise _UnusableError("too-deep", f"more than {_MAX_DEPTH} levels of nesting", at)
        opened = _Open(start, anchor)
        self._stack.append(opened)
        return opened

    def _add(self, top: _Open, node: Node) -> None:
        """Add a node to an open list or mapping: an item, a key, or the value of the last key."""
        entries, key = top.entries, top.key
        if entries is None:
            top.items.append(node)
        elif key is None:
            top.key = node
            return
        else:
            top.key = None
            if type(key) is not Scalar or key.text in entries or key.text == "<<":
                self._put(top, entries, key, node)
                return
            entries[key.text] = (key, node)
        if type(node) is not Scalar:
            top.measure(node)

    def _close(self, end: int) -> tuple[Sequence | Mapping, str | None]:
        """Return the innermost list or mapping, now complete, and its anchor.

        Its weight and depth, following every alias, are limited.
        """
        opened = self._stack.pop()
        node: Sequence | Mapping
        if opened.entries is None:
            node = Sequence(self._context, opened.start, end, opened.items)
        else:
            for other in opened.merged:
                self._count_merged(other)
                for key, entry in other.entries().items():
                    if key not in opened.entries:
                        opened.entries[key] = entry
                        opened.measure(entry[1])
            node = Mapping(self._context, opened.start, end, opened.entries)
        node.weight, node.depth = opened.weight, opened.depth
        if node.weight > _MAX_WEIGHT:
            raise _UnusableError("alias-bomb", "aliases multiply this node too often", node.span)
        if node.depth > _MAX_DEPTH:
            raise _UnusableError("too-deep", f"more than {_MAX_DEPTH} levels of nesting", node.span)
        return node, opened.anchor

    def _count_merged(self, other: Mapping) -> None:
        """Limit the number of entries that merge keys copy."""
        self._merged += len(other)
        if self._merged > _MAX_WEIGHT:
            message = "merge keys copy this mapping too often"
            raise _UnusableError("alias-bomb", message, other.span)

    def _put(self, top: _Open, entries: _Entries, key: Node, value: Node) -> None:
        """Add an entry with a special key: not a scalar, a merge key, or a duplicate."""
        if not isinstance(key, Scalar):
            self._diagnostics.error("bad-key", "a key must be a single value", key.span)
        elif key.text == "<<" and key.plain:
            self._merge(top, value)
        else:
            if key.text in entries:
                self._report_duplicate(key, *entries[key.text], value)
            entries[key.text] = (key, value)
            top.measure(value)

    def _report_duplicate(self, key: Scalar, earlier: Scalar, lost: Node, value: Node) -> None:
        """Report a key that replaces an earlier one.

        Files define nodes for aliases at their top, under keys that are never read; aliases of
        both still work.
        """
        line, _ = self._source.line_column(earlier.span.start)
        message = f"'{key.text}' replaces the same key in line {line}"
        if self._is_at_top and {id(lost), id(value)} <= self._anchored:
            message += "; aliases of both still work"
            self._diagnostics.note("duplicate-key", message, key.span)
        else:
            self._diagnostics.warn("duplicate-key", message, key.span)

    @property
    def _is_at_top(self) -> bool:
        """Whether the current node is a value of the outermost mapping."""
        return len(self._stack) == 2 and self._stack[1].entries is not None

    def _merge(self, top: _Open, value: Node) -> None:
        """Record the mappings of a merge key; earlier ones take precedence over later ones."""
        for other in value.items if isinstance(value, Sequence) else [value]:
            if isinstance(other, Mapping):
                top.merged.append(other)
            else:
                message = "the value of '<<' must be a mapping or a list of mappings"
                self._diagnostics.error("bad-merge", message, other.span)

    def _name(self, anchor: str, node: Node) -> None:
        if anchor in self.anchors:
            message = f"anchor '&{anchor}' is defined again; later aliases refer to this node"
            if self._is_at_top:
                self._diagnostics.note("duplicate-anchor", message, node.span)
            else:
                self._diagnostics.warn("duplicate-anchor", message, node.span)
        self.anchors[anchor] = node
        self._anchored.add(id(node))

    def _aliased(self, anchor: str, at: Span) -> Node:
        if any(opened.anchor == anchor for opened in self._stack):
            self._diagnostics.error("alias-cycle", f"the node of '*{anchor}' contains itself", at)
        elif anchor in self.anchors:
            return self.anchors[anchor]
        elif anchor in self._foreign:
            return self._foreign[anchor]
        else:
            self._diagnostics.error("unknown-alias", f"anchor '&{anchor}' is not defined above", at)
        return Scalar("", True, self._context, at.start, at.end)
