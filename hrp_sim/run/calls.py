"""What other threads ask of a run: calls in its thread, and steps while it is paused."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from ..engine.engine import PhysicsError

# Shorter waits are plain sleeps: waiting for calls costs 20 us more, too much before every step,
# and callers then do not wait for long. In [s].
MIN_WAIT = 0.005
# Python runs signal handlers only after a wait that began just after the signal. In [s].
MAX_WAIT = 0.2

_T = TypeVar("_T")
_Call = tuple[Future[Any], Callable[[], Any]]


class NotRunningError(RuntimeError):
    """The call was not executed because the simulation is not running."""


class RunStateError(RuntimeError):
    """The operation is not possible in the present state of the run."""


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


class Stepping:
    """Steps to be taken while paused; any thread may wait for them or cancel the rest.

    Args:
        steps: Number of requested steps.
        on_each: Called after each step with the number taken so far; None if that is not needed.
        on_end: Called at the end.
        on_cancel: Called by ``cancel``.

    Attributes:
        steps: Number of requested steps.
        done: Number of steps taken; finally less than ``steps`` if they were cancelled, the run
            was resumed or reset, or the physics failed.
        cancelled: Whether ``cancel`` was called before the end.
        error: Error of the physics, or None.

    Raises:
        ValueError: ``steps`` is less than 1.
    """

    def __init__(
        self,
        steps: int,
        on_each: Callable[[int], None] | None,
        on_end: Callable[[Stepping], None],
        on_cancel: Callable[[], None],
    ) -> None:
        if steps < 1:
            raise ValueError(f"the number of steps must be at least 1, not {steps}")
        self.steps = steps
        self.done = 0
        self.cancelled = False
        self.error: PhysicsError | None = None
        self._on_each = on_each
        self._on_end = on_end
        self._on_cancel = on_cancel
        self._ended = threading.Event()

    def __str__(self) -> str:
        return f"{self.done} of {self.steps} steps"

    def cancel(self) -> None:
        """Cancel the remaining steps; the end is reached when ``wait`` returns."""
        if not self._ended.is_set():
            self.cancelled = True
            self._on_cancel()

    def wait(self, seconds: float | None = None) -> bool:
        """Wait for the end, for this time at most, in [s]; return whether it was reached."""
        return self._ended.wait(seconds)

    @property
    def next_steps(self) -> int:
        """Number of steps that may be taken before ``count`` must be called."""
        return self.steps - self.done if self._on_each is None else 1

    def count(self, steps: int) -> bool:
        """Count steps; return whether the last one was among them. Called by the run."""
        self.done += steps
        if self._on_each is not None:
            self._on_each(self.done)
        return self.done >= self.steps

    def end(self, error: PhysicsError | None) -> None:
        """Mark the end, with the error if the physics failed. Called by the run."""
        self.error = error
        self._ended.set()
        self._on_end(self)
