"""Lists and mappings of a YAML document, with typed getters. Independent of any vocabulary."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from collections.abc import Mapping as AbstractMapping
from typing import Any, TypeVar, final

import numpy as np

from ...diagnostics import Diagnostics, Span, did_you_mean, did_you_mean_or_all
from ...rigid import Array
from .scalars import NULLS, NUMBER, Context, Scalar, plain_number

__all__ = ["Context", "Mapping", "Node", "Scalar", "Sequence"]

_T = TypeVar("_T")


@final
class Sequence:
    """A list.

    Args:
        context: Shared by the nodes of its file.
        start: Offset of its first character.
        end: Offset of its end.
        items: The nodes in it; None for a list of plain numbers.
        values: The plain numbers, as float64.
        starts: Offsets of the plain numbers, as uint32.
    """

    __slots__ = (
        "_context",
        "_end",
        "_items",
        "_numbers",
        "_plain",
        "_start",
        "_starts",
        "depth",
        "weight",
    )

    def __init__(
        self,
        context: Context,
        start: int,
        end: int,
        items: list[Node] | None,
        values: bytes = b"",
        starts: bytes = b"",
    ) -> None:
        self.depth = 1
        self.weight = 1
        self._context = context
        self._start = start
        self._end = end
        self._starts = starts
        self._items = items
        self._plain: list[Any] | None = None
        self._numbers: Array | None = np.frombuffer(values) if items is None else None

    @property
    def description(self) -> str:
        """Description for messages."""
        return "a list"

    @property
    def items(self) -> list[Node]:
        """The nodes in it."""
        if self._items is None:
            self._items = number_nodes(self._context, self._starts)
        return self._items

    @property
    def count(self) -> int:
        """Number of nodes in it."""
        return len(self.items if self._numbers is None else self._numbers)

    @property
    def plain_numbers(self) -> Array | None:
        """Its items, if they are known to be finite numbers, else None; reports nothing."""
        return self._numbers

    @property
    def is_nested(self) -> bool:
        """Whether its first item is a list."""
        return self._numbers is None and bool(self.items) and type(self.items[0]) is Sequence

    @property
    def span(self) -> Span:
        """Its place in the file."""
        return Span(self._context.source, self._start, self._end)

    def numbers(self) -> Array | None:
        """Return all items as finite numbers, or None after reporting an error."""
        if self._numbers is None:
            self._numbers = _fast_numbers(self.items)
        if self._numbers is None:
            values = []
            for item in self.items:
                if not isinstance(item, Scalar):
                    report_wrong_type(item, "a number")
                    return None
                if (value := item.number()) is None:
                    return None
                values.append(value)
            self._numbers = np.array(values)
        return self._numbers

    def plain_value(self) -> list[Any]:
        """Return the items as plain Python values; always the same list object."""
        if self._plain is None and self._items is None:
            text, starts = self._context.source.text, memoryview(self._starts).cast("I")
            self._plain = [plain_number(m) for m in (NUMBER.match(text, s) for s in starts) if m]
        elif self._plain is None:
            self._plain = [item.plain_value() for item in self.items]
        return self._plain


@final
class Mapping:
    """A mapping from keys to nodes, which records the keys that were used.

    Every getter takes the spellings of one key, the preferred one first. It returns ``default``
    if none is present or if the value has the wrong type. A wrong type is an error for the
    document's strict keys, else a warning.
    """

    __slots__ = ("_context", "_end", "_entries", "_plain", "_start", "_used", "depth", "weight")

    def __init__(
        self, context: Context, start: int, end: int, entries: dict[str, tuple[Scalar, Node]]
    ) -> None:
        self.depth = 1
        self.weight = 1
        self._entries = entries
        self._used: set[str] = set()
        self._plain: dict[str, Any] | None = None
        self._context = context
        self._start = start
        self._end = end

    @property
    def span(self) -> Span:
        """Its place in the file."""
        return Span(self._context.source, self._start, self._end)

    @property
    def description(self) -> str:
        """Description for messages."""
        return "a mapping"

    @property
    def diagnostics(self) -> Diagnostics:
        """Receives its problems."""
        return self._context.diagnostics

    def __contains__(self, key: str) -> bool:
        return key in self._entries

    def __len__(self) -> int:
        return len(self._entries)

    def items(self) -> Iterator[tuple[Scalar, Node]]:
        """Yield every key and value, merged ones last, and mark all keys as used."""
        self._used.update(self._entries)
        yield from self._entries.values()

    def entries(self) -> AbstractMapping[str, tuple[Scalar, Node]]:
        """Return all keys with their nodes, without marking them as used."""
        return self._entries

    def with_defaults(self, other: Mapping) -> Mapping:
        """Return this mapping extended by another one's entries for missing keys."""
        entries = {**other._entries, **self._entries}
        merged = Mapping(self._context, self._start, self._end, entries)
        merged.depth, merged.weight = self.depth, self.weight
        merged._used = set(self._used)
        return merged

    def lacks(self, *keys: str) -> bool:
        """Return whether none of these keys is present, and mark them as used."""
        self._used.update(keys)
        return self._entries.keys().isdisjoint(keys)

    def get(self, *spellings: str) -> Node | None:
        """Return the value of the first spelling present; warn about further ones."""
        return self._get(spellings)

    def get_nonempty(self, *spellings: str) -> Node | None:
        """Return the value as ``get`` does, but None, with a warning, for a key without a value."""
        node = self._get(spellings)
        if type(node) is not Scalar or not node.is_null:
            return node
        self._report_empty(node, spellings)
        return None

    def at(self, *spellings: str) -> Span:
        """Return the place of a key's value, or the start of the mapping if there is none."""
        for spelling in spellings:
            if spelling in self._entries:
                return self._entries[spelling][1].span
        return Span(self._context.source, self._start, self._start)

    def number(self, *spellings: str, default: _T, shown: float | None = None) -> float | _T:
        """Return a finite number.

        Args:
            spellings: Spellings of the key.
            default: Returned if there is no number.
            shown: The default as shown in messages, if the file uses another unit.
        """
        node = self._get(spellings)
        if node is None:
            return default
        value = self._number(node, spellings, "a number", default if shown is None else shown)
        number = value.number() if value else None
        return default if number is None else number

    def integer(self, *spellings: str, default: _T) -> int | _T:
        """Return a whole number; a fraction is truncated, with a warning."""
        node = self._get(spellings)
        if node is None:
            return default
        value = self._number(node, spellings, "a whole number", default)
        number = value.number() if value else None
        if value is None or number is None:
            return default
        if number != int(number):
            message = f"'{value.text}' is read as {int(number)}; it must be a whole number"
            self.diagnostics.warn("not-an-integer", message, value.span)
        return int(number)

    def boolean(self, *spellings: str, default: _T) -> bool | _T:
        """Return a truth value."""
        node = self._get(spellings)
        if node is None:
            return default
        value = self._filled(node, spellings, "true or false", default)
        if value is None:
            return default
        if value.is_boolean:
            return bool(value.boolean())
        self._report_kind(value, spellings, "true or false", default)
        return default

    def text(self, *spellings: str, default: _T) -> str | _T:
        """Return a scalar's text."""
        node = self._get(spellings)
        if node is None:
            return default
        if type(node) is Scalar:
            return node.text
        self._report_kind(node, spellings, "text", default)
        return default

    def choice(
        self, *spellings: str, choices: dict[str, _T], default: _T, code: str = "unknown-word"
    ) -> _T:
        """Return the choice that a word selects; an unknown word is an error with this code."""
        node = self._get(spellings)
        if node is None:
            return default
        value = self._filled(node, spellings, "a word", None)
        if value is None:
            return default
        if value.text in choices:
            return choices[value.text]
        hint = did_you_mean_or_all(value.text, choices)
        key = next(s for s in spellings if s in self._entries)
        self.diagnostics.error(code, f"{key} '{value.text}' is unknown.{hint}", value.span)
        return default

    def numbers(
        self, *spellings: str, count: int | None, default: _T, shown: Array | None = None
    ) -> Array | _T:
        """Return a list of finite numbers, shape (count,).

        Args:
            spellings: Spellings of the key.
            count: The required count; None for any.
            default: Returned if there is no such list.
            shown: The default as shown in messages, if it differs.
        """
        node = self._get(spellings)
        if type(node) is not Sequence:
            shown_default = default if shown is None else shown
            self._refuse(node, spellings, "a list of numbers", shown_default)
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
        node = self._get(spellings)
        if type(node) is Mapping:
            return node
        self._refuse(node, spellings, "a mapping (key: value)", None)
        return None

    def sequence(self, *spellings: str) -> Sequence | None:
        """Return a list, or None."""
        node = self._get(spellings)
        if type(node) is Sequence:
            return node
        self._refuse(node, spellings, "a list", None)
        return None

    def plain_value(self) -> dict[str, Any]:
        """Return everything as plain Python values; always the same dictionary object."""
        if self._plain is None:
            entries = self._entries.items()
            self._plain = {key: value.plain_value() for key, (_, value) in entries}
        return self._plain

    def ignore(self) -> None:
        """Mark every key as used, because the mapping is skipped as a whole."""
        self._used.update(self._entries)

    @property
    def all_used(self) -> bool:
        """Whether every key was used."""
        return self._used.issuperset(self._entries)

    def finish(self, ignore: Collection[str] = ()) -> None:
        """Warn about every key that was not used and is not in ``ignore``."""
        if self.all_used:  # the usual case
            return
        for name, (key, _) in self._entries.items():
            if name in self._used or name in ignore or key.start in self._context.reported:
                continue
            self._context.reported.add(key.start)
            hint = did_you_mean(name, self._used)
            message = f"'{name}' is unknown here and ignored.{hint}"
            self.diagnostics.warn("unknown-key", message, key.span)

    def _get(self, spellings: tuple[str, ...]) -> Node | None:
        entries = self._entries
        self._used.update(spellings)
        for found in spellings:
            if found in entries:
                if len(spellings) > 1:
                    self._report_others(found, spellings)
                return entries[found][1]
        return None

    def _report_others(self, found: str, spellings: tuple[str, ...]) -> None:
        """Warn about other spellings of a key that are present."""
        for other in spellings:
            if other != found and other in self._entries:
                key = self._entries[other][0]
                if key.start not in self._context.reported:
                    self._context.reported.add(key.start)
                    message = f"'{other}' is ignored: it is another spelling of '{found}'"
                    self.diagnostics.warn("two-spellings", message, key.span)

    def _filled(
        self, node: Node, spellings: tuple[str, ...], needed: str, default: object
    ) -> Scalar | None:
        """Return a scalar; None after reporting another type or a missing value."""
        if type(node) is not Scalar:
            self._report_kind(node, spellings, needed, default)
            return None
        if node.text in NULLS and node.is_null:
            self._report_empty(node, spellings)
            return None
        return node

    def _number(
        self, node: Node, spellings: tuple[str, ...], needed: str, default: object
    ) -> Scalar | None:
        """Return a scalar whose text begins with a number; None after reporting another."""
        value = self._filled(node, spellings, needed, default)
        if value is None or value.is_number:
            return value
        self._report_kind(value, spellings, needed, default)
        return None

    def _refuse(
        self, node: Node | None, spellings: tuple[str, ...], needed: str, default: object
    ) -> None:
        """Report a value of the wrong type, unless it is empty."""
        if node is not None and not (isinstance(node, Scalar) and node.is_null):
            self._report_kind(node, spellings, needed, default)

    def _report_kind(
        self, node: Node, spellings: tuple[str, ...], needed: str, default: object
    ) -> None:
        """Report a value of the wrong type: an error for strict keys, else a warning."""
        strict = self._context.strict_keys
        if strict is None or not strict.isdisjoint(spellings):
            report_wrong_type(node, needed)
            return
        used = _shown(default)
        used = f"the default, {used}, is used" if used else "it is ignored"
        message = f"expected {needed}, found {node.description}; {used}"
        self.diagnostics.warn("wrong-type", message, node.span)

    def _report_empty(self, node: Scalar, spellings: tuple[str, ...]) -> None:
        key = next(s for s in spellings if s in self._entries)
        self.diagnostics.warn("empty-value", f"'{key}' has no value; it is ignored", node.span)


