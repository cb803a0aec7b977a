"""Read large texts fast: lists of numbers as arrays, without garbage collection meanwhile."""

from __future__ import annotations

import gc
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from ..rigid import Array

Numbers = Array | NDArray[np.int32]
_TO_BRACKET = re.compile(r"[^\]\#]*(?:\#[^\r\n]*[\r\n][^\]\#]*)*(?=\])")
_COMMENT = re.compile(r"\#[^\r\n]*[\r\n]")
_LONE_SIGN = re.compile(rb"[+-](?![0-9])")
_PLAIN = b"0123456789+-.eE \t\r\n,"


try:
    from . import _numbers as fast
except ImportError:  # it was not built
    fast = None  # type: ignore[assignment]


def number_list(text: str, start: int, integer: bool) -> tuple[Numbers, int] | None:
    """Convert decimal numbers between white space, commas and comments, up to a "]".

    Args:
        text: The text with the list.
        start: Offset of the first character after its opening bracket.
        integer: True for int32 (numbers out of range are clipped), False for float64.

    Returns:
        The numbers, shape (n,), read-only, and the offset of the "]"; None if the list
        contains anything else or has no end, so that it must be parsed token by token.
    """
    convert = _number_list if fast is None else _fast_number_list
    return convert(text, start, integer)


def _fast_number_list(text: str, start: int, integer: bool) -> tuple[Numbers, int] | None:
    found = fast.number_list(text, start, integer)
    if found is None:
        return None
    data, end = found
    return np.frombuffer(data, np.int32) if integer else np.frombuffer(data), end


def _number_list(text: str, start: int, integer: bool) -> tuple[Numbers, int] | None:
    """Convert by numpy, where the extension was not built; takes a few copies of the text."""
    end = text.find("]", start)
    if "#" in text[start:end]:
        match = _TO_BRACKET.match(text, start)
        end = match.end() if match else -1
    data = _plain_numbers(text[start:end]) if end >= 0 else None
    if data is None:
        return None
    try:
        numbers = _converted(data, integer)
    except (DeprecationWarning, ValueError):
        return None  # not a number, or a fraction among integers
    numbers.setflags(write=False)
    return numbers, end


def _plain_numbers(written: str) -> bytes | None:
    """Return the text of a list without commas and comments; None if it has other characters."""
    if "#" in written:
        written = _COMMENT.sub("\n", written)
    if not written.isascii():
        return None
    data = written.encode("ascii")
    return None if data.translate(None, _PLAIN) else data.replace(b",", b" ")


def _converted(data: bytes, integer: bool) -> Numbers:
    """Convert numbers separated by spaces; raises DeprecationWarning or ValueError for others."""
    if not data or data.isspace():
        return np.empty(0, np.int32) if integer else np.empty(0)  # numpy reads " " as a number
    if integer and _LONE_SIGN.search(data):
        raise ValueError("a sign without digits")  # numpy reads it as 0
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)
        if integer:
            return int32_array(np.fromstring(data, np.int64, sep=" "))
        return np.fromstring(data, np.float64, sep=" ")


def int32_array(values: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return numbers as int32, clipped to its range."""
    limits = np.iinfo(np.int32)
    return np.clip(values, limits.min, limits.max, out=values).astype(np.int32)


@contextmanager
def paused_gc() -> Iterator[None]:
    """Pause cyclic garbage collection within a ``with`` block.

    While a large tree without cycles grows, the collector would scan it again and again in vain,
    which takes as long as building it.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
