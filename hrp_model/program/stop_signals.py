"""Handling of Ctrl-C and SIGTERM in programs that run until they are stopped."""

from __future__ import annotations

import signal
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue
from types import FrameType, TracebackType

# No wait is longer: it may have begun just after a signal came, whose handler is run by Python
# only when it ends. In [s].
_LONGEST = 0.2


class StopSignals:
    """Handles Ctrl-C and SIGTERM while a program loads, runs and cleans up.

    The first one raises KeyboardInterrupt or, after ``stop``, calls its action; those that
    follow raise nothing, so that they do not interrupt the clean-up. After a block
    that was ended by a signal they stay without effect: the end of the process is near.
    """

    _NUMBERS = (signal.SIGINT, signal.SIGTERM)

    def __init__(self) -> None:
        self._came = False
        self._action: Callable[[], object] | None = None
        # May be put into by a signal handler at any moment; an event's lock may not be taken there.
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
            signal.signal(number, signal.SIG_IGN if self._came else handler)

    def stop(self, action: Callable[[], object] = lambda: None) -> None:
        """Let signals raise nothing from now on, but call this; one that came already does so now.

        Args:
            action: May be called at any moment by the main thread, so it takes no locks.
        """
        self._action = action
        if self._came:  # the exception it raised got lost, as it does in a destructor
            action()

    def wait(self) -> None:
        """Return when a signal has come; to be called by the main thread, after ``stop``."""
        while not self._came:
            with suppress(Empty):
                self._arrivals.get(timeout=_LONGEST)

    def _take(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002
        is_first, self._came = not self._came, True
        self._arrivals.put(None)
        if self._action is not None:
            self._action()
        elif is_first:
            raise KeyboardInterrupt
