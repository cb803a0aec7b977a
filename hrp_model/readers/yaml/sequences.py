"""Lists of a YAML document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

import numpy as np

from ...diagnostics import Span
from ...rigid import Array
from .scalars import NUMBER, Context, Scalar, plain_number

if TYPE_CHECKING:
    from .nodes import Node


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
