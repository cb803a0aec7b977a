"""How cases reach their workers: processes of this machine, or any executor."""

from __future__ import annotations

import os
import pickle
import platform
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import (
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ThreadPoolExecutor,
)
from contextlib import contextmanager
from functools import lru_cache, partial
from importlib.util import find_spec
from itertools import islice
from queue import SimpleQueue
from typing import TYPE_CHECKING, ParamSpec, TypeAlias, TypeVar

from hrp_model import __version__
from hrp_model.diagnostics import ModelError
from hrp_model.late_dataclass import dataclass

from ...engine.engine import PhysicsError
from .case import CaseResult, Run, described
from .worker import Task, forget_simulations, run_case, run_cases

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.context import SpawnProcess

_P = ParamSpec("_P")
_T = TypeVar("_T")
_CREATION = 60.0  # [s] in which a simulation must be created, if cases have a time limit
_NO_START = (
    "the worker processes do not start: define run at the top of a module or script, and call "
    "sweep below \"if __name__ == '__main__':\""
)
_PACKAGES = ("hrp_model", "hrp_sim")
Submit: TypeAlias = Callable[[Sequence[Task]], "Future[list[CaseResult]]"]


class WorkerError(RuntimeError):
    """Workers cannot be started, are gone, or cannot run the cases of this process."""


# These are the same for every case: the common world cannot be simulated, or a worker is unfit.
_FATAL = (ModelError, PhysicsError, ImportError, WorkerError, BrokenExecutor)


class InlineExecutor(Executor):
    """Runs the cases of a sweep one after another in this process, as for a debugger."""

    def submit(self, fn: Callable[_P, _T], /, *args: _P.args, **kwargs: _P.kwargs) -> Future[_T]:
        """Call a function now; return a future that is done."""
        future: Future[_T] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


@dataclass(frozen=True)
class Settings:
    """What all cases of a sweep have in common.

    Attributes:
        case_bytes: Maximum size of the values of a case, in [byte].
        timeout: Wall time of each case, in [s]; None for any time.
    """

    case_bytes: int
    timeout: float | None


def shares_memory(executor: Executor) -> bool:
    """Return whether an executor runs functions in this process, to which all can be given."""
    return isinstance(executor, InlineExecutor | ThreadPoolExecutor)


@contextmanager
def opened(executor: Executor | None, jobs: int, run: Run, settings: Settings) -> Iterator[Submit]:
    """Yield a function that submits cases; it and their processes end with the context.

    Args:
        executor: Runs the cases, and is not shut down; None for processes of this machine.
        jobs: Number of these processes.
        run: The function of a case.
        settings: Of the sweep.

    Raises:
        TypeError: The function cannot be pickled.
    """
    if executor is None or (shares_memory(executor) and settings.timeout is not None):
        function, processes = _pickled(run, imported=True), CaseProcesses()
        callers = executor or ThreadPoolExecutor(jobs)
        try:
            yield lambda tasks: callers.submit(processes.run, settings, function, tasks)
        finally:
            processes.close()
            if executor is None:
                callers.shutdown(cancel_futures=True)
    elif shares_memory(executor):
        try:
            yield lambda tasks: executor.submit(run_cases, run, tasks, settings.case_bytes)
        finally:
            forget_simulations()
    else:
        function = _pickled(run, imported=False)

        def send(tasks: Sequence[Task]) -> Future[list[CaseResult]]:
            call = _Call(__version__, function, pickle.dumps((settings, tasks)))
            return executor.submit(pickle.loads, pickle.dumps(call))

        yield send


def _pickled(run: Run, *, imported: bool) -> bytes:
    """Return a function for other processes.

    Its code is included if they cannot import it, for example since a script defines it, and if
    cloudpickle is installed, as with Dask. Global values that it uses go along then, and errors
    no longer name its file.
    """
    try:
        if imported or find_spec("cloudpickle") is None:
            return pickle.dumps(run)
        import cloudpickle

        content: bytes = cloudpickle.dumps(run)
    except Exception as error:
        raise TypeError(f"run cannot be sent to workers: {error}") from None
    return content


