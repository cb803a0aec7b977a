"""Queue of calls from other threads to the stepping thread."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

# Shorter waits are plain sleeps: waiting for calls costs 20 us more, too much before every step,
# and callers then do not wait for long. In [s].
MIN_WAIT = 0.005
# Python runs signal handlers only after a wait that began just after the signal. In [s].
MAX_WAIT = 0.2

_T = TypeVar("_T")
_Call = tuple[Future[Any], Callable[[], Any]]


class NotRunningError(RuntimeError):
    """The call was not executed because the simulation is not running."""


class Mailbox:
    """Calls for one thread, which executes them when polling or waiting.

    A ``SimpleQueue`` permits ``wake`` in a signal handler, even if it interrupts another put or
    get; the lock of a condition would not.
    """

    def __init__(self) -> None:
        self._calls: SimpleQueue[_Call | None] = SimpleQueue()
        self._closed = False

    def open(self) -> None:
        """Accept calls; earlier ones are executed, too."""
        self._closed = False

    def close(self) -> None:
        """Cancel all waiting and all future calls."""
        self._closed = True
        while not self._calls.empty():
            if (call := self._calls.get()) is not None:
                call[0].cancel()

    def wake(self) -> None:
        """End a ``wait``; callable from signal handlers."""
        self._calls.put(None)

    def call(self, action: Callable[[], _T], timeout: float) -> _T:
        """Execute an action in the other thread; return its result, or raise its exception.

        Raises:
            NotRunningError: It was not executed within ``timeout``, in [s], and will not be.
        """
        future: Future[_T] = Future()
        self._calls.put((future, action))
        if self._closed:
            future.cancel()
        try:
            return future.result(timeout)
        except (CancelledError, FutureTimeoutError) as error:
            if not future.cancel():  # it has just begun, or raised this itself
                return future.result()
            message = "the simulation is not running any more"
            if isinstance(error, FutureTimeoutError):
                message = (
                    f"the request timed out after {timeout:g} s and was dropped: the simulation is "
                    "not running, or a step takes longer than that"
                )
            raise NotRunningError(message) from None

    def post(self, action: Callable[[], object]) -> None:
        """Execute an action in the other thread without waiting; its exceptions are ignored."""
        future: Future[object] = Future()
        self._calls.put((future, action))
        if self._closed:
            future.cancel()

    def run_pending(self) -> None:
        """Execute all waiting calls."""
        while not self._calls.empty():
            _execute(self._calls.get())

    def wait(self, seconds: float | None) -> None:
        """Wait for a call and execute it, for this time at most, in [s].

        None means ``MAX_WAIT``, which also limits other times. Times below ``MIN_WAIT`` are slept
        without checking for calls.
        """
        if seconds is not None and seconds < MIN_WAIT:
            time.sleep(seconds)
            return
        timeout = MAX_WAIT if seconds is None else min(seconds, MAX_WAIT)
        with suppress(Empty):
            _execute(self._calls.get(timeout=timeout))


def _execute(call: _Call | None) -> None:
    if call is not None:
        execute_for(*call)


def execute_for(future: Future[_T], action: Callable[[], _T]) -> None:
    """Execute an action, unless its future is cancelled, and set its result or exception."""
    if not future.set_running_or_notify_cancel():
        return
    try:
        result = action()
    except Exception as error:  # raised in the caller
        future.set_exception(error)
    else:
        future.set_result(result)
