"""Hand out cases to an executor, in chunks, also when its workers die."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Future
from dataclasses import dataclass
from itertools import islice
from queue import Empty, SimpleQueue
from typing import TypeAlias

from hrp_model.diagnostics import ModelError
from hrp_model.version import __version__

from ...engine.engine import PhysicsError
from .case import CaseResult, described
from .errors import WorkerError
from .worker import ChunkResult
from .worlds import Task

# No other attempt changes these: the common world cannot be simulated, or the worker is unfit.
_FATAL = (ModelError, PhysicsError, ImportError, WorkerError)
_PACKAGES = ("hrp_model", "hrp_sim")
# Raised by Dask, after several workers have died that had the chunk, perhaps by a case of another.
_KILLED = "KilledWorker"
# So many chunks, of one case each, are submitted until one has ended or this time is over.
_TRIES, _TRIAL = 32, 2.0  # [s]
Submit: TypeAlias = Callable[[Sequence[Task]], "Future[ChunkResult]"]


@dataclass(frozen=True, kw_only=True)
class Capacity:
    """What an executor can take.

    Attributes:
        chunks: Maximum number of chunks that it holds at a time.
        cases: Maximum number of cases of a chunk.
        replaces: Whether it replaces workers that die.
        inline: Whether submitting a chunk runs it.
    """

    chunks: int
    cases: int
    replaces: bool = False
    inline: bool = False


class Dispatcher:
    """Submits cases, in chunks that take a certain time, as measured so far.

    When a worker dies or raises, the cases of its chunk run again, each as a chunk of its own, and
    fail if that happens again. Where the cause may be another chunk of the same worker, they run at
    the end, when nothing else runs.

    Args:
        tasks: The cases, taken when they are due.
        submit: Submits a chunk.
        capacity: Of the executor.
        seconds: Time that the cases of a chunk should take.
    """

    def __init__(
        self, tasks: Iterator[Task], submit: Submit, capacity: Capacity, seconds: float
    ) -> None:
        self._tasks, self._submit, self._capacity = tasks, submit, capacity
        self._seconds = seconds
        self._mean: float | None = None  # [s] of a case
        self._tries = _TRIES  # chunks until the first result, or 0
        self._unstarted = deque[Task]()  # of chunks that took too long
        self._again = deque[Task]()
        self._suspects = deque[Task]()
        self._retried = set[int]()
        self._running: dict[Future[ChunkResult], list[Task]] = {}
        self._done: SimpleQueue[Future[ChunkResult]] = SimpleQueue()

    def results(self) -> Generator[tuple[Task, CaseResult]]:
        """Yield the results of cases as they finish.

        When the generator is closed, chunks that have not begun are cancelled.

        Raises:
            BrokenExecutor: The executor has lost its workers and does not replace them.
            ModelError: A controller of the common world is none.
            PhysicsError: The common world cannot be simulated.
            ImportError: A library is not installed.
            WorkerError: The executor has cancelled a chunk, or a worker is unfit.
        """
        try:
            self._fill()
            while self._running:
                try:
                    # No reference is left: Dask would recompute it when its worker dies.
                    found = self._finished(self._done.get(timeout=_TRIAL if self._tries else None))
                except Empty:
                    self._tries = 0  # cases are so long that each is a chunk
                    self._fill()
                    continue
                if not self._capacity.inline:
                    self._fill()  # workers need not wait until the results are processed
                yield from found
                self._fill()
        finally:
            for future in self._running:
                future.cancel()

    def _fill(self) -> None:
        """Submit chunks, until the executor has enough or has finished one."""
        most = min(self._capacity.chunks, self._tries or self._capacity.chunks)
        while self._done.empty() and len(self._running) < most:
            chunk = self._next_chunk()
            if not chunk and self._suspects and not self._running:
                chunk = [self._suspects.popleft()]
            if not chunk:
                return
            future = self._submit(chunk)
            self._running[future] = chunk
            future.add_done_callback(self._done.put)

    def _next_chunk(self) -> list[Task]:
        if self._again:
            return [self._again.popleft()]
        size = 1
        if self._mean is not None:
            size = int(min(self._seconds / max(self._mean, 1e-6), self._capacity.cases)) or 1
        chunk: list[Task] = []
        while self._unstarted and len(chunk) < size:
            chunk.append(self._unstarted.popleft())
        return chunk or list(islice(self._tasks, size))

    def _finished(self, future: Future[ChunkResult]) -> list[tuple[Task, CaseResult]]:
        """Return the results of a chunk; its other cases will run again."""
        chunk = self._running.pop(future)
        try:
            found = future.result()
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] not in _PACKAGES:
                raise
            raise WorkerError(
                f"a worker cannot import {error.name}: install hrp_ros {__version__} there"
            ) from None
        except _FATAL:
            raise
        except CancelledError:
            raise WorkerError("the executor has cancelled cases; are its workers gone?") from None
        except Exception as error:
            if isinstance(error, BrokenExecutor) and not self._capacity.replaces:
                raise
            return self._failed(chunk, error)
        self._measure(found)
        self._unstarted.extend(chunk[len(found.results) :])
        return list(zip(chunk, found.results, strict=False))

    def _failed(self, chunk: list[Task], error: Exception) -> list[tuple[Task, CaseResult]]:
        """Return failures for those cases of a chunk that do not run again."""
        last = [task for task in chunk if task.index in self._retried]
        again = self._suspects if type(error).__name__ == _KILLED else self._again
        again += [task for task in chunk if task.index not in self._retried]
        self._retried |= {task.index for task in chunk}
        return [(task, CaseResult(error=_reason(error))) for task in last]

    def _measure(self, found: ChunkResult) -> None:
        self._tries = 0
        mean = found.seconds / len(found.results)
        self._mean = mean if self._mean is None else 0.8 * self._mean + 0.2 * mean


def _reason(error: Exception) -> str:
    if type(error).__name__ == _KILLED:
        return "all workers died that ran it"
    if isinstance(error, BrokenExecutor):
        return "its worker process died twice"
    return f"it could not be run, twice: {described(error)}"
