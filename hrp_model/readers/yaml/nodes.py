"""Mappings of a YAML document, asked by key and type. Knows no vocabulary."""

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
        context: What the nodes of its file share.
        start: Where it begins.
        end: Where it ends.
        items: The nodes in it; None for a list of plain numbers.
        values: Of such a list, as float64.
        starts: Where they start in the file, as uint32.
    """

    __slots__ = (
        *("_context", "_end", "_items", "_numbers", "_plain", "_start", "_starts"),
        *("depth", "weight"),
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
        """What to call it in a message."""
        return "a list"

    @property
    def items(self) -> list[Node]:
        """The nodes in it."""
        if self._items is None:
            self._items = number_nodes(self._context, self._starts)
        return self._items

    @property
    def count(self) -> int:
        """How many nodes are in it."""
        return len(self.items if self._numbers is None else self._numbers)

    @property
    def plain_numbers(self) -> Array | None:
        """All that is in it, if that is known to be finite numbers; says nothing if not."""
        return self._numbers

    @property
    def is_nested(self) -> bool:
        """Whether it begins with another list."""
        return self._numbers is None and bool(self.items) and type(self.items[0]) is Sequence

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
                    report_wrong_type(item, "a number")
                    return None
                if (value := item.number()) is None:
                    return None
                values.append(value)
            self._numbers = np.array(values)
        return self._numbers

    def plain_value(self) -> list[Any]:
        """Return the items as plain Python values; the same list each time."""
        if self._plain is None and self._items is None:
            text, starts = self._context.source.text, memoryview(self._starts).cast("I")
            self._plain = [plain_number(m) for m in (NUMBER.match(text, s) for s in starts) if m]
        elif self._plain is None:
            self._plain = [item.plain_value() for item in self.items]
        return self._plain


@final
class Mapping:
    """Keys with values, which remembers the keys that were asked for.

    Every getter takes the spellings of one key, the current one first, and returns
    ``default`` when none of them is there, or when the value is not of the asked kind. That
    is reported at the value: as an error, or as a warning for keys that are not among the
    document's strict ones.
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
        """Where it stands."""
        return Span(self._context.source, self._start, self._end)

    @property
    def description(self) -> str:
        """What to call it in a message."""
        return "a mapping"

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
        self._used.update(self._entries)
        yield from self._entries.values()

    def entries(self) -> AbstractMapping[str, tuple[Scalar, Node]]:
        """Return all keys with their nodes, without counting them as asked for."""
        return self._entries

    def with_defaults(self, other: Mapping) -> Mapping:
        """Return this mapping with the entries of another for the keys it lacks."""
        entries = {**other._entries, **self._entries}
        merged = Mapping(self._context, self._start, self._end, entries)
        merged.depth, merged.weight = self.depth, self.weight
        merged._used = set(self._used)
        return merged

    def lacks(self, *keys: str) -> bool:
        """Whether none of these keys is there; they count as asked for."""
        self._used.update(keys)
        return self._entries.keys().isdisjoint(keys)

    def get(self, *spellings: str) -> Node | None:
        """Return the value under the first spelling present; warn when there are more."""
        return self._get(spellings)

    def get_nonempty(self, *spellings: str) -> Node | None:
        """Return what ``get`` returns; but warn of a key with nothing after it, and return None."""
        node = self._get(spellings)
        if type(node) is not Scalar or not node.is_null:
            return node
        self._report_empty(node, spellings)
        return None

    def at(self, *spellings: str) -> Span:
        """Return where the value of a key stands; where the mapping begins without it."""
        for spelling in spellings:
            if spelling in self._entries:
                return self._entries[spelling][1].span
        return Span(self._context.source, self._start, self._start)

    def number(self, *spellings: str, default: _T, shown: float | None = None) -> float | _T:
        """Return a finite number.

        Args:
            spellings: Of the key.
            default: What to return without one.
            shown: What messages call the default, where the file has another unit.
        """
        node = self._get(spellings)
        if node is None:
            return default
        value = self._number(node, spellings, "a number", default if shown is None else shown)
        number = value.number() if value else None
        return default if number is None else number

    def integer(self, *spellings: str, default: _T) -> int | _T:
        """Return a whole number; a fraction is reported and cut off."""
        node = self._get(spellings)
        if node is None:
            return default
        value = self._number(node, spellings, "a whole number", default)
        number = value.number() if value else None
        if value is None or number is None:
            return default
        if number != int(number):
            message = f"'{value.text}' is read as {int(number)}: it must be a whole number"
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
        """Return what a word stands for; an unknown word is an error with this code."""
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
            spellings: Of the key.
            count: How many there must be; None for any count.
            default: What to return without them.
            shown: What messages call the default, if it is none itself.
        """
        node = self._get(spellings)
        if type(node) is not Sequence:
            usual = default if shown is None else shown
            self._refuse(node, spellings, "a list of numbers", usual)
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
        """Return everything as plain Python values; the same dictionary each time."""
        if self._plain is None:
            entries = self._entries.items()
            self._plain = {key: value.plain_value() for key, (_, value) in entries}
        return self._plain

    def ignore(self) -> None:
        """Count every key as asked for: the mapping is left out as a whole."""
        self._used.update(self._entries)

    @property
    def all_used(self) -> bool:
        """Whether there is no key that nobody asked for."""
        return self._used.issuperset(self._entries)

    def finish(self, ignore: Collection[str] = ()) -> None:
        """Warn about every key that nobody asked for, but for those in ``ignore``."""
        if self.all_used:  # as of most mappings
            return
        for name, (key, _) in self._entries.items():
            if name in self._used or name in ignore or key.start in self._context.reported:
                continue
            self._context.reported.add(key.start)
            hint = did_you_mean(name, self._used)
            message = f"'{name}' is not known here and not used.{hint}"
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
        """Warn when a key is there in a second spelling."""
        for other in spellings:
            if other != found and other in self._entries:
                key = self._entries[other][0]
                if key.start not in self._context.reported:
                    self._context.reported.add(key.start)
                    message = f"'{other}' is ignored: '{found}' says the same and wins"
                    self.diagnostics.warn("two-spellings", message, key.span)

    def _filled(
        self, node: Node, spellings: tuple[str, ...], needed: str, default: object
    ) -> Scalar | None:
        """Return a scalar; warn of a key with nothing after it, which says nothing."""
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
        """Return a scalar whose text begins with a number."""
        value = self._filled(node, spellings, needed, default)
        if value is None or value.is_number:
            return value
        self._report_kind(value, spellings, needed, default)
        return None

    def _refuse(
        self, node: Node | None, spellings: tuple[str, ...], needed: str, default: object
    ) -> None:
        """Report a value that is not what its reader needs; to say nothing is fine."""
        if node is not None and not (isinstance(node, Scalar) and node.is_null):
            self._report_kind(node, spellings, needed, default)

    def _report_kind(
        self, node: Node, spellings: tuple[str, ...], needed: str, default: object
    ) -> None:
        """Report a value of a wrong kind, and that the default is used if that is the rule."""
        strict = self._context.strict_keys
        if strict is None or not strict.isdisjoint(spellings):
            report_wrong_type(node, needed)
            return
        used = _shown(default)
        used = f"the default, {used}, is used" if used else "it is left out"
        message = f"expected {needed}, found {node.description}; {used}"
        self.diagnostics.warn("wrong-type", message, node.span)

    def _report_empty(self, node: Scalar, spellings: tuple[str, ...]) -> None:
        key = next(s for s in spellings if s in self._entries)
        self.diagnostics.warn("empty-value", f"'{key}' has no value; it is left out", node.span)


Node = Scalar | Sequence | Mapping


def number_nodes(context: Context, starts: bytes) -> list[Node]:
    """Return nodes for plain numbers that start at ``starts``, uint32, in a file."""
    text = context.source.text
    matches = (NUMBER.match(text, start) for start in memoryview(starts).cast("I"))
    # libyaml and we took each for a number.
    return [Scalar(m[0], True, context, m.start(), m.end()) for m in matches if m]


def report_wrong_type(node: Node, needed: str) -> None:
    """Report that a node is not what its reader needs."""
    message = f"expected {needed}, found {node.description}"
    node._context.diagnostics.error("wrong-type", message, node.span)


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


def _shown(default: object) -> str:
    """Return a default as a file would have it; nothing if it stands for nothing."""
    if isinstance(default, bool):
        return "true" if default else "false"
    if isinstance(default, int | float):
        return f"{default:g}"
    if isinstance(default, np.ndarray):
        return " ".join(f"{number:g}" for number in default.ravel().tolist())
    return f"'{default}'" if isinstance(default, str) and default else ""
