"""Unique rows of an array."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..geometry import IntArray

_Words = NDArray[np.uint32]
# An odd multiplier with well-mixed bits: the fractional part of the golden ratio in 64 bits.
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)


def unique_rows(rows: NDArray[np.float32]) -> tuple[NDArray[np.float32], IntArray]:
    """Return the unique rows in order of first use, and the index of each row among them.

    Rows are equal if all their bits are equal. Negative zeros become positive.

    Args:
        rows: Shape (n, k).

    Returns:
        Shapes (m, k) and (n,).
    """
    rows = np.ascontiguousarray(rows) + np.float32(0.0)  # no -0.0
    words = rows.view(np.uint32)
    first = _first_use(_hashes(words))
    if not np.array_equal(words[first], words):  # unequal rows have the same hash
        width = np.dtype((np.void, words.shape[1] * words.itemsize))
        first = _first_use(words.view(width).ravel())
    is_first = first == np.arange(len(rows), dtype=np.int32)
    rank = np.cumsum(is_first, dtype=np.int32) - np.int32(1)
    return rows[is_first], rank[first]


def _first_use(keys: NDArray[np.generic]) -> IntArray:
    """Return for each key the index of the first equal key, using little memory."""
    if not len(keys):
        return np.zeros(0, np.int32)
    order = np.argsort(keys).astype(np.int32)
    ordered = keys[order]
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    del ordered
    first = np.empty(len(keys), np.int32)
    lengths = np.diff(starts, append=len(keys))
    first[order] = np.repeat(np.minimum.reduceat(order, starts), lengths)
    return first


def _hashes(words: _Words) -> NDArray[np.uint64]:
    """Return a hash of each row; hashes sort ten times as fast as rows."""
    hashes = np.zeros(len(words), np.uint64)
    for column in words.T:
        hashes ^= column
        hashes *= _FACTOR
        hashes ^= hashes >> _HALF
    return hashes
