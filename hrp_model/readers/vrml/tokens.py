"""Tokens and plain values of VRML97 text (ISO/IEC 14772-1, annex A). Knows no node types."""

from __future__ import annotations

import math
import re
from enum import Enum
from typing import NoReturn

import numpy as np

from ...diagnostics import Diagnostics, Source, Span
from ...read_context import TooLargeError
from ..number_list import Numbers, int32_array, number_list
from .nodes import FieldType, Kind

# Far beyond any model, as lists of numbers count as one token. A token takes about a microsecond
# and a hundred bytes.
_MAX_TOKENS = 3_000_000
_MAX_ERRORS = 20
# Placeholders of template languages such as Jinja and CMake.
_PLACEHOLDER = re.compile(
    r"\{\{[^{}\r\n]{1,80}\}\} | \{%[^%\r\n]{1,80}%\} | @\w{1,80}@", re.VERBOSE
)


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


class UnexpectedTokenError(Exception):
    """The current token is not the expected one; the message states what is expected."""


class TemplateError(Exception):
    """The current token is a placeholder: the file is a template that was not filled in."""

    def __init__(self, placeholder: str) -> None:
        super().__init__(placeholder)
        self.placeholder = placeholder


class TooManyProblemsError(Exception):
    """The limit of errors in a file is exceeded."""


class ScalarParser:
    """Parses scalars and lists of scalars."""

    def __init__(self, source: Source, diagnostics: Diagnostics) -> None:
        self._source = source
        self._diagnostics = diagnostics
        self._lexer = Lexer(source, diagnostics)
        self._errors = 0
        self._ended = False

    def _scalars(self, field_type: FieldType) -> object:
        """value: single | "[" single* "]", the brackets only for MF types."""
        if field_type.kind is Kind.IMAGE:
            return self._image()
        if field_type.many and field_type.kind in (Kind.INT, Kind.FLOAT):
            return self._number_list(field_type)
        if not field_type.many:
            return self._single(field_type)
        if not self._accept("["):
            return (self._single(field_type),)
        values = []
        while not self._accept("]"):
            values.append(self._single(field_type))
        return tuple(values)

    def _single(self, field_type: FieldType) -> object:
        """One value of a type other than a node."""
        lexer = self._lexer
        if field_type.kind is Kind.STRING:
            if lexer.kind is not TokenKind.STRING:
                self._unexpected("a string")
            text = lexer.string()
            lexer.advance()
            return text
        if field_type.kind is Kind.BOOL:
            if lexer.text.upper() not in ("TRUE", "FALSE"):
                self._unexpected("TRUE or FALSE")
            value = lexer.text.upper() == "TRUE"
            lexer.advance()
            return value
        integer = field_type.kind is Kind.INT
        if field_type.width == 1:
            return self._number(integer)
        return tuple([self._number(integer) for _ in range(field_type.width)])

    def _number(self, integer: bool) -> float:
        lexer = self._lexer
        if lexer.kind is not TokenKind.NUMBER:
            self._unexpected("an integer" if integer else "a number")
        text = lexer.text
        value = _hexadecimal(text) if "x" in text.lower() else float(text)
        if not integer:
            lexer.advance()
            return value
        if not math.isfinite(value) or abs(value) >= 2**63:
            self._unexpected("an integer")
        lexer.advance()
        return round(value)

    def _number_list(self, field_type: FieldType) -> Numbers:
        """Numbers of an MF type: shape (n,), or (n, width)."""
        integer = field_type.kind is Kind.INT
        span = self._lexer.span()
        numbers = self._lexer.take_numbers(integer) if self._at("[") else None
        if numbers is None:
            numbers = self._numbers_one_by_one(integer)
        width = field_type.width
        if width > 1:
            if len(numbers) % width:
                message = f"{len(numbers)} numbers do not make groups of {width}"
                self._error("odd-count", message, span)
            numbers = numbers[: len(numbers) // width * width].reshape(-1, width)
        numbers.setflags(write=False)
        return numbers

    def _numbers_one_by_one(self, integer: bool) -> Numbers:
        listed = self._accept("[")
        values = [] if listed else [self._number(integer)]
        # Some exporters omit the brackets even around several numbers.
        while not (self._accept("]") if listed else self._lexer.kind is not TokenKind.NUMBER):
            values.append(self._number(integer))
        return int32_array(np.array(values, np.int64)) if integer else np.array(values, np.float64)

    def _image(self) -> Numbers:
        """SFImage: width, height and components, then a number for each pixel."""
        head = [int(self._number(integer=True)) for _ in range(3)]
        values = list(head)
        while self._lexer.kind is TokenKind.NUMBER:
            values.append(int(self._number(integer=True)))
        if len(values) != 3 + head[0] * head[1]:
            problem = f"{len(values) - 3} pixels instead of {head[0]} x {head[1]}"
            raise UnexpectedTokenError(problem)
        return np.array(values, np.float64)

    # --- tokens

    def _at(self, punct: str) -> bool:
        return self._lexer.kind is TokenKind.PUNCT and self._lexer.text == punct

    def _at_end(self) -> bool:
        return self._lexer.kind is TokenKind.END

    def _accept(self, punct: str) -> bool:
        if not self._at(punct):
            return False
        self._lexer.advance()
        return True

    def _expect(self, punct: str) -> None:
        if not self._accept(punct):
            self._unexpected(f"'{punct}'")

    def _name(self, expected: str) -> str:
        if self._lexer.kind is not TokenKind.NAME:
            self._unexpected(expected)
        name = self._lexer.text
        self._lexer.advance()
        return name

    def _skip_braces(self) -> None:
        """Skip a pair of braces and its contents."""
        self._expect("{")
        depth = 1
        while depth and self._lexer.kind is not TokenKind.END:
            depth += self._at("{") - self._at("}")
            self._lexer.advance()
        if depth:
            self._report("expected '}'")

    def _unexpected(self, expected: str) -> NoReturn:
        raise UnexpectedTokenError(f"expected {expected}")

    def _recover(self, expected: str, start: int) -> None:
        """Report the current token, and skip it if nothing was parsed since ``start``."""
        self._report(expected)
        if self._lexer.start == start:
            self._lexer.advance()

    def _report(self, expected: str) -> None:
        """Report the current token as unexpected; the end of the file only once."""
        lexer = self._lexer
        if lexer.kind is TokenKind.END:
            if not self._ended:
                self._error("unexpected-end", f"{expected}, but the file ends", lexer.span())
            self._ended = True
            return
        self._error("syntax-error", f"{expected}, got {lexer.text[:40]!r}", lexer.span())

    def _error(self, code: str, message: str, span: Span) -> None:
        placeholder = _PLACEHOLDER.match(self._source.text, span.start)
        if placeholder is not None:
            raise TemplateError(placeholder.group()[:40])
        self._diagnostics.error(code, message, span)
        self._errors += 1
        if self._errors >= _MAX_ERRORS:
            raise TooManyProblemsError


def _hexadecimal(text: str) -> float:
    try:
        return float(int(text, 16))
    except OverflowError:
        return math.inf
