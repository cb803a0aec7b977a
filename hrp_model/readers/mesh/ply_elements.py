"""Parse PLY files, text and binary, into the properties of their elements."""

from __future__ import annotations

import re
import struct
from abc import ABC, abstractmethod
from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...geometry import IntArray
from ...rigid import Array
from ..number_list import number_list

_MAX_HEADER = 1 << 16  # [B]
_BLOCK = 1_000_000  # values converted at once, to bound the memory of temporary arrays
_MAX_LENGTH = 1_000_000  # of a list, and
_MAX_VALUES = 16_000_000  # of all lists, and rows of an element; far beyond any model
_END = re.compile(rb"(?:^|[\r\n])end_header[ \t]*(\r\n|\r|\n|$)")
_TYPES = {
    "char": "i1", "int8": "i1", "uchar": "u1", "uint8": "u1", "short": "i2", "int16": "i2",
    "ushort": "u2", "uint16": "u2", "int": "i4", "int32": "i4", "uint": "u4", "uint32": "u4",
    "float": "f4", "float32": "f4", "double": "f8", "float64": "f8",
}  # fmt: skip
_ORDERS = {"ascii": "", "binary_little_endian": "<", "binary_big_endian": ">"}


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


@dataclass(frozen=True, slots=True)
class _Property:
    """A property of an element; a list if ``count`` is the type of its length."""

    name: str
    type: str
    count: str | None = None


@dataclass(slots=True)
class _Declared:
    """An element as the header declares it."""

    name: str
    count: int
    properties: list[_Property] = field(default_factory=list)

    def add(self, new: _Property) -> None:
        """Add a property; raises ValueError if there is one of this name."""
        if any(item.name == new.name for item in self.properties):
            raise ValueError
        self.properties.append(new)


@dataclass(frozen=True, slots=True, eq=False)
class PlyElement:
    """The values of one kind of element.

    Attributes:
        columns: Values of single properties, by name, each of shape (n,).
        lists: Values of lists, by name: those of all lists, one after the other, and the length
            of each, shape (n,).
        types: Type of each property, as of numpy.
    """

    columns: dict[str, NDArray[Any]]
    lists: dict[str, tuple[NDArray[Any], IntArray]]
    types: dict[str, str]


@dataclass(frozen=True, slots=True, eq=False)
class PlyFile:
    """The elements of a PLY file by name, its comments, and how many rows are missing."""

    elements: dict[str, PlyElement]
    comments: list[str]
    missing: int


def parse_ply(data: bytes) -> PlyFile:
    """Parse a PLY file; missing rows at its end are counted.

    Raises:
        ValueError: The header is invalid, the text has something other than numbers, or lists
            have too many values.
    """
    end = _END.search(data[:_MAX_HEADER])
    if not data.startswith(b"ply") or end is None:
        raise ValueError("it has no PLY header")
    lines = data[: end.start()].decode("utf-8", errors="replace").splitlines()
    order, declared, comments = _header(lines)
    body = data[end.end() :]
    numbers: PlyNumbers = BinaryNumbers(body, order) if order else TextNumbers(body)
    elements: dict[str, PlyElement] = {}
    missing = 0
    for element in declared:
        if not element.properties:
            continue
        found, count = _element(element, numbers)
        elements.setdefault(element.name, found)
        missing += element.count - count
    return PlyFile(elements, comments, missing)


def _header(lines: list[str]) -> tuple[str, list[_Declared], list[str]]:
    """Return the byte order ("" for text), the elements and the comments of a header."""
    order: str | None = None
    declared: list[_Declared] = []
    comments = []
    for line in lines[1:]:
        words = line.split()
        keyword = words[0] if words else "comment"
        try:
            if keyword == "format":
                order = _ORDERS[words[1]]
            elif keyword == "element":
                declared.append(_Declared(words[1], _natural(words[2])))
            elif keyword == "property" and words[1] == "list":
                count, kind, name = words[2:5]
                declared[-1].add(_Property(name, _TYPES[kind], _TYPES[count]))
            elif keyword == "property":
                declared[-1].add(_Property(words[2], _TYPES[words[1]]))
            elif keyword == "comment":
                comments.append(line.partition("comment")[2].strip())
            elif keyword != "obj_info":
                raise ValueError
        except (IndexError, KeyError, ValueError):
            raise ValueError(f"its header has an invalid line: '{line[:80]}'") from None
    if order is None:
        raise ValueError("its header has no format")
    return order, declared, comments


def _natural(word: str) -> int:
    if not word.isdecimal() or len(word) > 18:
        raise ValueError
    return int(word)


