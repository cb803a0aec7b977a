"""Tokenize VRML97 text (ISO/IEC 14772-1, annex A). Knows no node types."""

from __future__ import annotations

import re
from enum import Enum

from ...diagnostics import Diagnostics, Source, Span
from ...reading import TooLargeError
from ..number_list import Numbers, number_list

# Far beyond any model, as lists of numbers count as one token. A token takes about a microsecond
# and a hundred bytes.
_MAX_TOKENS = 3_000_000


class TokenKind(Enum):
    """Kind of a token."""

    NUMBER = "number"
    STRING = "string"
    NAME = "name"
    PUNCT = "punctuation"
    END = "end of file"


# Commas are white space in VRML. There is only one way to match a comment, which keeps matching
# linear. The number of comments per match is limited, as each takes memory during the match.
_SPACE = r"[\s,\ufeff]* (?: \#[^\r\n]* (?: [\r\n] [\s,\ufeff]* | \Z ) ){0,100}"
# Beyond the standard, numbers are those of C's strtod, as some files contain "-nan".
_TOKEN = re.compile(
    _SPACE
    + r"""(?:
    (?P<NUMBER> [+-]? (?: 0[xX][0-9a-fA-F]+
                        | (?: [0-9]+\.?[0-9]* | \.[0-9]+ ) (?: [eE][+-]?[0-9]+ )?
                        | (?: [nN][aA][nN] | [iI][nN][fF] (?: [iI][nN][iI][tT][yY] )? )
                          (?= [\s,\[\]{}\#"] | $ ) ) )
  | (?P<NAME>   [^\x00-\x20"\#'+,\-.0-9\[\\\]{}\x7f] [^\x00-\x20"\#',.\[\\\]{}\x7f]* )
  | (?P<PUNCT>  [\[\]{}.] )
  | (?P<STRING> " [^"\\]* (?: \\. [^"\\]* )* " )
    )""",
    re.VERBOSE | re.DOTALL,
)
_SKIP = re.compile(_SPACE, re.VERBOSE)
# Brackets are part of a name only in pairs: "USE Part[1]]" ends a list.
_WORD = re.compile(r"[^\s,\[\]{}]+(?:\[[^\s,\[\]{}]*\][^\s,\[\]{}]*)*")
_ESCAPE = re.compile(r'\\(["\\])')
_KINDS = {kind.name: kind for kind in TokenKind}


class Lexer:
    """The tokens of a file, one at a time: the current one is in the attributes.

    A character that starts no token is reported once and skipped, so that one stray
    byte does not hide every later problem.

    Attributes:
        kind: Kind of the current token; END at the end of the text.
        text: Its text.
        start, end: Its offsets in the source.
    """

    def __init__(self, source: Source, diagnostics: Diagnostics) -> None:
        self.source = source
        self.kind = TokenKind.END
        self.text = ""
        self.start = self.end = 0
        self._diagnostics = diagnostics
        self._count = 0
        self.advance()

    def span(self) -> Span:
        """Return the place of the current token."""
        return Span(self.source, self.start, self.end)

    def advance(self) -> None:
        """Go to the next token.

        Raises:
            TooLargeError: The file has too many tokens.
        """
        self._count += 1
        if self._count > _MAX_TOKENS:
            raise TooLargeError(f"the file has more than {_MAX_TOKENS} tokens", self.span())
        text, start = self.source.text, self.end
        while True:
            match = _TOKEN.match(text, start)
            if match is not None:
                kind = match.lastgroup or "END"
                self.kind, self.text = _KINDS[kind], match[kind]
                self.start, self.end = match.span(kind)
                return
            skipped = self._skip(start)
            if skipped >= len(text):
                start = skipped
                break
            start = self._report_stray(start) if skipped == start else skipped
        self.kind, self.text, self.start, self.end = TokenKind.END, "", start, start

    def advance_word(self) -> None:
        """Go to the next word, which ends at white space, a comma, bracket or brace.

        For names after DEF and USE, where exporters write nearly any characters, even brackets,
        as in "Part[1]".
        """
        start = self._skip(self.end)
        match = _WORD.match(self.source.text, start)
        if match is None:
            self.advance()
        else:
            self.kind, self.text = TokenKind.NAME, match.group()
            self.start, self.end = start, match.end()

    def string(self) -> str:
        r"""Return the value of the current STRING token.

        Only \" and \\ are escapes; other backslashes are kept, for Windows paths.
        """
        return _ESCAPE.sub(r"\1", self.text[1:-1]) if "\\" in self.text else self.text[1:-1]

    def take_numbers(self, integer: bool) -> Numbers | None:
        """Return the list of plain numbers that the current "[" opens, and skip its "]".

        Lists are converted at once, as large meshes mostly consist of them. None, without
        advancing, if the list contains anything but decimal numbers and comments.
        """
        found = number_list(self.source.text, self.end, integer)
        if found is None:
            return None
        numbers, close = found
        self.end = close + 1
        self.advance()
        return numbers

    def opens_node(self) -> bool:
        """Whether the current token is followed by an opening brace, as a node type is."""
        following = self._skip(self.end)
        return self.source.text.startswith("{", following)

    def _skip(self, start: int) -> int:
        while (match := _SKIP.match(self.source.text, start)) and match.end() > start:
            start = match.end()
        return start

    def _report_stray(self, start: int) -> int:
        """Report characters that start no token, and return the offset at which to continue."""
        text = self.source.text
        if text[start] == '"':
            span = Span(self.source, start, start + 1)
            self._diagnostics.error("unterminated-string", "this string is not terminated", span)
            return len(text)
        stop = start + 1
        while stop < len(text) and text[stop] != '"' and self._skip(stop) == stop:
            if _TOKEN.match(text, stop):
                break
            stop += 1
        span = Span(self.source, start, stop)
        self._diagnostics.error("stray-character", f"unexpected {text[start:stop]!r}", span)
        return stop