@lru_cache(maxsize=4)
def _function(content: bytes) -> Run:
    """Return a function; the same one for all its cases, since it may keep values.

    Raises:
        WorkerError: It cannot be imported, or was pickled by another version of Python.
    """
    try:
        function: Run = pickle.loads(content)
    except Exception as error:
        raise WorkerError(
            f"the worker on {platform.node()} cannot import run: {error}; install its module "
            "there, or define run in the script that is started"
        ) from None
    return function


class _Call:
    """Becomes the result of ``run_packed`` where it is unpickled.

    A task that is nothing but this can be read by a worker without hrp_ros, which then raises an
    error. A worker of Dask that cannot read a task ends without a word.
    """

    def __init__(self, version: str, function: bytes, packed: bytes) -> None:
        self._arguments = version, function, packed

    def __reduce__(self) -> tuple[object, ...]:
        return run_packed, self._arguments


def run_packed(version: str, function: bytes, packed: bytes) -> list[CaseResult]:
    """Run cases in the worker of an executor.

    Args:
        version: Of hrp_ros in the calling process. Only if it is that of this process, the rest
            can be read.
        function: The pickled function of a case.
        packed: Pickled settings and cases.

    Raises:
        WorkerError: The version differs, or the function cannot be imported.
    """
    if version != __version__:
        raise WorkerError(
            f"the worker on {platform.node()} has hrp_ros {__version__}, and this process "
            f"{version}: install the same version on both"
        )
    settings, tasks = pickle.loads(packed)
    if settings.timeout is not None:
        return _processes.run(settings, function, tasks)
    return run_cases(_function(function), tasks, settings.case_bytes)


class CaseProcesses:
    """Processes that run cases: as many as there are threads that call ``run`` at a time.

    A case that takes too long is ended with its process. So is one that kills its process, and
    neither costs another case.
    """

    def __init__(self) -> None:
        self._idle: list[_CaseProcess] = []
        self._all: set[_CaseProcess] = set()
        self._lock = threading.Lock()
        self._closed = False

    def run(self, settings: Settings, function: bytes, tasks: Sequence[Task]) -> list[CaseResult]:
        """Run cases one after another.

        Raises:
            WorkerError: Processes do not start or are closed, or the function cannot be imported.
            ModelError, PhysicsError, ImportError: See ``run_case``.
        """
        results: list[CaseResult] = []
        while len(results) < len(tasks):
            process = self._taken()
            found, problem = process.run(settings, function, tasks[len(results) :])
            results += found
            with self._lock:
                if isinstance(problem, str):
                    self._all.discard(process)
                    results.append(CaseResult(error=problem))
                else:
                    self._idle.append(process)
            if isinstance(problem, Exception):
                raise problem
        return results

    def close(self) -> None:
        """End all processes, whatever they do."""
        with self._lock:
            self._closed = True
            for process in self._all:
                process.kill()

    def _taken(self) -> _CaseProcess:
        """Return an idle process, or a new one."""
        with self._lock:
            if self._closed:
                raise WorkerError("the sweep has ended")
            if self._idle:
                return self._idle.pop()
            process = _CaseProcess()
            self._all.add(process)
        process.wait_for_start()
        return process


class _CaseProcess:
    """A process that runs one case at a time, and ends with this one."""

    def __init__(self) -> None:
        import multiprocessing  # which "import hrp_sim" need not load

        if multiprocessing.current_process().daemon:  # a worker of Dask, which may have no children
            multiprocessing.current_process().daemon = False
        context = multiprocessing.get_context("spawn")  # a fork would share locks and ODE's state
        self._connection, other = context.Pipe()
        self._process: SpawnProcess = context.Process(target=_serve, args=(other,), daemon=True)
        try:
            self._process.start()
        except RuntimeError:  # this process is one itself, and still imports the script
            raise WorkerError(_NO_START) from None
        other.close()

    def wait_for_start(self) -> None:
        """Wait until the process can run cases.

        Raises:
            WorkerError: It has ended.
        """
        try:
            self._connection.recv()
        except (EOFError, OSError):
            raise WorkerError(_NO_START) from None

    def run(
        self, settings: Settings, function: bytes, tasks: Sequence[Task]
    ) -> tuple[list[CaseResult], Exception | str | None]:
        """Run cases until one costs the process.

        Returns:
            Results of the first cases; and what ends the sweep, or why the process is gone.
        """
        timeout = settings.timeout
        # With a time limit, the first answer for a case is that its simulation is there.
        limits = [None] if timeout is None else [max(timeout, _CREATION), timeout]
        results: list[CaseResult] = []
        try:
            self._connection.send((settings, function, tasks))
            for seconds in limits * len(tasks):
                if not self._connection.poll(seconds):
                    self.kill()
                    return results, f"it took longer than {timeout:g} s, and its process was ended"
                answer: CaseResult | Exception | None = self._connection.recv()
                if isinstance(answer, Exception):
                    return results, answer
                if answer is not None:
                    results.append(answer)
        except (EOFError, OSError):
            self._process.join()
            return results, f"its process died ({_exit_reason(self._process.exitcode)})"
        return results, None

    def kill(self) -> None:
        """End the process now."""
        self._process.kill()


