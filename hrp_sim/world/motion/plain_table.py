"""Read a motion from plain text: a time and the positions of all joints in each line."""

from __future__ import annotations

import numpy as np

from hrp_model import Diagnostics
from hrp_model.diagnostics import Source, Span

from .motion import Motion


def read_plain_table(source: Source, diagnostics: Diagnostics) -> Motion | None:
    """Read the table; return None after reporting an error.

    Lines are the time [s] and the joint positions [rad, m] by joint id, separated by blanks,
    tabs or commas. Empty lines are skipped.
    """
    rows: list[list[float]] = []
    offset = 0
    for line in source.text.splitlines(keepends=True):
        span = Span(source, offset, offset + len(line.rstrip()))
        offset += len(line)
        words = line.replace(",", " ").split()
        if not words:
            continue
        problem, row = _row(words, rows)
        if problem:
            diagnostics.error("bad-motion", problem, span)
            return None
        rows.append(row)
    if not rows:
        diagnostics.error("bad-motion", "the motion has no lines", Span(source, 0, 0))
        return None
    table = np.array(rows)
    return Motion(table[:, 0].copy(), table[:, 1:].copy())


def _row(words: list[str], rows: list[list[float]]) -> tuple[str, list[float]]:
    """Return an error message or "", and the numbers of a line."""
    try:
        row = [float(word) for word in words]
    except ValueError:
        return "expected numbers only: a time [s] and the positions of the joints", []
    if not np.isfinite(row).all():
        return "all numbers of a motion must be finite", []
    if len(row) < 2:
        return "expected a time [s] and the positions of the joints, not a single number", []
    if rows and len(row) != len(rows[0]):
        return f"expected {len(rows[0])} numbers, as in the first line, not {len(row)}", []
    if rows and row[0] <= rows[-1][0]:
        return f"times must increase, but {row[0]:g} s follows {rows[-1][0]:g} s", []
    return "", row