Node = Scalar | Sequence | Mapping


def number_nodes(context: Context, starts: bytes) -> list[Node]:
    """Return nodes of the plain numbers at the offsets ``starts``, uint32, in a file."""
    text = context.source.text
    matches = (NUMBER.match(text, start) for start in memoryview(starts).cast("I"))
    # Every number matches: the extension has checked it.
    return [Scalar(m[0], True, context, m.start(), m.end()) for m in matches if m]


def report_wrong_type(node: Node, needed: str) -> None:
    """Report that a node has the wrong type."""
    message = f"expected {needed}, found {node.description}"
    node._context.diagnostics.error("wrong-type", message, node.span)


def _fast_numbers(items: list[Node]) -> Array | None:
    """Convert a list of numbers at once; None if an item is not a plain finite number."""
    texts = [item.text for item in items if type(item) is Scalar]
    try:
        array = np.array([float(text) for text in texts])
    except ValueError:
        return None
    joined = "".join(texts)  # float() also takes digit groups and foreign digits
    if len(texts) < len(items) or "_" in joined or not joined.isascii():
        return None
    return array if np.isfinite(array).all() else None


def _shown(default: object) -> str:
    """Return a default as it would be written in a file; "" if there is none."""
    if isinstance(default, bool):
        return "true" if default else "false"
    if isinstance(default, int | float):
        return f"{default:g}"
    if isinstance(default, np.ndarray):
        return " ".join(f"{number:g}" for number in default.ravel().tolist())
    return f"'{default}'" if isinstance(default, str) and default else ""
