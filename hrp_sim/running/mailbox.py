"""What other threads ask of the one that steps the world, and how it sleeps until they do."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from concurrent.futures import TimeoutError as OutOfTime
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

# Waiting with an ear for calls costs 20 us more than a plain sleep: too much before every step,
# where who calls does not wait for long. In [s].
NAP = 0.005
# No sleep is longer: it may have begun just after a signal came, whose handler is run by Python
# only when it ends. In [s].
LONGEST = 0.2

_T = TypeVar("_T")
_Call = tuple[Future[Any], Callable[[], Any]]


class NotRunningError(RuntimeError):
    """Nobody steps the simulation, so nobody can do what was asked for."""


class Mailbox:
    """Calls for one thread, which does them when it looks, and sleeps until there is one.

    A ``SimpleQueue`` may be put into by a signal handler at any moment, also while the thread
    that it interrupts puts or gets; a condition's lock may not be taken there.
    """

    def __init__(self) -> None:
        self._calls: SimpleQueue[_Call | None] = SimpleQueue()
        self._closed = False

    def open(self) -> None:
        """Take calls; those that came before are done, too."""
        self._closed = False

    def close(self) -> None:
        """Let go of all who wait, and of those who come later."""
        self._closed = True
        while not self._calls.empty():
            if (call := self._calls.get()) is not None:
                call[0].cancel()

    def wake(self) -> None:
        """End a ``wait``. May be called from a signal handler, too."""
        self._calls.put(None)

    def ask(self, action: Callable[[], _T], patience: float) -> _T:
        """Have something done; return its result, or raise what it raises.

        Raises:
            NotRunningError: It was not done within ``patience``, in [s], and will not be.
        """
        future: Future[_T] = Future()
        self._calls.put((future, action))
        if self._closed:
            future.cancel()
        try:
            return future.result(patience)
        except (CancelledError, OutOfTime) as error:
            if not future.cancel():  # it has just begun, or raised this itself
                return future.result()
            why = "the simulation does not run any more"
            if isinstance(error, OutOfTime):
                why = (
                    f"the simulation took no call for {patience:g} s, so nothing was done: it does "
                    "not run, or a step takes longer than that"
                )
            raise NotRunningError(why) from None

    def post(self, action: Callable[[], object]) -> None:
        """Have something done, and do not wait for it; what it raises is lost."""
        future: Future[object] = Future()
        self._calls.put((future, action))
        if self._closed:
            future.cancel()

    def run_pending(self) -> None:
        """Do what was asked for by now."""
        while not self._calls.empty():
            _do(self._calls.get())

    def wait(self, seconds: float | None) -> None:
        """Sleep for so long, in [s], or until there is something to do, which is done.

        None is for as long as it takes; but ``LONGEST`` is the most. Less than ``NAP`` is slept in
        any case.
        """
        if seconds is not None and seconds < NAP:
            time.sleep(seconds)
            return
        with suppress(Empty):
            _do(self._calls.get(timeout=LONGEST if seconds is None else min(seconds, LONGEST)))


def _do(call: _Call | None) -> None:
    if call is None:
        return
    future, action = call
    if not future.set_running_or_notify_cancel():
        return
    try:
        result = action()
    except Exception as error:  # it belongs to the caller, not to who runs
        future.set_exception(error)
    else:
        future.set_result(result)
