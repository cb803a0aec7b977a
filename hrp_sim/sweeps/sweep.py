"""Run a function for many cases of a world."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future
from contextlib import ExitStack, closing
from pathlib import Path

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
    the result, as is one whose worker process dies twice; the other cases go on.

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
        replace: Callable[[BrokenExecutor], Executor] = _give_up
        in_flight = limits.in_flight
        if executor is None and collected.left:
            count = min(len(collected.left), jobs or len(os.sched_getaffinity(0)))
            pool = stack.enter_context(ProcessPool(count, run))
            executor, replace = pool.executor, pool.replace
            in_flight = min(in_flight, 2 * count)  # one waits while one runs
        elif isinstance(executor, InlineExecutor):
            stack.callback(forget_simulations)
        if executor is not None:
            results = run_all(collected.left, executor, submit, replace, in_flight)
            for index, result in stack.enter_context(closing(results)):
                collected.add(index, result)
                tick()
    return collected.stacked()


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
