"""Messages as CDR bytes whose numbers are replaced."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence, Sized
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..messages import Message
from ._cdr import fill

_HEAD = b"\0\1\0\0"  # plain CDR (XCDR1), little-endian
_MARGIN = 4  # bytes before the head, so that the body begins at a multiple of 8 in memory
# Codes of ``struct`` and numpy, by the names in IDL.
_NUMBERS = {
    "boolean": "?",
    "octet": "B",
    "float": "f",
    "double": "d",
    "int8": "b",
    "int16": "h",
    "int32": "i",
    "int64": "q",
    "uint8": "B",
    "uint16": "H",
    "uint32": "I",
    "uint64": "Q",
}
_SEQUENCE = re.compile(r"sequence<(.+?)(?:, \d+)?>")
_ARRAY = re.compile(r"(.+)\[\d+\]")
_TIME = "builtin_interfaces/Time"

Numbers = NDArray[np.generic]


class Template:
    """The bytes that ROS 2 sends for a message, with numbers that can be replaced.

    This takes a fraction of the time of filling and serialising a message object.

    Args:
        message: Its strings and the lengths of its sequences stay as they are; its numbers are
            the initial ones. Bytes between the fields are zero.

    Raises:
        ValueError: It has a field of an unsupported type, such as a wide string.
    """

    def __init__(self, message: Message) -> None:
        writer = _Writer()
        writer.write("", "", message)
        memory = memoryview(bytearray(_MARGIN) + _HEAD + writer.body)
        self._bytes, self._body = memory[_MARGIN:], memory[_MARGIN + len(_HEAD) :]
        self._places = writer.places
        self._stamps = writer.stamps
        self._copy = self.filler()

    def view(self, field: str) -> Numbers:
        """Return the numbers of a field, to be replaced in place.

        Args:
            field: Its path, such as "pose.pose.position" or "transforms[0].transform". It has one
                number or more of the same type and without gaps: a number, an array or sequence,
                or a structure of these.

        Raises:
            KeyError: The message has no such field, or it does not consist of such numbers.
        """
        place = self._places[field]
        return np.frombuffer(self._body[place.begin : place.end], place.dtype)

    def filler(self, *fields: str | Sequence[str]) -> Callable[..., bytes]:
        """Return a function that returns the bytes of the message with numbers for some fields.

        Its arguments are the time of all stamps in the message, in [ns], and for each field an
        array of its type, or if that is floating-point bytes of float64 or any numbers.

        Args:
            fields: As in ``view``. Several that have numbers of the same type may share one
                argument, with the numbers of one after the other.

        Raises:
            KeyError: As in ``view``.
        """
        layout = [len(self._stamps), *(len(_HEAD) + begin for begin in self._stamps)]
        for field in fields:
            paths = [field] if isinstance(field, str) else field
            places = [self._places[path] for path in paths]
            layout += [ord(places[0].code if places else "d"), len(places)]
            for place in places:
                layout += [place.size, len(_HEAD) + place.begin]
        return partial(fill, self._bytes, np.array(layout, np.int64).tobytes())

    def data(self, time_ns: int) -> bytes:
        """Return the bytes of the message.

        Args:
            time_ns: The time of all stamps in the message, in [ns].
        """
        return self._copy(time_ns)


class _Place(NamedTuple):
    """Place of equal numbers in the body: their code, the first byte, how many."""

    code: str
    begin: int
    size: int

    @property
    def dtype(self) -> np.dtype[np.generic]:
        return np.dtype(f"<{self.code}")

    @property
    def end(self) -> int:
        return self.begin + self.size * self.dtype.itemsize


class _Writer:
    """Serialises messages.

    Attributes:
        body: The bytes after the head. Numbers are aligned to their own size in it.
        places: Positions of the numbers, by the paths of their fields.
        stamps: Positions of the time stamps.
    """

    def __init__(self) -> None:
        self.body = bytearray()
        self.places: dict[str, _Place] = {}
        self.stamps: list[int] = []

    def write(self, path: str, kind: str, value: Any) -> None:
        """Append a value of a type in IDL; any other name stands for a structure."""
        if kind in _NUMBERS:
            values = value if isinstance(value, bytes) else [value]
            self._write_numbers(path, _NUMBERS[kind], values)
        elif kind == "string":
            text = value.encode() + b"\0"
            self._write_length(text)
            self.body += text
        elif found := _SEQUENCE.fullmatch(kind):
            self._write_length(value)
            self._write_elements(path, found[1], value)
        elif found := _ARRAY.fullmatch(kind):
            self._write_elements(path, found[1], value)
        else:
            self._write_structure(path, kind, value)

    def _write_numbers(self, path: str, code: str, values: Any) -> None:
        dtype = np.dtype(f"<{code}")
        is_bytes = isinstance(values, bytes)
        numbers = np.frombuffer(values, dtype) if is_bytes else np.asarray(values, dtype)
        if numbers.size:  # an empty sequence is not aligned
            self._align(dtype.itemsize)
        self.places[path] = _Place(code, len(self.body), numbers.size)
        self.body += numbers.tobytes()

    def _align(self, size: int) -> None:
        self.body += bytes(-len(self.body) % size)

    def _write_length(self, values: Sized) -> None:
        self._align(4)
        self.body += len(values).to_bytes(4, "little")

    def _write_elements(self, path: str, kind: str, values: Iterable[Any]) -> None:
        if kind in _NUMBERS:
            self._write_numbers(path, _NUMBERS[kind], values)
            return
        for index, value in enumerate(values):
            self.write(f"{path}[{index}]", kind, value)

    def _write_structure(self, path: str, kind: str, message: Message) -> None:
        if not hasattr(message, "get_fields_and_field_types"):
            raise ValueError(f"the type {kind} of the field {path} is not supported")
        paths = []
        for name, inner in message.get_fields_and_field_types().items():
            paths.append(f"{path}.{name}" if path else name)
            self.write(paths[-1], inner, getattr(message, name))
        if kind == _TIME:
            self.stamps.append(self.places[paths[0]].begin)
        parts = [self.places.get(inner) for inner in paths]
        if (joined := _joined(parts)) is not None:
            self.places[path] = joined


def _joined(parts: Sequence[_Place | None]) -> _Place | None:
    """Return the place of a structure; None unless its numbers are equal and without gaps."""
    joined, *others = parts or [None]
    for part in others:
        if joined is None or part is None or (joined.code, joined.end) != (part.code, part.begin):
            return None
        joined = joined._replace(size=joined.size + part.size)
    return joined
