"""Extrapolation of results of an engine to steps of zero length."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hrp_model.rigid import Array


class Limit(NamedTuple):
    """The limit of a quantity for steps of zero length.

    Attributes:
        value: Of each case, shape (cases, n).
        error: Estimated error of each case, in units of the scale, shape (cases,).
    """

    value: Array
    error: Array


def limit(values: Sequence[Array], scale: Array, order: int = 1) -> Limit:
    """Extrapolate by Richardson's method, as far as rounding errors allow.

    An error ``c_1 h^order + c_2 h^(order + 1) + ...`` is eliminated term by term. Each step
    doubles rounding errors at least, so the result is the entry of the tableau that differs least
    from the two entries that it was computed from; this difference is the estimated error.

    Args:
        values: For steps each half as long as the one before, shape (cases, n) each.
        scale: Unit of the differences, shape (n,).
        order: Lowest power of the step in the error.
    """
    best = values[-1].copy()
    error = np.full(len(best), np.inf)
    column = list(values)
    for power in range(order, order + len(values) - 1):
        factor = 2.0**power - 1.0
        longer, shorter = column[:-1], column[1:]
        column = [b + (b - a) / factor for a, b in zip(longer, shorter, strict=True)]
        for found, a, b in zip(column, longer, shorter, strict=True):
            change = np.maximum(abs(found - a), abs(found - b)) / scale
            estimate = change.max(axis=1, initial=0.0)
            better = estimate < error
            best[better], error[better] = found[better], estimate[better]
    return Limit(best, error)
