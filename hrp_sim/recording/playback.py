"""The clock of a replay: it runs, pauses, jumps, and is faster or slower than the wall clock."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from ..engine.schedule import NS_PER_S


class Playback:
    """The clock of a replay; all methods may be called from any thread.

    Args:
        start_ns, end_ns: Times of the replay, in [ns].
        factor: Replayed time per wall time, more than 0.
        wall: Returns the wall time in [s].
    """

    def __init__(
        self,
        start_ns: int,
        end_ns: int,
        factor: float = 1.0,
        *,
        wall: Callable[[], float] = time.monotonic,
    ) -> None:
        self.start_ns, self.end_ns = start_ns, max(start_ns, end_ns)
        self._wall = wall
        self._lock = threading.Lock()
        self._factor, self._is_paused, self._jumps = factor, False, 0
        self._from_ns, self._since = start_ns, wall()

    @property
    def now_ns(self) -> int:
        """The present time of the replay, in [ns]; at most ``end_ns``."""
        with self._lock:
            return self._now_ns()

    @property
    def has_ended(self) -> bool:
        """Whether the end is reached."""
        return self.now_ns >= self.end_ns

    @property
    def is_paused(self) -> bool:
        """Whether the clock stands still."""
        return self._is_paused

    @property
    def jumps(self) -> int:
        """Number of jumps so far."""
        return self._jumps

    @property
    def factor(self) -> float:
        """Replayed time per wall time."""
        return self._factor

    @factor.setter
    def factor(self, factor: float) -> None:
        with self._lock:
            self._restart(self._now_ns())
            self._factor = factor

    def pause(self) -> None:
        """Stop the clock."""
        with self._lock:
            self._restart(self._now_ns())
            self._is_paused = True

    def resume(self) -> None:
        """Let the clock run; from the start if it is at the end."""
        with self._lock:
            now_ns = self._now_ns()
            if now_ns >= self.end_ns:
                now_ns, self._jumps = self.start_ns, self._jumps + 1
            self._restart(now_ns)
            self._is_paused = False

    def jump(self, time_ns: int) -> None:
        """Set the time of the replay, in [ns]; outside of the replay the nearest time in it."""
        with self._lock:
            self._restart(min(max(time_ns, self.start_ns), self.end_ns))
            self._jumps += 1

    def wall_time_until(self, time_ns: int) -> float:
        """Return the wall time in [s] until a time of the replay; negative if it has passed."""
        with self._lock:
            return (time_ns - self._now_ns()) / NS_PER_S / self._factor

    def _now_ns(self) -> int:
        if self._is_paused:
            return self._from_ns
        passed = (self._wall() - self._since) * self._factor
        return min(self._from_ns + round(passed * NS_PER_S), self.end_ns)

    def _restart(self, time_ns: int) -> None:
        self._from_ns, self._since = time_ns, self._wall()
