"""Read large texts fast: lists of numbers as arrays, without garbage collection meanwhile."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from ..rigid import Array
from . import _numbers

Numbers = Array | NDArray[np.int32]


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
    found = _numbers.number_list(text, start, integer)
    if found is None:
        return None
    data, end = found
    return np.frombuffer(data, np.int32) if integer else np.frombuffer(data), end


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
