"""Run a function for many cases of a world."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from contextlib import AbstractContextManager, ExitStack, closing
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory

from hrp_model.printable import printable

from .case import Case, CaseResult, Run, check_cases, run_name
from .collector import Collector
from .dispatch import Dispatcher
from .executors import open_executor, submitter
from .folder import CaseFolder
from .limits import MAX_TIMEOUT, SweepLimits
from .result import SweepResult
from .worker import Settings, this_process
from .worlds import World, Worlds

_log = logging.getLogger("hrp_sim")
_DEFAULT_LIMITS = SweepLimits()


def sweep(
    world: World,
    cases: Sequence[Case],
    run: Run,
    executor: Executor | None = None,
    *,
    jobs: int | None = None,
    folder: str | os.PathLike[str] | None = None,
    timeout: float | None = None,
    limits: SweepLimits = _DEFAULT_LIMITS,
) -> SweepResult:
    """Run a function for each case, each from the initial state of a world.

    A worker keeps its simulation and restores it before each case, so results do not depend on
    which worker runs which cases, in which order. A case that raises an exception, takes too long
    or kills its worker is a failure in the result; the others go on. The first failure is logged.

    Args:
        world: The configuration; or the path of a world file or of a model; or a function that
            returns the configuration for a case. It is called in this process when the case is
            due. A case whose world cannot be made or simulated is a failure. Cases with equal
            worlds share a simulation; return the same object for these, since each new one is
            hashed and packed, which takes milliseconds.
        cases: Mappings from names, the same in all cases, to values: numbers, texts, arrays, and
            lists or mappings of these.
        run: Called with a simulation and a case; returns numbers, texts and arrays by name, of
            equal shapes in all cases. It may add controllers and bodies, which are removed again.
        executor: Runs the cases; by default a pool of processes, for which ``run`` must be
            defined at the top of a module. It is not shut down.
        jobs: Number of processes of the default executor; by default the CPUs of this process.
        folder: Keeps finished cases, and those that it already has are not run again. They are
            found by the content of their world and case and the name of ``run``, not by its code.
        timeout: Wall time after which a case fails, in [s]; at most a day. Code that does not
            react is ended with its process, but not in this process, where it must return.
        limits: Of sizes and chunks.

    Raises:
        BrokenExecutor: The given executor has lost its workers.
        ImportError: A library is not installed.
        ModelError: The world file has errors, or a controller of the common world is none.
        OSError: A file of the folder cannot be read or written.
        PhysicsError: The common world cannot be simulated.
        TypeError: An argument has the wrong type, or ``run`` cannot be sent to other processes.
        ValueError: Names of cases differ, a limit is exceeded, or a file of the folder is broken.
        WorkerError: Workers do not start, have another version of hrp_ros, or are gone.
    """
    worlds = Worlds(world)
    check_cases(cases, limits.cases)
    _check_options(run, jobs, executor, timeout)
    if executor is None or folder is not None:
        _check_function(run, imported=executor is None)
    store = None if folder is None else CaseFolder(Path(folder), run_name(run))

    with TemporaryDirectory(ignore_cleanup_errors=True) as marks, ExitStack() as stack:
        settings = Settings(limits.case_bytes, limits.chunk_seconds, timeout, this_process(), marks)
        show = stack.enter_context(_progress(len(cases)))
        collector = Collector(cases, worlds, store, limits.total_bytes, show)
        tasks = collector.tasks()
        if (first := next(tasks, None)) is not None:  # else all are finished
            stack.enter_context(collector.running())
            to, capacity = stack.enter_context(
                open_executor(executor, jobs, run, len(cases), limits.in_flight)
            )
            submit = submitter(to, settings, run, imported=executor is None)
            dispatcher = Dispatcher(chain([first], tasks), submit, capacity, limits.chunk_seconds)
            for task, result in stack.enter_context(closing(dispatcher.results())):
                collector.add(task, result)
    stacked = collector.stacked()
    _log_failures(stacked)
    return stacked


def _progress(cases: int) -> AbstractContextManager[Callable[[CaseResult], None]]:
    from .display import sweep_progress  # loads rich, which "import hrp_sim" need not

    return sweep_progress(cases)


def _log_failures(result: SweepResult) -> None:
    if failures := result.failures:
        first, error = next(iter(failures.items()))
        counts = f"{len(failures)} of {len(result.cases)} cases failed"
        _log.warning("%s; case %d: %s", counts, first, printable(error))


def _check_options(
    run: Run, jobs: int | None, executor: Executor | None, timeout: float | None
) -> None:
    if not callable(run):
        raise TypeError(f"run must be a function of a simulation and a case, not {run!r:.100}")
    if executor is not None and not isinstance(executor, Executor):
        raise TypeError(
            "executor must be a concurrent.futures.Executor, such as the result of "
            f"client.get_executor() of Dask, not {type(executor).__name__}"
        )
    if jobs is not None and executor is not None:
        raise ValueError("jobs is for the default executor only, but another executor is given")
    if jobs is not None and not (isinstance(jobs, int) and jobs >= 1):
        raise ValueError(f"jobs must be a whole number of at least 1, not {jobs!r}")
    if timeout is not None and not (
        isinstance(timeout, int | float) and 0.0 < timeout <= MAX_TIMEOUT
    ):
        raise ValueError(
            f"timeout must be a number above 0 s and at most {MAX_TIMEOUT:g} s, not {timeout!r}"
        )


def _check_function(run: Run, *, imported: bool) -> None:
    """Check that a function can be found by its name.

    Args:
        run: The function.
        imported: Whether processes of this machine import it, which they cannot from a notebook or
            an interactive session.

    Raises:
        TypeError: It cannot be found.
    """
    name = getattr(run, "__qualname__", "")
    if not name or "<" in name:
        raise TypeError(
            f"run must be a function at the top of a module or script, not {run!r:.100}: other "
            "processes and folders find it by its name"
        )
    script = getattr(sys.modules["__main__"], "__file__", None)
    if imported and run.__module__ == "__main__" and not (script and os.path.exists(script)):
        raise TypeError(
            f"worker processes cannot import '{name}' from a notebook or an interactive session: "
            "define it in a module and import that, or give executor=InlineExecutor()"
        )
