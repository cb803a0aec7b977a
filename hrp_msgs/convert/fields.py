"""Conversion of readings to messages of fixed layout."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import Generic, TypeVar

from ..readings import Array, Reading
from .cdr import Numbers, Template

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
        self._fields: list[tuple[Numbers, Callable[[_Reading], _Values]]] = []

    def convert(self, reading: _Reading) -> bytes:
        """Return the message of a reading."""
        if not self._is_fitted or (self._get_key and self._get_key(reading) != self._key):
            self._fit(reading)
        for view, get in self._fields:
            view[:] = get(reading)
        return self._template.data(reading.time_ns)

    @abstractmethod
    def _layout(self, reading: _Reading) -> tuple[Template, Mapping[str, str]]:
        """Return a template, and by the fields of its numbers the attributes of readings."""

    def _fit(self, reading: _Reading) -> None:
        """Make a template for a reading and those that follow."""
        self._is_fitted = True
        if self._get_key is not None:
            self._key = self._get_key(reading)
        self._template, fields = self._layout(reading)
        self._fields = [
            (self._template.view(field), attrgetter(name)) for field, name in fields.items()
        ]
