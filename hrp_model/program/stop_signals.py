"""Handling of Ctrl-C and SIGTERM in programs that run until they are stopped."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from queue import Empty, SimpleQueue
from types import FrameType, TracebackType
from typing import NoReturn

# Timeout of each wait, in [s]: if a signal arrives just before a wait begins, Python runs its
# handler only when the wait ends.
_MAX_WAIT = 0.2


class StopSignals:
    """Handles Ctrl-C and SIGTERM while a program loads, runs and cleans up.

    The first signal raises KeyboardInterrupt or, after ``stop``, calls its action; further
    signals raise nothing, so that they do not interrupt the clean-up. If a signal ended the
    block, further signals stay ignored until the process ends.
    """

    _NUMBERS = (signal.SIGINT, signal.SIGTERM)

    def __init__(self) -> None:
        self._received = False
        self._action: Callable[[], object] | None = None
        # A signal handler may put into it at any time, but must not take the lock of an Event.
        self._arrivals: SimpleQueue[None] = SimpleQueue()

    def __enter__(self) -> StopSignals:
        self._before = [signal.signal(number, self._take) for number in self._NUMBERS]
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for number, handler in zip(self._NUMBERS, self._before, strict=True):
            signal.signal(number, signal.SIG_IGN if self._received else handler)

    def stop(self, action: Callable[[], object] = lambda: None) -> None:
        """Make signals call an action from now on instead of raising KeyboardInterrupt.

        The action is called at once if a signal was received before.

        Args:
            action: Called by the main thread at any time, so it must not take locks.
        """
        self._action = action
        if self._received:  # its exception got lost, for instance in a destructor
            action()

    @contextmanager
    def interrupting(self) -> Iterator[None]:
        """Make every signal in a ``with`` block raise KeyboardInterrupt.

        For what may wait without an end after ``stop``, such as for the reader of a pipe.
        """
        before, self._action = self._action, _interrupt
        try:
            yield
        finally:
            self._action = before

    def wait(self) -> None:
        """Wait for a signal; to be called by the main thread, after ``stop``."""
        while not self._received:
            with suppress(Empty):
                self._arrivals.get(timeout=_MAX_WAIT)

    def _take(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002
        is_first, self._received = not self._received, True
        self._arrivals.put(None)
        if self._action is not None:
            self._action()
        elif is_first:
            raise KeyboardInterrupt


def _interrupt() -> NoReturn:
    raise KeyboardInterrupt
