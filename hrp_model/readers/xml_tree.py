"""Parse XML of any format into a tree of elements with their places."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import field
from xml.parsers import expat

from ..diagnostics import Diagnostics, Source, Span
from ..files.model_file import codec, declared_encoding
from ..late_dataclass import dataclass

# A decimal number, or "inf" or "nan", which callers may reject.
NUMBER = re.compile(
    r"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|inf(?:inity)?|nan)", re.IGNORECASE
)
_MAX_DEPTH = 200
_MAX_ATTRIBUTES = 10_000  # of one element
_INVALID_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_VISIBLE = re.compile(r"[^\n]")
_ATTRIBUTE = re.compile(r"""\s+([^\s=/>"']+)\s*=\s*("[^"]*"|'[^']*')""")


@dataclass(slots=True, eq=False)
class Element:
    """An element as written, without interpretation.

    Attributes:
        tag: Its name, including a namespace prefix.
        attributes: Values by name, in the order of the file.
        source: The file.
        start: Offset of its "<".
        children: Child elements.
        text: Its own text, without surrounding blanks.
    """

    tag: str
    attributes: dict[str, str]
    source: Source = field(repr=False)
    start: int
    children: list[Element] = field(default_factory=list, repr=False)
    text: str = ""
    _places: dict[str, tuple[int, int]] | None = field(default=None, init=False, repr=False)

    @property
    def span(self) -> Span:
        """Place of its tag."""
        return Span(self.source, self.start, self.start + 1 + len(self.tag))

    def at(self, attribute: str) -> Span:
        """Return the place of an attribute, or of the tag if the attribute is missing."""
        if self._places is None:
            self._places = self._find_places()
        start, end = self._places.get(attribute, (self.span.start, self.span.end))
        return Span(self.source, start, end)

    def _find_places(self) -> dict[str, tuple[int, int]]:
        """Return the start and end of each attribute."""
        places: dict[str, tuple[int, int]] = {}
        offset = self.start + 1 + len(self.tag)
        while (match := _ATTRIBUTE.match(self.source.text, offset)) is not None:
            places.setdefault(match[1], (match.start(1), match.end()))
            offset = match.end()
        return places

    def all(self, *tags: str) -> Iterator[Element]:
        """Yield the child elements with one of these tags."""
        return (child for child in self.children if child.tag in tags)

    def first(self, *tags: str) -> Element | None:
        """Return the first child element with one of these tags, or None."""
        return next(self.all(*tags), None)

    def descendants(self) -> Iterator[Element]:
        """Yield all descendants, parents before their children."""
        stack = self.children[::-1]
        while stack:
            element = stack.pop()
            yield element
            stack += element.children[::-1]


class _RefusedError(Exception):
    """The text exceeds a limit or has an entity; its arguments are a code and a message."""


def parse(
    source: Source, diagnostics: Diagnostics, count: Callable[[Span], None] | None = None
) -> Element | None:
    """Return the root element of a text; None after reporting an error.

    Args:
        source: The text, already decoded.
        diagnostics: Receives errors, and a warning if the text is not in the encoding that it
            declares.
        count: Called with the place of each element; may raise to abort.
    """
    report_encoding(source, diagnostics)
    builder = _Builder(source, source.text, count)
    try:
        try:
            return builder.build()
        except expat.ExpatError:
            at = builder.here(failed=True)
            if not _is_in_comment(source.text, at.start):
                raise
            message = "a comment contains '--', which XML does not allow; other programs may fail"
            diagnostics.warn("xml-comment", message, at)
            builder = _Builder(source, _INVALID_COMMENT.sub(_blank, source.text), count)
            return builder.build()
    except _RefusedError as error:
        code, message = error.args
        diagnostics.error(code, message, builder.here())
    except expat.ExpatError as error:
        diagnostics.error("xml-syntax", builder.explain(error), builder.here(failed=True))
    return None


def _is_in_comment(text: str, offset: int) -> bool:
    """Return whether a comment is open at an offset, and closed after it."""
    start = text.rfind("<!--", 0, offset)
    return start > text.rfind("-->", 0, offset) and text.find("-->", offset) > offset


def _blank(match: re.Match[str]) -> str:
    """Return as many blanks and line ends as a text has characters."""
    return _VISIBLE.sub(" ", match[0])


def report_encoding(source: Source, diagnostics: Diagnostics) -> None:
    """Warn if a file is not in the encoding that its XML declaration states."""
    declared = declared_encoding(source.text) if source.encoding else None
    if declared is None:
        return
    name, start = declared
    named = codec(name)
    if named is not None and f"{source.encoding}-".startswith(f"{named}-"):
        return
    problem = "is unknown" if named is None else "is not the file's"
    message = f"the declared encoding '{name}' {problem}; it is read as {source.encoding}"
    diagnostics.warn("false-encoding", message, Span(source, start, start + len(name)))


class _Builder:
    def __init__(self, source: Source, text: str, count: Callable[[Span], None] | None) -> None:
        self._source = source
        self._count = count
        self._data = text.encode("utf-8", errors="replace")
        self._is_ascii = len(self._data) == len(text)
        self._passed = (0, 0)  # a byte offset, and its character offset
        self._root: Element | None = None
        self._stack: list[Element] = []
        self._texts: list[list[str]] = []
        # Overrides the encoding that the text declares, since it was decoded already.
        self._parser = expat.ParserCreate("utf-8")
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._open
        self._parser.EndElementHandler = self._close
        self._parser.CharacterDataHandler = self._add_text
        self._parser.EntityDeclHandler = self._refuse_entity

    def build(self) -> Element | None:
        """Return the root element; raises ExpatError."""
        self._parser.Parse(self._data, True)
        return self._root

    def here(self, *, failed: bool = False) -> Span:
        """Return the current place of the parser, or the place of its error."""
        parser = self._parser
        offset = self._offset(parser.ErrorByteIndex if failed else parser.CurrentByteIndex)
        return Span(self._source, offset, min(offset + 1, len(self._source.text)))

    def explain(self, error: expat.ExpatError) -> str:
        """Return a message for a syntax error."""
        reason = expat.ErrorString(error.code)
        if self._stack:
            inside = self._stack[-1]
            line, _ = self._source.line_column(inside.start)
            return f"invalid XML: {reason}, inside <{inside.tag}> of line {line}"
        return f"invalid XML: {reason}"

    def _offset(self, byte: int) -> int:
        if self._is_ascii:
            return byte
        passed, characters = self._passed
        if byte < passed:
            passed = characters = 0
        characters += len(self._data[passed:byte].decode("utf-8", errors="replace"))
        self._passed = byte, characters
        return characters

    def _open(self, tag: str, attributes: dict[str, str]) -> None:
        start = self._offset(self._parser.CurrentByteIndex)
        element = Element(tag, attributes, self._source, start)
        if self._count is not None:
            self._count(element.span)
        if len(attributes) > _MAX_ATTRIBUTES:
            raise _RefusedError("too-large", f"<{tag}> has more than {_MAX_ATTRIBUTES} attributes")
        if len(self._stack) >= _MAX_DEPTH:
            message = f"elements are nested more than {_MAX_DEPTH} levels deep"
            raise _RefusedError("too-deep", message)
        if self._stack:
            self._stack[-1].children.append(element)
        else:
            self._root = element
        self._stack.append(element)
        self._texts.append([])

    def _close(self, tag: str) -> None:
        del tag  # expat checks that it matches
        self._stack.pop().text = "".join(self._texts.pop()).strip()

    def _add_text(self, text: str) -> None:
        self._texts[-1].append(text)

    def _refuse_entity(self, name: str, *rest: object) -> None:
        """Abort: a few entities can expand to any amount of text, or to files."""
        del rest
        raise _RefusedError(
            "xml-entity", f"entities such as '{name}' are not supported: write out the text"
        )
