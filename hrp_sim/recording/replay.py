"""Replay of a recording: its clock, and messages that go to outputs at their times."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

from ..engine.schedule import NS_PER_S

if TYPE_CHECKING:
    from hrp_msgs.recording import RecordedMessage, Recording


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


PERIOD = 1.0 / 30.0  # [s] of wall time between two calls of ``Output.refresh``
_MAX_WAIT = 0.02  # [s] until a pause or a jump is noticed


class Output(Protocol):
    """Receives the messages of a replay, in one thread."""

    @property
    def topics(self) -> Sequence[str]:
        """Names of the topics that it receives."""

    def take(self, message: RecordedMessage) -> None:
        """Use a message at its time."""

    def jump(self, time_ns: int) -> None:
        """Continue at another time in [ns]; the messages before it were not all received."""

    def refresh(self, time_ns: int) -> None:
        """Called ``1 / PERIOD`` times per second of wall time, with the present time in [ns]."""


class Replay:
    """Replays a recording to outputs.

    Args:
        recording: The recording.
        playback: The clock.
        outputs: Receive the messages.
        sleep: Waits for a wall time in [s].
        wall: Returns the wall time in [s].
    """

    def __init__(
        self,
        recording: Recording,
        playback: Playback,
        outputs: Sequence[Output],
        *,
        sleep: Callable[[float], object],
        wall: Callable[[], float],
    ) -> None:
        self._recording, self._playback, self._outputs = recording, playback, outputs
        self._sleep, self._wall = sleep, wall
        self._takers = {
            topic: [x for x in outputs if topic in x.topics]
            for output in outputs
            for topic in output.topics
        }
        self._jumps = playback.jumps
        self._coming = self._messages(playback.start_ns)
        self._next = next(self._coming, None)
        self._due = wall()

    def run(self, *, goes_on: Callable[[], bool]) -> None:
        """Replay until the condition is false; it is checked all the time."""
        while goes_on():
            self.advance()
            wait = self._due - self._wall()
            if self._next is not None and not self._playback.is_paused:
                wait = min(wait, self._playback.wall_time_until(self._next.time_ns))
            if wait > 0.0:
                self._sleep(min(wait, _MAX_WAIT))

    @property
    def is_finished(self) -> bool:
        """Whether the clock is at the end and all messages were sent."""
        return self._playback.has_ended and self._next is None

    def advance(self) -> None:
        """Send the messages that are due, at most those of one period; refresh if it is time."""
        playback = self._playback
        # In this order: a jump that another thread makes in between is then noticed the next time.
        jumps, now_ns = playback.jumps, playback.now_ns
        if jumps != self._jumps:
            self._jumps = jumps
            for output in self._outputs:
                output.jump(now_ns)
            self._coming = self._messages(now_ns)
            self._next = next(self._coming, None)
        while self._next is not None and self._next.time_ns <= now_ns:
            for output in self._takers[self._next.topic]:
                output.take(self._next)
            self._next = next(self._coming, None)
            if self._wall() >= self._due:
                break
        if self._wall() >= self._due:
            self._due = max(self._due + PERIOD, self._wall())
            for output in self._outputs:
                output.refresh(now_ns)

    def _messages(self, start_ns: int) -> Iterator[RecordedMessage]:
        end_ns = self._playback.end_ns
        return self._recording.messages(list(self._takers), start_ns, end_ns)