def _exit_reason(code: int | None) -> str:
    if code is not None and code < 0:
        import signal

        return signal.Signals(-code).name
    return f"exit status {code}"


def _serve(connection: Connection) -> None:
    """Run the cases that come from the parent process, until it ends."""
    import signal
    from multiprocessing import parent_process

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # for Ctrl-C, the parent process ends this one
    parent = parent_process()
    assert parent is not None

    def end_with_parent() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=end_with_parent, daemon=True).start()
    connection.send(None)
    while True:
        settings, function, tasks = connection.recv()
        on_start = None if settings.timeout is None else partial(connection.send, None)
        try:
            for task in tasks:
                connection.send(run_case(_function(function), task, settings.case_bytes, on_start))
        except Exception as error:
            connection.send(error)


_processes = CaseProcesses()  # of a worker, for cases with a time limit


def dispatched(
    tasks: Iterator[Task],
    submit: Submit,
    in_flight: int,
    *,
    most: int,
    chunk_seconds: float,
    case_bytes: int,
) -> Generator[tuple[Task, CaseResult]]:
    """Submit cases in chunks, and yield their results as they finish.

    A chunk has as many cases as take ``chunk_seconds`` by those that have finished. If it cannot
    be run, its cases run again, each alone; one that cannot be run alone fails.

    Args:
        tasks: The cases, taken when they are due.
        submit: Submits a chunk.
        in_flight: Maximum number of chunks that are submitted at a time.
        most: Maximum number of cases of a chunk.
        chunk_seconds: Time that the cases of a chunk should take, in [s].
        case_bytes: Size that the values of a chunk should not exceed.

    Raises:
        BrokenExecutor: The executor has lost its workers.
        ModelError: A controller of the common world is none.
        PhysicsError: The common world cannot be simulated.
        ImportError: A library is not installed.
        WorkerError: The executor has cancelled a chunk, or a worker is unfit.
    """
    running: dict[Future[list[CaseResult]], list[Task]] = {}
    done: SimpleQueue[Future[list[CaseResult]]] = SimpleQueue()
    again = deque[list[Task]]()
    count, seconds, size = 0, 0.0, 0  # of the cases that have finished

    def next_chunk() -> list[Task]:
        if again:
            return again.popleft()
        fit = min(chunk_seconds * count / (seconds or 1.0), case_bytes * count / (size or 1))
        return list(islice(tasks, max(1, min(int(fit), most))))

    def fill() -> None:
        """Submit chunks, until the executor has enough or has finished one."""
        while done.empty() and len(running) < in_flight and (chunk := next_chunk()):
            future = submit(chunk)
            running[future] = chunk
            future.add_done_callback(done.put)

    try:
        fill()
        while running:
            # No reference to the future is left: Dask would run it again when its worker dies.
            chunk, results = _finished(done.get(), running)
            if not results:
                again.extend([task] for task in chunk)
            for task, result in zip(chunk, results, strict=False):
                count, seconds, size = count + 1, seconds + result.seconds, size + result.size
                yield task, result
            fill()
    finally:
        for future in running:
            future.cancel()


def _finished(
    future: Future[list[CaseResult]], running: dict[Future[list[CaseResult]], list[Task]]
) -> tuple[list[Task], list[CaseResult]]:
    """Return a chunk and its results, which are none if its cases are to run alone."""
    chunk = running.pop(future)
    try:
        return chunk, future.result()
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
        if len(chunk) > 1:
            return chunk, []
        return chunk, [CaseResult(error=f"it could not be run: {described(error)}")]
