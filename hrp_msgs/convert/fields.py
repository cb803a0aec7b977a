"""Conversion of readings to messages of fixed layout, one by one or many at once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from array import array
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from struct import Struct
from typing import Generic, TypeVar

import numpy as np

from ..readings import Array, Reading
from .cdr import Columns, Numbers, Rows, Template, Times

_Reading = TypeVar("_Reading", bound=Reading)
_Values = Array | Sequence[float]


class FieldConverter(ABC, Generic[_Reading]):
    """Converts readings to messages that differ only in the numbers of some fields.

    Subclasses implement ``_layout``.

    Args:
        get_key: Returns what the layout of the message of a reading depends on, which changes
            rarely; None if it never does.
    """

    def __init__(self, get_key: Callable[[_Reading], object] | None = None) -> None:
        self._get_key = get_key
        self._key: object = None
        self._is_fitted = False
        self._fields: list[tuple[Numbers, Columns, Callable[[_Reading], _Values]]] = []
        self._parts: list[tuple[Times, Rows]] = []
        self._begin()

    def convert(self, reading: _Reading) -> bytes:
        """Return the message of a reading."""
        if not self._is_fitted or (self._get_key and self._get_key(reading) != self._key):
            self._fit(reading)
        for view, _, get in self._fields:
            view[:] = get(reading)
        return self._template.data(reading.time_ns)

    def keep(self, time_ns: int, reading: _Reading) -> None:
        """Copy the numbers of a reading for ``take``, which is cheap.

        Args:
            time_ns: Any time that belongs to it, in [ns].
            reading: The reading.
        """
        if not self._is_fitted or (self._get_key and self._get_key(reading) != self._key):
            self._fit(reading)
        self._times.append(time_ns)
        self._stamps.append(reading.time_ns)
        add = self._numbers.extend
        for get in self._buffers:
            add(get(reading))

    def take(self) -> list[tuple[Times, Rows]]:
        """Return the messages of the readings kept since the last call, much faster than singly.

        Returns:
            Times, and messages of shape (messages, bytes); several if the layout has changed.
        """
        self._end_part()
        parts, self._parts = self._parts, []
        return parts

    @abstractmethod
    def _layout(self, reading: _Reading) -> tuple[Template, Mapping[str, str]]:
        """Return a template, and by the fields of its numbers the attributes of readings."""

    def _fit(self, reading: _Reading) -> None:
        """Make a template for a reading and those that follow."""
        self._end_part()
        self._is_fitted = True
        if self._get_key is not None:
            self._key = self._get_key(reading)
        self._template, fields = self._layout(reading)
        self._fields = [
            (self._template.view(field), self._template.columns([field]), attrgetter(name))
            for field, name in fields.items()
        ]
        self._buffers = [_buffer(get, get(reading)) for _, _, get in self._fields]

    def _begin(self) -> None:
        self._times, self._stamps = array("q"), array("q")
        self._numbers = bytearray()

    def _end_part(self) -> None:
        """Convert what was kept, all with the present layout."""
        if self._times:
            times, stamps = (np.frombuffer(x, np.int64) for x in (self._times, self._stamps))
            numbers = np.frombuffer(self._numbers).reshape(len(times), -1)
            values, begin = [], 0
            for view, columns, _ in self._fields:
                values.append((columns, numbers[:, begin : begin + view.size]))
                begin += view.size
            self._parts.append((times, self._template.rows(stamps, values)))
            self._begin()


def _buffer(
    get: Callable[[_Reading], _Values], first: _Values
) -> Callable[[_Reading], bytes | Array]:
    """Return what returns the bytes of numbers, given those of the first reading."""
    if isinstance(first, np.ndarray) and first.dtype == np.float64 and first.flags.c_contiguous:
        return get  # type: ignore[return-value]
    pack = Struct(f"{len(first)}d").pack
    return lambda reading: pack(*get(reading))
