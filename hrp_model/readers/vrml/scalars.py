"""Parse plain values, such as numbers and strings, and report syntax errors."""

from __future__ import annotations

import math
import re
from typing import NoReturn

import numpy as np

from ...diagnostics import Diagnostics, Source, Span
from ..number_list import Numbers, int32_array
from .field_types import FieldType, Kind
from .tokens import Lexer, TokenKind

_MAX_ERRORS = 20
# Placeholders of template languages such as Jinja and CMake.
_PLACEHOLDER = re.compile(
    r"\{\{[^{}\r\n]{1,80}\}\} | \{%[^%\r\n]{1,80}%\} | @\w{1,80}@", re.VERBOSE
)


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
