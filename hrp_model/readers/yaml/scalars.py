"""Scalars of a YAML document: text with a place, asked for a number or a truth value."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from math import inf, isfinite
from typing import Any, final

from ...diagnostics import Diagnostics, Source, Span

# What C's strtod would take: numbers are the longest such prefix of a scalar's text.
NUMBER = re.compile(
    r"\s*(?:[+-]?(?:0[xX](?P<hex>[0-9a-fA-F]+)"
    r"|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
    r"|inf(?:inity)?|nan))",
    re.IGNORECASE,
)
# YAML's own spellings, which strtod does not take.
_NOT_FINITE = frozenset((".nan", ".inf", "+.inf", "-.inf"))
_INTEGER = re.compile(r"[+-]?[0-9]{1,1000}")  # longer ones are no quantities of anything
_WORDS = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE"), True),
    **dict.fromkeys(("on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE"), False),
    **dict.fromkeys(("off", "Off", "OFF"), False),
}
NULLS = frozenset(("", "~", "null"))
_PLAIN_WORDS = {"true": True, "True": True, "false": False, "False": False}


@dataclass(frozen=True, slots=True, eq=False)
class Context:
    """What the nodes of one file share.

    Attributes:
        source: The file.
        diagnostics: Where problems go.
        reported: Offsets of keys that were already reported as unknown; a node that
            is used in many places is reported once.
        strict_keys: Keys whose values must be of the kind that their reader asks for: of
            others the default is used, with a warning. None if all keys are strict.
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
        """Where it stands."""
        return Span(self._context.source, self.start, self._end)

    @property
    def description(self) -> str:
        """What to call it in a message."""
        return f"'{self.text}'" if self.text else "nothing"

    @property
    def is_null(self) -> bool:
        """Whether nothing was written, as after ``key:``."""
        return self.plain and self.text in NULLS

    def number(self) -> float | None:
        """Return the finite number the text begins with, or None after reporting an error."""
        match = NUMBER.match(self.text)
        if match is None:
            self._complain("a finite number" if self.is_number else "a number")
            return None
        value = _value(match)
        if not isfinite(value):
            self._complain("a finite number")
            return None
        if match.end() < len(self.text.rstrip()):
            message = f"'{self.text}' is read as {value:g}: what follows is no number"
            self._context.diagnostics.warn("trailing-text", message, self.span)
        return value

    @property
    def is_number(self) -> bool:
        """Whether it begins with a number, finite or not."""
        return NUMBER.match(self.text) is not None or self.text.lower() in _NOT_FINITE

    @property
    def is_boolean(self) -> bool:
        """Whether it is a YAML 1.1 word for a truth value."""
        return self.text in _WORDS

    def boolean(self) -> bool | None:
        """Return the truth value of a YAML 1.1 word, or None after reporting an error."""
        if self.text not in _WORDS:
            self._complain("true or false")
        return _WORDS.get(self.text)

    def plain_value(self) -> Any:
        """Return a bool, int, float or None if it plainly is one, else the text."""
        if not self.plain:
            return self.text
        if self.is_null:
            return None
        if self.text in _PLAIN_WORDS:
            return _PLAIN_WORDS[self.text]
        match = NUMBER.fullmatch(self.text)
        return self.text if match is None else plain_number(match)

    def _complain(self, needed: str) -> None:
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
