"""Scalars of a YAML document: text with its place, read as a number or a boolean."""

from __future__ import annotations

import re
from dataclasses import field
from math import inf, isfinite
from typing import Any, final

from ...diagnostics import Diagnostics, Source, Span
from ...late_dataclass import dataclass

# Numbers as C's strtod reads them, at the beginning of a scalar's text.
NUMBER = re.compile(
    r"\s*(?:[+-]?(?:0[xX](?P<hex>[0-9a-fA-F]+)"
    r"|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
    r"|inf(?:inity)?|nan))",
    re.IGNORECASE,
)
# YAML's own spellings, which strtod does not accept.
_NOT_FINITE = frozenset((".nan", ".inf", "+.inf", "-.inf"))
_INTEGER = re.compile(r"[+-]?[0-9]{1,1000}")  # bounds the time of int()
_BOOLEANS = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE"), True),
    **dict.fromkeys(("on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE"), False),
    **dict.fromkeys(("off", "Off", "OFF"), False),
}
NULLS = frozenset(("", "~", "null"))
_PLAIN_BOOLEANS = {"true": True, "True": True, "false": False, "False": False}


@dataclass(frozen=True, slots=True, eq=False)
class Context:
    """Context shared by the nodes of one file.

    Attributes:
        source: The file.
        diagnostics: Receives all problems.
        strict_keys: Keys whose values must have the right type: a wrong type is an error. For
            other keys it is a warning, and the default is used. None if all keys are strict.
        reported: Offsets of keys already reported as unknown; a node that is used in many
            places is reported once.
    """

    source: Source
    diagnostics: Diagnostics
    strict_keys: frozenset[str] | None = None
    reported: set[int] = field(default_factory=set)


@final
class Scalar:
    """A single value, still text.

    Attributes:
        text: Its text, without quotes.
        plain: Whether it was written without quotes.
        start: Offset of its first character.
    """

    __slots__ = ("_context", "_end", "plain", "start", "text")

    def __init__(self, text: str, plain: bool, context: Context, start: int, end: int) -> None:
        self.text = text
        self.plain = plain
        self._context = context
        self.start = start
        self._end = end

    @property
    def span(self) -> Span:
        """Its place in the file."""
        return Span(self._context.source, self.start, self._end)

    @property
    def description(self) -> str:
        """Description for messages."""
        return f"'{self.text}'" if self.text else "nothing"

    @property
    def is_null(self) -> bool:
        """Whether it is empty or null, as after ``key:``."""
        return self.plain and self.text in NULLS

    def number(self) -> float | None:
        """Return the finite number the text begins with, or None after reporting an error."""
        match = NUMBER.match(self.text)
        if match is None:
            self._report_type("a finite number" if self.is_number else "a number")
            return None
        value = _value(match)
        if not isfinite(value):
            self._report_type("a finite number")
            return None
        if match.end() < len(self.text.rstrip()):
            message = f"'{self.text}' is read as {value:g}: the text after the number is ignored"
            self._context.diagnostics.warn("trailing-text", message, self.span)
        return value

    @property
    def is_number(self) -> bool:
        """Whether it begins with a number, finite or not."""
        return NUMBER.match(self.text) is not None or self.text.lower() in _NOT_FINITE

    @property
    def is_boolean(self) -> bool:
        """Whether it is a YAML 1.1 boolean."""
        return self.text in _BOOLEANS

    def boolean(self) -> bool | None:
        """Return the value of a YAML 1.1 boolean, or None after reporting an error."""
        if self.text not in _BOOLEANS:
            self._report_type("true or false")
        return _BOOLEANS.get(self.text)

    def plain_value(self) -> Any:
        """Return a bool, int, float or None if it is written as one, else the text."""
        if not self.plain:
            return self.text
        if self.is_null:
            return None
        if self.text in _PLAIN_BOOLEANS:
            return _PLAIN_BOOLEANS[self.text]
        match = NUMBER.fullmatch(self.text)
        return self.text if match is None else plain_number(match)

    def _report_type(self, needed: str) -> None:
        message = f"expected {needed}, found {self.description}"
        self._context.diagnostics.error("wrong-type", message, self.span)


def plain_number(match: re.Match[str]) -> float:
    """Return the number that NUMBER matched, as an int if it is written as one."""
    return int(match[0]) if _INTEGER.fullmatch(match[0]) else _value(match)


def _value(match: re.Match[str]) -> float:
    """Return the number that NUMBER matched."""
    if match["hex"]:
        sign = -1.0 if match[0].lstrip().startswith("-") else 1.0
        try:
            return sign * float(int(match["hex"], 16))
        except OverflowError:
            return sign * inf
    return float(match[0])
