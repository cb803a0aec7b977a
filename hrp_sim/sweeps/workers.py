"""Hand out cases to an executor, also when its workers die."""

from __future__ import annotations

import signal
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import BrokenExecutor, Executor, Future
from queue import SimpleQueue
from typing import TypeAlias

from hrp_model.diagnostics import ModelError

from ..physics.engine import PhysicsError
from .case import CaseResult, Run, described

# What no other attempt changes: the world cannot be simulated.
_FATAL = (ModelError, PhysicsError, ImportError)
Submit: TypeAlias = Callable[[Executor, int], "Future[CaseResult]"]


class WorkerError(RuntimeError):
    """Worker processes cannot be started."""


class ProcessPool:
    """Worker processes of this machine, replaced when one of them dies.

    They are started afresh ("spawn"), not forked, so that they share no state of ODE and no locks.

    Args:
        jobs: Number of processes.
        run: The function that they will run.
    """

    def __init__(self, jobs: int, run: Run) -> None:
        self._jobs, self._run = jobs, run
        self.executor = self._started()

    def __enter__(self) -> ProcessPool:
        return self

    def __exit__(self, *_exception: object) -> None:
        """Wait for the cases that run; those that have not begun are dropped."""
        self.executor.shutdown(wait=True, cancel_futures=True)

    def replace(self, _error: BrokenExecutor) -> Executor:
        """Return a new executor in place of one that is broken.

        Raises:
            WorkerError: Its processes do not start.
        """
        self.executor.shutdown(wait=True, cancel_futures=True)
        self.executor = self._started()
        return self.executor

    def _started(self) -> Executor:
        from concurrent.futures import ProcessPoolExecutor
        from multiprocessing import get_context

        pool = ProcessPoolExecutor(
            self._jobs,
            mp_context=get_context("spawn"),
            # Ctrl-C ends them without tracebacks; this process raises KeyboardInterrupt.
            initializer=signal.signal,
            initargs=(signal.SIGINT, signal.SIG_DFL),
        )
        try:
            # A process that cannot import the function dies, and would look like a bad case.
            pool.submit(callable, self._run).result()
        except BrokenExecutor:
            pool.shutdown(wait=True, cancel_futures=True)
            raise WorkerError(
                "the worker processes do not start: define run at the top of a module or script, "
                "and call sweep below \"if __name__ == '__main__':\""
            ) from None
        return pool


def run_all(
    indices: Iterable[int],
    submit: Submit,
    executor: Executor,
    replace: Callable[[BrokenExecutor], Executor],
    in_flight: int,
) -> Generator[tuple[int, CaseResult]]:
    """Yield the results of cases as they finish.

    When an executor breaks, nobody knows which of its cases has killed the worker. They run again,
    each alone, and fail if that breaks the executor too; so does a case whose worker raises. When
    the generator is closed, cases that have not begun are cancelled.

    Args:
        indices: The cases.
        submit: Submits a case to an executor.
        executor: Runs them.
        replace: Returns a new executor in place of one that is broken, or raises.
        in_flight: Maximum number of cases that the executor holds at a time.

    Raises:
        ModelError: A controller of the world is none.
        PhysicsError: The world cannot be simulated.
        ImportError: A library is not installed.
    """
    waiting, suspects = deque(indices), deque[int]()
    retried: set[int] = set()
    running: dict[Future[CaseResult], int] = {}
    done: SimpleQueue[Future[CaseResult]] = SimpleQueue()
    try:
        while waiting or suspects or running:
            source, most = (suspects, 1) if suspects else (waiting, in_flight)
            broken: BrokenExecutor | None = None
            try:
                # An executor may finish cases while it takes them.
                while source and len(running) < most and done.empty():
                    future = submit(executor, source[0])
                    running[future] = source.popleft()
                    if source is suspects:
                        retried.add(running[future])
                    future.add_done_callback(done.put)
            except BrokenExecutor as error:
                broken = error
            while running:
                future = done.get()
                index = running.pop(future)
                try:
                    yield index, future.result()
                except _FATAL:
                    raise
                except Exception as error:
                    if isinstance(error, BrokenExecutor):
                        broken = error
                    if index in retried:
                        yield index, CaseResult(error=_reason(error))
                    else:
                        suspects.append(index)
                if broken is None:
                    break  # else the executor ends all others too
            if broken is not None:
                executor = replace(broken)
    finally:
        for future in running:
            future.cancel()


def _reason(error: Exception) -> str:
    if isinstance(error, BrokenExecutor):
        return "its worker process died twice"
    return f"it could not be run, twice: {described(error)}"
