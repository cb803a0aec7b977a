"""Messages to the bytes that go over the wire, several times faster than rclpy makes them."""

from __future__ import annotations

import importlib
import struct
from array import array
from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rclpy.serialization import deserialize_message

# Of the numbers that messages have: how ``struct`` calls them.
_NUMBERS = {
    "boolean": "?",
    "octet": "B",
    "uint8": "B",
    "int8": "b",
    "int16": "h",
    "uint16": "H",
    "int32": "i",
    "uint32": "I",
    "int64": "q",
    "uint64": "Q",
    "float": "f",
    "double": "d",
}
_LITTLE_ENDIAN = b"\x00\x01\x00\x00"  # what CDR begins with; offsets are counted from behind it
_MOST = 64  # layouts, or lists of names, that are worth remembering


class _UnknownTypeError(Exception):
    """A message has a field that no layout is made for."""


class _Values:
    """A field that is one value of the layout or, where it has any length, its count and that.

    Attributes:
        path: Of the field in the message, with dots.
        code: Of its numbers, as ``struct`` calls them; of texts "s".
        convert: Makes of the field what is packed; None if it already is that.
        is_payload: Whether that is bytes, of which the layout depends on how many there are.
    """

    def __init__(
        self,
        path: str,
        code: str,
        convert: Callable[[Any], Any] | None = None,
        *,
        is_payload: bool = False,
    ) -> None:
        self.path = path
        self.code = code
        self.convert = convert
        self.is_payload = is_payload


class Serializer:
    """Serialises messages of one type as CDR, for ``Publisher.publish`` to take as they are.

    rclpy first makes a C message of a Python one, each time and each name of a joint anew, which
    takes longer than to send it. Here numbers, texts and arrays are fetched and packed at once,
    by a layout that is the same as long as lengths stay. The first message of each layout is
    read again by the middleware: one that reads something else gets messages.

    Args:
        message_type: Class of the messages.
    """

    def __init__(self, message_type: Any) -> None:
        self._type = message_type
        self._layouts: dict[tuple[int, ...], struct.Struct] = {}
        self._fields: list[_Values] = []
        try:
            self._fields = list(_fields(message_type, ""))
        except _UnknownTypeError:
            return
        if len(self._fields) < 2:  # then there is nothing to gain
            self._fields = []
            return
        self._get = attrgetter(*(field.path for field in self._fields))
        self._convert = [
            (i, field.convert) for i, field in enumerate(self._fields) if field.convert
        ]
        self._payloads = [i for i, field in enumerate(self._fields) if field.is_payload]

    def serialize(self, message: Any) -> Any:
        """Return a message as bytes, or as it is where only rclpy can serialise it."""
        if not self._fields:
            return message
        values = self._values(message)
        lengths = tuple([len(values[i]) for i in self._payloads])
        if (layout := self._layouts.get(lengths)) is None:
            layout = self._lay_out(values)
            if not self._is_understood(layout, values):
                self._fields = []
                return message
            if len(self._layouts) >= _MOST:
                self._layouts.clear()
            self._layouts[lengths] = layout
        return layout.pack(_LITTLE_ENDIAN, *values)

    def _values(self, message: Any) -> list[Any]:
        values = list(self._get(message))
        for i, convert in self._convert:
            values[i] = convert(values[i])
        return values

    def _lay_out(self, values: Sequence[Any]) -> struct.Struct:
        """Return where each value stands."""
        words, offset = ["<4s"], 0
        for field, value in zip(self._fields, values, strict=True):
            size = struct.calcsize(f"<{field.code}")
            count = len(value) if field.is_payload else size
            gap = -offset % size if count else 0  # nothing is not aligned
            words.append(f"{gap}x")
            words.append(f"{count}s" if field.is_payload else field.code)
            offset += gap + count
        return struct.Struct("".join(words))

    def _is_understood(self, layout: struct.Struct, values: Sequence[Any]) -> bool:
        """Tell whether the middleware reads from these bytes what was written."""
        data = layout.pack(_LITTLE_ENDIAN, *values)
        try:
            read = self._values(deserialize_message(data, self._type))
        except RuntimeError:  # what all errors of rclpy's C++ part are
            return False
        return layout.pack(_LITTLE_ENDIAN, *read) == data


def _fields(message_type: Any, path: str) -> Iterator[_Values]:
    """Yield the fields of a message, those of its parts among them, in the order of the wire."""
    # Slots are fetched without the Python functions that the fields themselves are.
    for slot, kind in zip(
        message_type.__slots__, message_type.get_fields_and_field_types().values()
    ):
        place = f"{path}{slot}"
        element, _, length = kind.removesuffix("]").partition("[")
        if kind in _NUMBERS:
            yield _Values(place, _NUMBERS[kind])
        elif kind == "string":
            yield _Values(place, "I", lambda text: len(text.encode()) + 1)
            yield _Values(place, "s", lambda text: text.encode() + b"\0", is_payload=True)
        elif length.isdecimal() and element in _NUMBERS:
            yield _Values(place, _NUMBERS[element], _bytes, is_payload=True)
        elif kind == "sequence<string>":
            yield _Values(place, "I", len)
            yield _Values(place, "I", _Texts(), is_payload=True)
        elif kind in ("sequence<float>", "sequence<double>"):
            yield _Values(place, "I", len)
            number = _NUMBERS[kind.removeprefix("sequence<").removesuffix(">")]
            yield _Values(place, number, _bytes, is_payload=True)
        elif "/" in kind and "<" not in kind and not length:
            package, part = kind.split("/")
            module = importlib.import_module(f"{package}.msg")
            yield from _fields(getattr(module, part), f"{place}.")
        else:
            raise _UnknownTypeError(kind)


def _bytes(numbers: array[Any] | NDArray[np.generic]) -> bytes:
    return numbers.tobytes()


class _Texts:
    """Makes of a list of texts what follows their number; remembers those that come again."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, ...], bytes] = {}

    def __call__(self, texts: Sequence[str]) -> bytes:
        key = tuple(texts)
        if (found := self._known.get(key)) is None:
            found = b""
            for text in key:
                data = text.encode() + b"\0"
                found += bytes(-len(found) % 4) + struct.pack("<I", len(data)) + data
            if len(self._known) >= _MOST:
                self._known.clear()
            self._known[key] = found
        return found
