"""Worker processes of this machine."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import ParamSpec, TypeVar

from .case import Run
from .errors import WorkerError
from .worker import ChunkResult

_P = ParamSpec("_P")
_T = TypeVar("_T")
_CONTEXT = get_context("spawn")  # a fork would share locks and the state of ODE
_PATIENCE = 2.0  # [s] that processes have to end after their last task


class WorkerProcesses(Executor):
    """Worker processes, which are replaced when they die. To be used as a context manager.

    Each is a pool of one process: a larger pool ends all its processes when one dies, and does not
    report which task has caused that. They end with this process, also if it is killed.

    Args:
        jobs: Number of processes; each is started when it is needed.
        run: The function that they will run.

    Raises:
        WorkerError: A process cannot be started.
    """

    def __init__(self, jobs: int, run: Run) -> None:
        self._workers = [_Worker() for _ in range(jobs)]
        try:
            # A process that cannot import the function dies, and would look like a bad case.
            self.submit(callable, run).result()
        except BrokenExecutor:
            self.shutdown()
            raise WorkerError(
                "the worker processes do not start: define run at the top of a module or script, "
                "and call sweep below \"if __name__ == '__main__':\""
            ) from None

    def __exit__(self, kind: type[BaseException] | None, *_rest: object) -> None:
        """Shut down, without waiting for running tasks if there was an exception.

        Otherwise, processes are ended that threads of a finished task keep alive.
        """
        if kind is not None:
            self._kill()
        late = threading.Timer(_PATIENCE, self._kill)
        late.start()
        try:
            self.shutdown()
        finally:
            late.cancel()

    def _kill(self) -> None:
        for worker in self._workers:
            worker.kill()

    def submit(self, fn: Callable[_P, _T], /, *args: _P.args, **kwargs: _P.kwargs) -> Future[_T]:
        """Call a function in an idle process, of which there must be one.

        The future raises ``BrokenExecutor`` if the process dies, which is replaced then.
        """
        i = next(i for i, worker in enumerate(self._workers) if worker.is_idle)
        if self._workers[i].is_usable:
            try:
                return self._workers[i].submit(fn, *args, **kwargs)
            except BrokenExecutor:  # it has died while it was idle
                pass
        self._workers[i].shutdown(wait=False, cancel_futures=True)
        self._workers[i] = _Worker()
        return self._workers[i].submit(fn, *args, **kwargs)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the processes after their tasks."""
        for worker in self._workers:
            worker.shutdown(wait, cancel_futures)


class _Worker:
    """A pool of one process."""

    def __init__(self) -> None:
        reader, self._lifeline = _CONTEXT.Pipe(duplex=False)
        self._pool = ProcessPoolExecutor(
            1, mp_context=_CONTEXT, initializer=_start, initargs=(reader,)
        )
        self._future: Future[object] | None = None

    @property
    def is_idle(self) -> bool:
        return self._future is None or self._future.done()

    @property
    def is_usable(self) -> bool:
        """Whether the process is alive and stays so, as far as its last task shows."""
        if self._future is None:
            return True
        if (error := self._future.exception()) is not None:
            return not isinstance(error, BrokenExecutor)
        result = self._future.result()
        return not (isinstance(result, ChunkResult) and result.ending)

    def submit(self, fn: Callable[_P, _T], /, *args: _P.args, **kwargs: _P.kwargs) -> Future[_T]:
        future = self._pool.submit(fn, *args, **kwargs)
        self._future = future  # type: ignore[assignment]  # a Future is invariant
        return future

    def kill(self) -> None:
        self._lifeline.close()

    def shutdown(self, wait: bool, cancel_futures: bool) -> None:
        self._pool.shutdown(wait=wait, cancel_futures=cancel_futures)


def _start(lifeline: Connection) -> None:
    """Prepare a worker process.

    Args:
        lifeline: Readable when the other end is closed, by the parent process or by its death.
    """
    # Ctrl-C ends it without a traceback; the parent process raises KeyboardInterrupt.
    signal.signal(signal.SIGINT, signal.SIG_DFL)

    def watch() -> None:
        lifeline.poll(None)
        os._exit(1)

    threading.Thread(target=watch, name="lifeline", daemon=True).start()
