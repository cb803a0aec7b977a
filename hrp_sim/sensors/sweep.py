"""A scan spread over its period: which of its rays have been cast, and which are due."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from hrp_model.rigid import Array

from ..engine.schedule import NS_PER_S, rate_fraction
from .base import AnyArray

_NEVER = -1


class Sweep:
    """A scan whose columns are cast one after the other over its period.

    Column i of n is due at the first step at or after start + i/n of the period, or in the last
    step of the scan.

    Args:
        rows, columns: Of the scan.
        rate_hz: Scans per second.
        step_ns: Time step of the physics, in [ns].

    Attributes:
        distances: In [m], shape (rows, columns).
    """

    def __init__(self, rows: int, columns: int, rate_hz: float, step_ns: int) -> None:
        self.distances: Array = np.zeros((rows, columns))
        self._columns, self._step_ns = columns, step_ns
        rate = rate_fraction(rate_hz)
        # A column is due every _span_ns / _per_span.
        self._per_span, self._span_ns = rate.numerator * columns, rate.denominator * NS_PER_S
        self._start_ns = np.full((), _NEVER, np.int64)
        self._seen_ns = np.full((), _NEVER, np.int64)  # time of the last call of due
        self._done = np.zeros((), np.int64)

    @property
    def memory(self) -> Mapping[str, AnyArray]:
        """The whole state, as live arrays."""
        return {
            # As integers, because snapshots must be finite, and distances may be infinite.
            "distances": self.distances.view(np.int64),
            "start_ns": self._start_ns,
            "seen_ns": self._seen_ns,
            "done": self._done,
        }

    @property
    def start_ns(self) -> int:
        """Start time of the scan, in [ns]."""
        return int(self._start_ns)

    @property
    def is_running(self) -> bool:
        """Whether a scan is in progress; one that started before time zero is discarded."""
        return self.start_ns >= 0

    @property
    def rest(self) -> slice:
        """The columns that have not been cast yet."""
        return slice(int(self._done), self._columns)

    def start(self, time_ns: int) -> None:
        """Start a scan."""
        self._start_ns[...] = self._seen_ns[...] = time_ns
        self._done[...] = 0

    def stop(self) -> None:
        """Discard the scan."""
        self._start_ns[...] = self._seen_ns[...] = _NEVER
        self._done[...] = 0

    def due(self, time_ns: int) -> slice:
        """Return the columns that are due now; none if a step was missed."""
        if not self.is_running:
            return slice(0, 0)
        if not 0 <= time_ns - int(self._seen_ns) <= self._step_ns:
            self.stop()
            return slice(0, 0)
        self._seen_ns[...] = time_ns
        return slice(int(self._done), self._due_at(time_ns))

    def is_over(self, time_ns: int) -> bool:
        """Return whether the period ends before the next step."""
        elapsed = time_ns + self._step_ns - self.start_ns
        return elapsed * self._per_span >= self._span_ns * self._columns

    def add(self, columns: slice, distances: Array) -> None:
        """Store the distances of columns that have been cast, shape (rows, columns)."""
        self.distances[:, columns] = distances
        self._done[...] = columns.stop

    def _due_at(self, time_ns: int) -> int:
        elapsed = time_ns - self.start_ns
        return min(self._columns, elapsed * self._per_span // self._span_ns + 1)
