"""Run a function for many cases of a world."""

from __future__ import annotations

import logging
import os
import pickle
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

from hrp_model.printable import printable

from ..world.arguments import as_world
from ..world.config import WorldConfig
from .case import Case, CaseResult, Run, check_cases, run_name
from .collector import Collector
from .content_hash import content_hash
from .folder import CaseFolder
from .inline import InlineExecutor
from .limits import SweepLimits
from .result import SweepResult
from .worker import forget_simulations, run_case
from .workers import ProcessPool, run_all

_log = logging.getLogger("hrp_sim")
_DEFAULT_LIMITS = SweepLimits()


def sweep(
    world: WorldConfig | str | os.PathLike[str],
    cases: Sequence[Case],
    run: Run,
    executor: Executor | None = None,
    *,
    jobs: int | None = None,
    folder: str | os.PathLike[str] | None = None,
    limits: SweepLimits = _DEFAULT_LIMITS,
) -> SweepResult:
    """Run a function for each case, each from the initial state of a world.

    A worker keeps its simulation and restores it before each case, so results do not depend on
    which worker runs which cases, in which order. A case that raises an exception is a failure in
    the result, as is one whose worker process dies twice; the other cases go on. The first
    failure is logged.

    Args:
        world: The configuration, or the path of a world file or of a model.
        cases: Mappings from names, the same in all cases, to values: numbers, texts, arrays, and
            lists or mappings of these.
        run: Called with a simulation and a case; returns numbers, texts and arrays by name, of
            equal shapes in all cases. It may add controllers and bodies, which are removed again.
        executor: Runs the cases; by default a pool of processes, for which ``run`` must be
            defined at the top of a module. It is not shut down.
        jobs: Number of processes of the default executor; by default the CPUs of this process.
        folder: Keeps finished cases, and those that it already has are not run again. They are
            found by the content of world and case and the name of ``run``, not by its code.
        limits: Size limits.

    Raises:
        BrokenExecutor: The given executor has lost its workers.
        ImportError: A library is not installed.
        ModelError: The world file has errors, or a controller of the world is none.
        OSError: A file of the folder cannot be read or written.
        PhysicsError: The world cannot be simulated.
        TypeError: An argument has the wrong type, or ``run`` cannot be sent to other processes.
        ValueError: Names of cases differ, a limit is exceeded, or a file of the folder is broken.
        WorkerError: The worker processes do not start.
    """
    from hrp_model.program.working import progress  # loads rich, which "import hrp_sim" need not

    config = as_world(world, None)
    check_cases(cases, limits.cases)
    if jobs is not None and (jobs < 1 or executor is not None):
        raise ValueError("jobs must be at least 1, and goes with the default executor only")
    if executor is None or folder is not None:
        _check_function(run)
    key, pickled = content_hash(config), pickle.dumps(config)
    store = None if folder is None else CaseFolder(Path(folder), key, run_name(run))
    collected = Collector(cases, store, limits.total_bytes)

    def submit(to: Executor, index: int) -> Future[CaseResult]:
        return to.submit(run_case, pickled, key, run, cases[index], limits.case_bytes)

    with ExitStack() as stack:
        title = f"simulating {len(cases)} cases"
        tick = stack.enter_context(progress(title, len(cases)))
        for _ in collected.resume():
            tick()
        if left := collected.left:
            count = min(len(left), jobs or len(os.sched_getaffinity(0)))
            workers = stack.enter_context(_workers(executor, count, run, limits.in_flight))
            for index, result in stack.enter_context(closing(run_all(left, submit, *workers))):
                collected.add(index, result)
                tick()
    stacked = collected.stacked()
    _log_failures(stacked)
    return stacked


def _log_failures(result: SweepResult) -> None:
    if failures := result.failures:
        first, error = next(iter(failures.items()))
        counts = f"{len(failures)} of {len(result.cases)} cases failed"
        _log.warning("%s; case %d: %s", counts, first, printable(error))


@contextmanager
def _workers(
    executor: Executor | None, jobs: int, run: Run, in_flight: int
) -> Iterator[tuple[Executor, Callable[[BrokenExecutor], Executor], int]]:
    """Yield an executor, what replaces it when it breaks, and how many cases it may hold."""
    if executor is None:
        with ProcessPool(jobs, run) as pool:
            yield pool.executor, pool.replace, min(in_flight, 2 * jobs)  # one waits, one runs
        return
    try:
        yield executor, _give_up, in_flight
    finally:
        if isinstance(executor, InlineExecutor):
            forget_simulations()


def _give_up(error: BrokenExecutor) -> Executor:
    raise error


def _check_function(run: Run) -> None:
    """Check that other processes can import a function by its name.

    Raises:
        TypeError: They cannot.
    """
    name = getattr(run, "__qualname__", "")
    if not name or "<" in name:
        raise TypeError(
            f"run must be a function at the top of a module or script, not {run!r:.100}: other "
            "processes and folders find it by its name"
        )
