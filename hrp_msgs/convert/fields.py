"""Conversion of readings to messages of fixed layout, one by one or many at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from .basic import Array
from .cdr import Columns, Messages, Numbers, Template
from .converter import Reading

_Reading = TypeVar("_Reading", bound=Reading)
_Values = Array | Sequence[float]


class FieldConverter(Generic[_Reading]):
    """Converts readings to messages that differ only in the numbers of some fields.

    Subclasses call ``_set_layout``.
    """

    def __init__(self) -> None:
        self._layout = 0
        self._fields: list[tuple[Numbers, Columns, Callable[[_Reading], _Values]]]

    def convert(self, reading: _Reading) -> bytes:
        """Return the message of a reading."""
        self._fit(reading)
        for view, _, get in self._fields:
            view[:] = get(reading)
        return self._template.data(reading.time_ns)

    def convert_all(self, readings: Sequence[_Reading]) -> Messages:
        """Return the messages of several readings, at least one; much faster than one by one.

        Returns:
            Shape (messages, bytes), or a list if the layout changes between the first and the last.
        """
        self._fit(readings[0])
        layout = self._layout
        self._fit(readings[-1])
        if self._layout != layout:
            return [self.convert(reading) for reading in readings]
        times = np.fromiter([r.time_ns for r in readings], np.int64, len(readings))
        values = [(columns, _joined([*map(get, readings)])) for _, columns, get in self._fields]
        return self._template.rows(times, values)

    def _fit(self, reading: _Reading) -> None:
        """Call ``_set_layout`` if the template does not fit a reading; by default it always does.

        What it depends on is the same in all readings of a sensor, but for those before and after
        a change of its settings.
        """

    def _set_layout(self, template: Template, fields: Mapping[str, str]) -> None:
        """Set the template, and the attributes of readings by the fields of its numbers."""
        self._template = template
        self._fields = [
            (template.view(field), template.columns([field]), attrgetter(name))
            for field, name in fields.items()
        ]
        self._layout += 1


def _joined(values: Sequence[_Values]) -> Numbers:
    """Return the numbers of all readings, one in a row."""
    first = values[0]
    if isinstance(first, np.ndarray):
        try:  # a quarter of the time of numpy's own functions
            joined: NDArray[np.float64] = np.frombuffer(b"".join(values), first.dtype)  # type: ignore[arg-type]
            return joined.reshape(len(values), first.size)
        except (TypeError, ValueError):
            pass  # not contiguous
    return np.array(values)
