"""Nodes of a YAML document: text with places, asked by type. Knows no vocabulary."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from math import isfinite
from typing import Any, TypeVar

import numpy as np

from .diagnostics import Diagnostics, Source, Span, did_you_mean, did_you_mean_or_all
from .rigid import Array

_T = TypeVar("_T")

# What C's strtod would take: numbers are the longest such prefix of a scalar's text.
_NUMBER = re.compile(
    r"\s*(?:[+-]?(?:0[xX](?P<hex>[0-9a-fA-F]+)"
    r"|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
    r"|inf(?:inity)?|nan))",
    re.IGNORECASE,
)
_INTEGER = re.compile(r"[+-]?[0-9]+")
_WORDS = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE"), True),
    **dict.fromkeys(("on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE"), False),
    **dict.fromkeys(("off", "Off", "OFF"), False),
}
_PLAIN_WORDS = {"true": True, "True": True, "false": False, "False": False}


@dataclass(frozen=True, slots=True, eq=False)
class Context:
    """What the nodes of one file share.

    Attributes:
        source: The file.
        diagnostics: Where problems go.
        reported: Offsets of keys that were already reported as unknown; a node that
            is used in many places is reported once.
    """

    source: Source
    diagnostics: Diagnostics
    reported: set[int] = field(default_factory=set)


class Scalar:
    """A single value, still text.

    Attributes:
        text: Its text, without quotes.
        plain: Whether it was written without quotes.
    """

    __slots__ = ("_context", "_end", "_start", "plain", "text")

    def __init__(self, text: str, plain: bool, context: Context, start: int, end: int) -> None:
        self.text = text
        self.plain = plain
        self._context = context
        self._start = start
        self._end = end

    @property
    def span(self) -> Span:
        """Where it stands."""
        return Span(self._context.source, self._start, self._end)

    @property
    def is_null(self) -> bool:
        """Whether nothing was written, as after ``key:``."""
        return self.plain and self.text in ("", "~", "null")

    def number(self) -> float | None:
        """Return the finite number the text begins with, or None after reporting an error."""
        value = _number_prefix(self.text)
        if value is None or not isfinite(value):
            _complain(self, "a number" if value is None else "a finite number")
            return None
        if _NUMBER.fullmatch(self.text.rstrip()) is None:
            message = f"'{self.text}' is read as {value:g}: what follows is no number"
            self._context.diagnostics.warn("trailing-text", message, self.span)
        return value

    def boolean(self) -> bool | None:
        """Return the truth value of a YAML 1.1 word, or None after reporting an error."""
        if self.text not in _WORDS:
            _complain(self, "true or false")
        return _WORDS.get(self.text)

    def plain_value(self) -> Any:
        """Return a bool, int, float or None if it plainly is one, else the text."""
        if not self.plain:
            return self.text
        if self.is_null:
            return None
        if self.text in _PLAIN_WORDS:
            return _PLAIN_WORDS[self.text]
        if _INTEGER.fullmatch(self.text):
            return int(self.text)
        return _number_prefix(self.text) if _NUMBER.fullmatch(self.text) else self.text


class Sequence:
    """A list.

    Attributes:
        items: The nodes in it.
    """

    __slots__ = ("_context", "_end", "_numbers", "_start", "depth", "items", "weight")

    def __init__(self, context: Context, start: int) -> None:
        self.items: list[Node] = []
        self.depth = 1
        self.weight = 1
        self._context = context
        self._start = self._end = start
        self._numbers: Array | None = None

    def close(self, end: int) -> None:
        """Set where the list ends; for the parser."""
        self._end = end

    @property
    def span(self) -> Span:
        """Where it stands."""
        return Span(self._context.source, self._start, self._end)

    def numbers(self) -> Array | None:
        """Return all items as finite numbers, or None after reporting an error."""
        if self._numbers is None:
            self._numbers = _fast_numbers(self.items)
        if self._numbers is None:
            values = []
            for item in self.items:
                if not isinstance(item, Scalar):
                    _complain(item, "a number")
                    return None
                if (value := item.number()) is None:
                    return None
                values.append(value)
            self._numbers = np.array(values)
        return self._numbers

    def plain_value(self) -> list[Any]:
        """Return the items as plain Python values."""
        return [item.plain_value() for item in self.items]


class Mapping:
    """Keys with values, which remembers the keys that were asked for.

    Every getter takes the spellings of one key, the current one first, and returns
    ``default`` when none of them is there, or when the value is not of the asked kind;
    that is reported as an error at the value.
    """

    __slots__ = ("_asked", "_context", "_end", "_entries", "_start", "depth", "weight")

    def __init__(self, context: Context, start: int) -> None:
        self.depth = 1
        self.weight = 1
        self._entries: dict[str, tuple[Scalar, Node]] = {}
        self._asked: set[str] = set()
        self._context = context
        self._start = self._end = start

    def close(self, end: int, entries: dict[str, tuple[Scalar, Node]]) -> None:
        """Set what the mapping holds and where it ends; for the parser."""
        self._end = end
        self._entries = entries

    @property
    def span(self) -> Span:
        """Where it stands."""
        return Span(self._context.source, self._start, self._end)

    @property
    def diagnostics(self) -> Diagnostics:
        """Where its problems go."""
        return self._context.diagnostics

    def __contains__(self, key: str) -> bool:
        return key in self._entries

    def __len__(self) -> int:
        return len(self._entries)

    def items(self) -> Iterator[tuple[Scalar, Node]]:
        """Yield every key and value, the merged ones last; all of them count as asked for."""
        self._asked.update(self._entries)
        yield from self._entries.values()

    def entries(self) -> dict[str, tuple[Scalar, Node]]:
        """Return all keys with their nodes, without counting them as asked for."""
        return dict(self._entries)

    def with_defaults(self, other: Mapping) -> Mapping:
        """Return this mapping with the entries of another for the keys it lacks."""
        merged = Mapping(self._context, self._start)
        merged.close(self._end, {**other._entries, **self._entries})
        merged.depth, merged.weight = self.depth, self.weight
        merged._asked = set(self._asked)
        return merged

    def get(self, *spellings: str) -> Node | None:
        """Return the value under the first spelling present; warn when there are more."""
        self._asked.update(spellings)
        present = [s for s in spellings if s in self._entries]
        for extra in present[1:]:
            key = self._entries[extra][0]
            if key._start not in self._context.reported:
                self._context.reported.add(key._start)
                message = f"'{extra}' is ignored: '{present[0]}' says the same and wins"
                self.diagnostics.warn("two-spellings", message, key.span)
        return self._entries[present[0]][1] if present else None

    def at(self, *spellings: str) -> Span:
        """Return where the value of a key stands; where the mapping begins without it."""
        for spelling in spellings:
            if spelling in self._entries:
                return self._entries[spelling][1].span
        return Span(self._context.source, self._start, self._start)

    def number(self, *spellings: str, default: _T) -> float | _T:
        """Return a finite number."""
        value = self._scalar(spellings, "a number")
        number = value.number() if value else None
        return default if number is None else number

    def integer(self, *spellings: str, default: _T) -> int | _T:
        """Return a whole number; a fraction is reported and cut off."""
        value = self._scalar(spellings, "a whole number")
        number = value.number() if value else None
        if value is None or number is None:
            return default
        if number != int(number):
            message = f"'{value.text}' is read as {int(number)}: it must be a whole number"
            self.diagnostics.warn("not-an-integer", message, value.span)
        return int(number)

    def boolean(self, *spellings: str, default: _T) -> bool | _T:
        """Return a truth value."""
        value = self._scalar(spellings, "true or false")
        truth = value.boolean() if value else None
        return default if truth is None else truth

    def text(self, *spellings: str, default: _T) -> str | _T:
        """Return a scalar's text."""
        value = self._scalar(spellings, "text")
        return default if value is None else value.text

    def choice(
        self, *spellings: str, choices: dict[str, _T], default: _T, code: str = "unknown-word"
    ) -> _T:
        """Return what a word stands for; an unknown word is an error with this code."""
        value = self._scalar(spellings, "a word")
        if value is None:
            return default
        if value.text in choices:
            return choices[value.text]
        hint = did_you_mean_or_all(value.text, choices)
        key = next(s for s in spellings if s in self._entries)
        self.diagnostics.error(code, f"{key} '{value.text}' is unknown.{hint}", value.span)
        return default

    def numbers(self, *spellings: str, count: int | None, default: _T) -> Array | _T:
        """Return a list of ``count`` finite numbers (any count if None), shape (count,)."""
        node = self._present(spellings)
        if node is None:
            return default
        if not isinstance(node, Sequence):
            _complain(node, "a list of numbers")
            return default
        array = node.numbers()
        if array is None:
            return default
        if count is not None and len(array) != count:
            message = f"{count} numbers are needed here, not {len(array)}"
            self.diagnostics.error("wrong-count", message, node.span)
            return default
        return array

    def mapping(self, *spellings: str) -> Mapping | None:
        """Return a mapping, or None."""
        node = self._present(spellings)
        if node is None or isinstance(node, Mapping):
            return node
        _complain(node, "a mapping (key: value)")
        return None

    def sequence(self, *spellings: str) -> Sequence | None:
        """Return a list, or None."""
        node = self._present(spellings)
        if node is None or isinstance(node, Sequence):
            return node
        _complain(node, "a list")
        return None

    def plain_value(self) -> dict[str, Any]:
        """Return everything as plain Python values."""
        return {key: value.plain_value() for key, (_, value) in self._entries.items()}

    def ignore(self) -> None:
        """Count every key as asked for: the mapping is left out as a whole."""
        self._asked.update(self._entries)

    def finish(self, ignore: Collection[str] = ()) -> None:
        """Warn about every key that nobody asked for, but for those in ``ignore``."""
        for name, (key, _) in self._entries.items():
            if name in self._asked or name in ignore or key._start in self._context.reported:
                continue
            self._context.reported.add(key._start)
            hint = did_you_mean(name, self._asked)
            message = f"'{name}' is not known here and not used.{hint}"
            self.diagnostics.warn("unknown-key", message, key.span)

    def _present(self, spellings: tuple[str, ...]) -> Node | None:
        node = self.get(*spellings)
        return None if isinstance(node, Scalar) and node.is_null else node

    def _scalar(self, spellings: tuple[str, ...], what: str) -> Scalar | None:
        node = self.get(*spellings)
        if node is None or isinstance(node, Scalar):
            return node
        _complain(node, what)
        return None


Node = Scalar | Sequence | Mapping


def _complain(node: Node, what: str) -> None:
    """Report that a node is not what its reader needs."""
    if isinstance(node, Scalar):
        written = f"'{node.text}'" if node.text else "nothing"
    else:
        written = "a list" if isinstance(node, Sequence) else "a mapping"
    message = f"expected {what}, found {written}"
    node._context.diagnostics.error("wrong-type", message, node.span)


def _number_prefix(text: str) -> float | None:
    match = _NUMBER.match(text)
    if match is None:
        return None
    if match["hex"]:
        sign = -1.0 if match[0].lstrip().startswith("-") else 1.0
        return sign * float(int(match["hex"], 16))
    return float(match[0])


def _fast_numbers(items: list[Node]) -> Array | None:
    """Convert a list in one go, or return None when any item needs a closer look."""
    texts = [item.text for item in items if type(item) is Scalar]
    try:
        array = np.array([float(text) for text in texts])
    except ValueError:
        return None
    joined = "".join(texts)  # float() also takes digit groups and foreign digits
    if len(texts) < len(items) or "_" in joined or not joined.isascii():
        return None
    return array if np.isfinite(array).all() else None
