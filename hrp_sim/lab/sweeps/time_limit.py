"""Time-outs of code that runs in this process."""

from __future__ import annotations

import ctypes
import faulthandler
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Generic, TextIO, TypeVar

_T = TypeVar("_T")


class CaseTimeoutError(BaseException):
    """Raised in the code of a case that takes too long; ``except Exception`` does not catch it."""


class HangError(Exception):
    """The code of a case takes too long and does not react to ``CaseTimeoutError``."""


class _BlockingError(BaseException):
    """Blocks the thread that catches it, so that it does not compete for the GIL any more."""

    def __init__(self) -> None:
        threading.Event().wait()


def limited(call: Callable[[], _T], seconds: float, patience: float | None) -> _T:
    """Return the result of a function that is called in the case thread of this process.

    It is always the same thread, since contexts of OpenGL belong to one. Only one thread may call
    this at a time.

    Args:
        call: The function.
        seconds: Time after which ``CaseTimeoutError`` is raised in it.
        patience: How long it has then to end, in [s]; None for any time.

    Raises:
        BaseException: The function has raised it.
        CaseTimeoutError: The function took too long and has ended.
        HangError: It took too long and has not ended; no further calls are possible.
    """
    interruptible = _Interruptible(call)
    future = _case_thread().submit(interruptible)
    try:
        if not wait([future], seconds).done:
            interruptible.interrupt()
            if not wait([future], patience).done:
                interruptible.interrupt(_BlockingError)
                raise HangError
    except KeyboardInterrupt:
        interruptible.interrupt()
        wait([future])
        raise
    return future.result()


@contextmanager
def process_limit(seconds: float, mark: Path) -> Iterator[None]:
    """End this process if a ``with`` block takes longer, even if it never releases the GIL.

    Args:
        seconds: The limit.
        mark: A file for ``has_ended_process``. There is none if it cannot be made, as on another
            machine.
    """
    with _opened(mark) as file:
        end_process_after(seconds, file)
        try:
            yield
        finally:
            faulthandler.cancel_dump_traceback_later()
            with suppress(OSError):
                mark.unlink()


def has_ended_process(mark: Path) -> bool:
    """Return whether a process was ended by ``process_limit`` with this mark."""
    try:
        return mark.stat().st_size > 0  # it has the traceback
    except OSError:
        return False


def end_process_after(seconds: float, file: TextIO | None = None) -> None:
    """End this process later, whatever its threads do by then; write a traceback if possible."""
    faulthandler.dump_traceback_later(seconds, exit=True, file=file or _null())


def _opened(mark: Path) -> TextIO:
    try:
        return mark.open("w")
    except OSError:
        return open(os.devnull, "w")


class _Interruptible(Generic[_T]):
    """A function with no arguments that can be interrupted by another thread."""

    def __init__(self, call: Callable[[], _T]) -> None:
        self._call = call
        self._lock = threading.Lock()
        self._thread: int | None = None  # while it runs
        self._interrupted = False

    def __call__(self) -> _T:
        try:
            with self._lock:
                self._thread = threading.get_ident()
            return self._call()
        finally:
            with self._lock:
                self._thread = None
            if self._interrupted:
                _take_interruption()

    def interrupt(self, error: type[BaseException] = CaseTimeoutError) -> None:
        """Raise an exception in the function when it next executes Python code."""
        with self._lock:
            if self._thread is not None:
                self._interrupted = True
                _raise_in(self._thread, error)


def _take_interruption() -> None:
    """Catch an interruption that came too late, so that it does not hit the next function.

    Revoking it would leave a flag of the interpreter set, with which Python 3.11 hangs if it is
    traced. So there is one for certain.
    """
    try:
        _raise_in(threading.get_ident(), CaseTimeoutError)
        while True:
            pass
    except CaseTimeoutError:
        pass


def _raise_in(thread: int, error: type[BaseException]) -> None:
    set_exception = ctypes.pythonapi.PyThreadState_SetAsyncExc
    set_exception(ctypes.c_ulong(thread), ctypes.py_object(error))


@cache
def _case_thread() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1, thread_name_prefix="case")


@cache
def _null() -> TextIO:
    return open(os.devnull, "w")
