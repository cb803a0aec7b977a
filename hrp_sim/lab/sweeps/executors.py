"""What executors of sweeps can take, and how cases are submitted to them."""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from importlib.util import find_spec
from itertools import count

from hrp_model.version import __version__

from .case import Run
from .dispatch import Capacity, Submit
from .inline import InlineExecutor
from .worker import ChunkResult, Settings, forget_simulations, run_packed
from .worlds import Task

_MAX_CHUNK = 1000  # cases


@contextmanager
def open_executor(
    executor: Executor | None, jobs: int | None, run: Run, cases: int, in_flight: int
) -> Iterator[tuple[Executor, Capacity]]:
    """Yield the given executor, or a new one in its place, and its capacity.

    Args:
        executor: The executor, which is not shut down; None for processes of this machine.
        jobs: Number of these processes; None for the CPUs of this process.
        run: The function that will run.
        cases: Number of cases.
        in_flight: Maximum number of chunks that a given executor holds.

    Raises:
        WorkerError: A process cannot be started.
    """
    if executor is None:
        from .processes import WorkerProcesses  # loads multiprocessing

        jobs = min(cases, jobs or len(os.sched_getaffinity(0)))
        fair = max(1, cases // (4 * jobs))  # so that processes finish at about the same time
        with WorkerProcesses(jobs, run) as processes:
            yield processes, Capacity(chunks=jobs, cases=min(fair, _MAX_CHUNK), replaces=True)
    elif isinstance(executor, InlineExecutor):
        try:
            yield executor, Capacity(chunks=1, cases=1, inline=True)
        finally:
            forget_simulations()
    else:
        yield executor, Capacity(chunks=in_flight, cases=_MAX_CHUNK)


def submitter(executor: Executor, settings: Settings, run: Run, *, imported: bool) -> Submit:
    """Return a function that submits chunks of cases to an executor.

    Args:
        executor: The executor.
        settings: Of the sweep.
        run: The function.
        imported: Whether workers can import it.

    Raises:
        TypeError: The function cannot be pickled.
    """
    numbers = count()  # two chunks are never equal, of which Dask would run only one
    function = _packed(executor, run, imported=imported)

    def submit(tasks: Sequence[Task]) -> Future[ChunkResult]:
        chunk = [replace(task, case=dict(task.case)) for task in tasks]
        packed = pickle.dumps((settings, chunk, next(numbers)))
        if not isinstance(function, bytes):
            return executor.submit(run_packed, __version__, function, packed)
        return executor.submit(pickle.loads, pickle.dumps(_Call(__version__, function, packed)))

    return submit


class _Call:
    """Becomes the result of ``run_packed`` where it is unpickled.

    A task that is nothing but this can be read by a worker without hrp_ros, which then raises an
    error. A worker of Dask that cannot read a task ends without a word.
    """

    def __init__(self, version: str, function: bytes, packed: bytes) -> None:
        self._arguments = version, function, packed

    def __reduce__(self) -> tuple[object, ...]:
        return run_packed, self._arguments


def _packed(executor: Executor, run: Run, *, imported: bool) -> Run | bytes:
    """Return a function for the workers of an executor: pickled, unless they share its memory.

    Its code is included if they cannot import it, for example since a script defines it, and if
    cloudpickle is installed, as with Dask. Global values that it uses go along then, and errors
    no longer name its file.
    """
    if isinstance(executor, InlineExecutor | ThreadPoolExecutor):
        return run
    try:
        if imported or find_spec("cloudpickle") is None:
            return pickle.dumps(run)
        import cloudpickle

        packed: bytes = cloudpickle.dumps(run)
    except Exception as error:
        raise TypeError(f"run cannot be sent to workers: {error}") from None
    return packed