def _element(element: _Declared, numbers: PlyNumbers) -> tuple[PlyElement, int]:
    """Return the values of an element, and the number of rows that the file has."""
    properties = element.properties
    starts, lengths = _extents(element, numbers)
    columns: dict[str, NDArray[Any]] = {}
    lists: dict[str, tuple[NDArray[Any], IntArray]] = {}
    stops = np.cumsum(lengths, axis=0)
    totals = stops[-1].tolist() if len(stops) else [0] * lengths.shape[1]
    if sum(totals) > _MAX_VALUES:
        raise ValueError(f"its lists have more than {_MAX_VALUES} values")
    # For each property the values, and the end of each row in them.
    found: list[tuple[NDArray[Any], NDArray[np.int64] | None]] = []
    for item in properties:
        kind = numbers.type(item.type)
        if item.count is None:
            columns[item.name] = np.empty(len(starts), kind)
            found.append((columns[item.name], None))
        else:
            k = len(lists)
            lists[item.name] = np.empty(totals[k], kind), lengths[:, k].astype(np.int32)
            found.append((lists[item.name][0], stops[:, k]))
    for form, rows in _groups(lengths):
        kinds, sizes = _columns(properties, form)
        for block in np.array_split(rows, len(rows) * sum(sizes) // _BLOCK + 1):
            given = iter(numbers.rows(starts[block], kinds))
            for (values, ends), size in zip(found, sizes, strict=True):
                if ends is None:
                    values[block] = next(given)[:, 0]
                else:
                    next(given)  # the length
                    values[ends[block, None] - size + np.arange(size)] = next(given)
    types = {item.name: item.type for item in properties}
    return PlyElement(columns, lists, types), len(starts)


def _columns(
    properties: list[_Property], lengths: list[int]
) -> tuple[list[tuple[str, int]], list[int]]:
    """Return type and number of all columns, and the number of values of each property."""
    kinds: list[tuple[str, int]] = []
    sizes = []
    given = iter(lengths)
    for item in properties:
        size = 1
        if item.count is not None:
            kinds.append((item.count, 1))
            size = next(given)
        kinds.append((item.type, size))
        sizes.append(size)
    return kinds, sizes


def _groups(lengths: NDArray[np.int64]) -> Iterator[tuple[list[int], NDArray[np.intp]]]:
    """Yield the rows whose lists have the same lengths, and these lengths."""
    if not len(lengths):
        return
    if (lengths == lengths[0]).all():
        yield lengths[0].tolist(), np.arange(len(lengths))
        return
    forms, of_row = np.unique(lengths, axis=0, return_inverse=True)
    order = np.argsort(of_row.ravel(), kind="stable")
    stops = np.cumsum(np.bincount(of_row.ravel()))
    yield from zip(forms.tolist(), np.split(order, stops[:-1]), strict=True)


def _extents(
    element: _Declared, numbers: PlyNumbers
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the places of the rows of an element, and the lengths of their lists.

    Rows that the file does not have are left out.
    """
    properties = element.properties
    if min(element.count, numbers.end) > _MAX_VALUES:
        raise ValueError(f"it has more than {_MAX_VALUES} rows")
    starts, lengths, end = _walked(properties, numbers, min(element.count, 1))
    if element.count > 1 and len(starts):
        # In most files all rows have the same form.
        width = end - numbers.at
        count = min(element.count, (numbers.end - numbers.at) // width)
        same = numbers.at + width * np.arange(count, dtype=np.int64)
        if count == element.count and _have_lengths(properties, numbers, same, lengths[0]):
            lengths = np.broadcast_to(lengths, (count, lengths.shape[1]))
            starts, end = same, numbers.at + width * count
        else:
            starts, lengths, end = _walked(properties, numbers, element.count)
    numbers.at = end
    return starts, lengths


def _have_lengths(
    properties: list[_Property],
    numbers: PlyNumbers,
    starts: NDArray[np.int64],
    lengths: NDArray[np.int64],
) -> bool:
    """Return whether all lists of rows at these places have the same lengths."""
    offset = 0
    given = iter(lengths.tolist())
    for item in properties:
        if item.count is not None:
            length = next(given)
            for block in np.array_split(starts + offset, len(starts) // _BLOCK + 1):
                if (numbers.rows(block, [(item.count, 1)])[0] != length).any():
                    return False
            offset += numbers.width(item.count) + length * numbers.width(item.type)
        else:
            offset += numbers.width(item.type)
    return True


def _walked(
    properties: list[_Property], numbers: PlyNumbers, count: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
    """Return the places of rows, the lengths of their lists, and the end of the last one."""
    lists: list[tuple[int, Callable[[int], tuple[Any, ...]], int, int]] = []
    before = 0  # places between a list and the one before
    for item in properties:
        if item.count is None:
            before += numbers.width(item.type)
        else:
            widths = numbers.width(item.count), numbers.width(item.type)
            lists.append((before, numbers.reader(item.count), *widths))
            before = 0
    starts, lengths, at = array("q"), array("q"), numbers.at
    for _ in range(count):
        place = at
        row = []
        for skipped, read, count_width, width in lists:
            place += skipped
            if place + count_width > numbers.end:
                break
            length = read(place)[0]
            if not 0 <= length <= min(numbers.end, _MAX_LENGTH):
                break
            row.append(int(length))
            place += count_width + row[-1] * width
        place += before
        if len(row) < len(lists) or place > numbers.end:
            break
        starts.append(at)
        lengths.extend(row)
        at = place
    found = np.array(lengths, dtype=np.int64).reshape(len(starts), len(lists))
    return np.array(starts, dtype=np.int64), found, at
