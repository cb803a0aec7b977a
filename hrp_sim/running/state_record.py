"""The fingerprints by which two runs are compared."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from ..physics.schedule import SampleClock

# Told again in any case, for those who came late or lost a message.
REPEATED_STATES = 10
# Older ones that nobody has taken are forgotten.
MAX_STATES = 100


class StateRecord:
    """The hash of the state at every whole second of simulated time.

    Equal runs have equal hashes at equal times: they stand for every bit of every motion. Where
    no step ends at a whole second it is that of the first step after it.
    """

    def __init__(self) -> None:
        self._clock = SampleClock(1.0)
        # Replaced and never changed, since another thread reads it.
        self._latest: tuple[tuple[int, str], ...] = ()
        self._new: deque[tuple[int, str]] = deque(maxlen=MAX_STATES)

    def start(self, now_ns: int) -> None:
        """Go on from this time, in [ns]; what is later has not been yet."""
        self._clock.wait(now_ns)
        self._latest = tuple(state for state in self._latest if state[0] <= now_ns)

    def stepped(self, now_ns: int, state_hash: Callable[[], str]) -> None:
        """Record the hash of the state at this time, in [ns], if it is one to record."""
        if self._clock.is_due(now_ns):
            state = (now_ns, state_hash())
            self._new.append(state)  # first, so that of the latest all are new or have been told
            self._latest = (*self._latest, state)[-REPEATED_STATES:]

    def take(self) -> list[tuple[int, str]]:
        """Return times in [ns] and hashes: the latest ten, and all since this was called last.

        Oldest first. May be called by another thread than that which records.
        """
        latest = self._latest
        new = [self._new.popleft() for _ in range(len(self._new))]
        return [*(state for state in latest if state not in new), *new]
