"""The numbers of a PLY file: bytes of a binary file, or values of a text."""

from __future__ import annotations

import struct
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...rigid import Array
from ..number_list import number_list


class PlyNumbers(ABC):
    """The numbers after the header. Places count bytes of a binary file, and values of a text.

    Attributes:
        at: Place of the next row.
        end: Number of places.
    """

    at: int = 0
    end: int

    @abstractmethod
    def type(self, kind: str) -> str:
        """Return the type of values that are declared as a type of numpy."""

    @abstractmethod
    def width(self, kind: str) -> int:
        """Return how many places a number of a type takes."""

    @abstractmethod
    def reader(self, kind: str) -> Callable[[int], tuple[Any, ...]]:
        """Return a function that returns the number of a type at a place, as a tuple of one."""

    @abstractmethod
    def rows(self, starts: NDArray[np.int64], kinds: list[tuple[str, int]]) -> list[NDArray[Any]]:
        """Return the columns of rows that have the same form.

        Args:
            starts: Places of the rows, in order, shape (n,).
            kinds: Type and number of the values of each column.

        Returns:
            An array of shape (n, number) for each column.
        """


class BinaryNumbers(PlyNumbers):
    """Numbers as bytes.

    Args:
        data: The bytes.
        order: "<" or ">".
    """

    def __init__(self, data: bytes, order: str) -> None:
        self._data = data
        self._bytes = np.frombuffer(data, np.uint8)
        self._order = order
        self.end = len(data)

    def type(self, kind: str) -> str:
        """As declared."""
        return kind

    def width(self, kind: str) -> int:
        """The size in [B]."""
        return np.dtype(kind).itemsize

    def reader(self, kind: str) -> Callable[[int], tuple[Any, ...]]:
        """See ``PlyNumbers``."""
        unpack, data = struct.Struct(self._order + np.dtype(kind).char).unpack_from, self._data
        return lambda at: unpack(data, at)

    def rows(self, starts: NDArray[np.int64], kinds: list[tuple[str, int]]) -> list[NDArray[Any]]:
        """See ``PlyNumbers``."""
        row = np.dtype([(f"{i}", self._order + kind, (n,)) for i, (kind, n) in enumerate(kinds)])
        if (np.diff(starts) == row.itemsize).all():
            at = int(starts[0]) if len(starts) else 0
            found = np.frombuffer(self._data, row, len(starts), at)
        else:
            places = starts[:, None] + np.arange(row.itemsize)
            found = self._bytes[places].view(row)[:, 0]
        return [found[f"{i}"] for i in range(len(kinds))]


class TextNumbers(PlyNumbers):
    """Numbers as text.

    Raises:
        ValueError: It has something other than numbers.
    """

    def __init__(self, data: bytes) -> None:
        text = data.decode("latin-1")
        found = number_list(f"{text}]", 0, integer=False)
        if found is not None and found[1] == len(text):
            self._values: Array = found[0].astype(np.float64, copy=False)
        else:  # "nan" and "inf" are no plain numbers
            try:
                self._values = np.array([float(word) for word in text.split()])
            except ValueError:
                raise ValueError("its text has something other than numbers") from None
        self.end = len(self._values)

    def type(self, kind: str) -> str:
        """Any number."""
        del kind
        return "f8"

    def width(self, kind: str) -> int:
        """One place each."""
        del kind
        return 1

    def reader(self, kind: str) -> Callable[[int], tuple[Any, ...]]:
        """See ``PlyNumbers``."""
        del kind
        values = self._values
        return lambda at: (values[at],)

    def rows(self, starts: NDArray[np.int64], kinds: list[tuple[str, int]]) -> list[NDArray[Any]]:
        """See ``PlyNumbers``."""
        stops = np.cumsum([n for _, n in kinds]).tolist()
        values = self._values[starts[:, None] + np.arange(stops[-1])]
        return np.split(values, stops[:-1], axis=1)
