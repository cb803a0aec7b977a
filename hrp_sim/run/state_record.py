"""Hashes of the state at whole seconds, to compare two runs."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from ..engine.schedule import SampleClock

# Latest states that are returned repeatedly, for subscribers that missed a message.
REPEATED_STATES = 10
# Maximum number of states that were not taken yet; older ones are dropped.
MAX_STATES = 100


class StateRecord:
    """Records the hash of the state at every whole second of simulation time.

    Equal runs have equal hashes at equal times; a hash covers every bit of every motion. If no
    step ends at a whole second, the state of the first step after it is recorded.
    """

    def __init__(self) -> None:
        self._clock = SampleClock(1.0)
        # Replaced instead of changed, because another thread reads it.
        self._latest: tuple[tuple[int, str], ...] = ()
        self._new: deque[tuple[int, str]] = deque(maxlen=MAX_STATES)

    @property
    def next_ns(self) -> int:
        """Time of the next step that ``stepped`` must be called for, in [ns]."""
        return self._clock.due_ns

    def start(self, now_ns: int) -> None:
        """Continue from this time, in [ns]; later states are discarded."""
        self._clock.wait(now_ns)
        self._latest = tuple(state for state in self._latest if state[0] <= now_ns)

    def stepped(self, now_ns: int, state_hash: Callable[[], str]) -> None:
        """Record the hash of the state at this time, in [ns], if one is due."""
        if self._clock.is_due(now_ns):
            state = (now_ns, state_hash())
            self._new.append(state)  # first, so that each of the latest is new or was taken
            self._latest = (*self._latest, state)[-REPEATED_STATES:]

    def take(self) -> list[tuple[int, str]]:
        """Return times in [ns] and hashes: the latest ten, and all since the last call.

        Oldest first; callable from any thread.
        """
        latest = self._latest
        new = [self._new.popleft() for _ in range(len(self._new))]
        return [*(state for state in latest if state not in new), *new]
