"""Replay a recording: messages go to outputs at the time at which they were recorded."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

from .playback import Playback

if TYPE_CHECKING:  # so that a missing library is reported where a recording is opened
    from hrp_msgs.recording import RecordedMessage, Recording

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
        now_ns = playback.now_ns
        if playback.jumps != self._jumps:
            self._jumps = playback.jumps
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
