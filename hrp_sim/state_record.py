"""The fingerprints by which two runs are compared."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from .schedule import SampleClock

# Older ones that nobody has taken are forgotten.
MOST_STATES = 100


class StateRecord:
    """The hash of the state at every whole second of simulated time.

    Equal runs have equal hashes at equal times: they stand for every bit of every motion. Where
    no step ends at a whole second it is that of the first step after it.
    """

    def __init__(self) -> None:
        self._clock = SampleClock(1.0)
        self._latest: list[tuple[int, str]] = []
        self._new: deque[tuple[int, str]] = deque(maxlen=MOST_STATES)

    def start(self, now_ns: int) -> None:
        """Go on from this time, in [ns]; what is later has not been yet."""
        self._clock.wait(now_ns)
        if self._latest and self._latest[0][0] > now_ns:
            self._latest = []

    def stepped(self, now_ns: int, state_hash: Callable[[], str]) -> None:
        """Record the hash of the state at this time, in [ns], if it is one to record."""
        if self._clock.is_due(now_ns):
            self._latest = [(now_ns, state_hash())]
            self._new.extend(self._latest)

    def take(self) -> list[tuple[int, str]]:
        """Return times in [ns] and hashes since this was called last; if there are none the last.

        Oldest first. May be called by another thread than that which records.
        """
        return [self._new.popleft() for _ in range(len(self._new))] or list(self._latest)
