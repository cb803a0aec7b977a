"""Curves as tables."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

from .series import Curve


def table(curves: Sequence[Curve], rows: Iterable[tuple[float, dict[int, float]]]) -> bytes:
    """Return all values as CSV, with a line for each message.

    Args:
        curves: The columns.
        rows: Time in [s] and values by number of the curve.
    """
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    units = [f" [{curve.number.unit}]" if curve.number.unit else "" for curve in curves]
    writer.writerow(["time [s]", *(c.label + unit for c, unit in zip(curves, units, strict=True))])
    for time, values in rows:
        cells = [values.get(number, "") for number in range(len(curves))]
        writer.writerow([f"{time:.9f}", *cells])
    return text.getvalue().encode()
