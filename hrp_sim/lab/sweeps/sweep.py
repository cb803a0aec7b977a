"""Run a function for many cases of a world."""

from __future__ import annotations

import errno
import logging
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import closing, contextmanager
from dataclasses import replace
from itertools import chain
from math import inf
from pathlib import Path
from time import monotonic
from typing import TypeAlias

from hrp_model.late_dataclass import dataclass
from hrp_model.printable import printable

from ...engine.snapshot import MAX_SIZE
from ...world.config import WorldConfig
from ...world.load import as_world
from .case import Case, CaseFolder, CaseResult, Run, SweepResult, check_cases, described, run_name
from .executors import Settings, dispatched, opened, shares_memory
from .worker import PackedWorld, Task

WorldOfCase: TypeAlias = Callable[[Case], WorldConfig]
World: TypeAlias = WorldConfig | str | os.PathLike[str] | WorldOfCase

MAX_TIMEOUT = 86_400.0  # [s], of a case
_MAX_CASE = MAX_SIZE // 2  # its file can be read again
_MAX_KEPT = 64  # packed worlds
_MAX_CHUNK = 1000  # cases
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_log = logging.getLogger("hrp_sim")


@dataclass(frozen=True, kw_only=True)
class SweepLimits:
    """Limits of a sweep.

    Attributes:
        cases: Maximum number of cases.
        case_bytes: Maximum size of the values of a case, in [byte].
        total_bytes: Maximum size of the values of all cases, in [byte].
        in_flight: Maximum number of chunks of cases that a given executor holds at a time.
        chunk_seconds: How long the cases of a chunk should take, in [s]: those that a worker gets
            at once. A case that takes longer is given alone.

    Raises:
        ValueError: A number is below 1, the time not positive, or ``case_bytes`` above 128 MiB.
    """

    cases: int = 1_000_000
    case_bytes: int = 1 << 26
    total_bytes: int = 1 << 32
    in_flight: int = 1000
    chunk_seconds: float = 0.5

    def __post_init__(self) -> None:
        for name in ("cases", "case_bytes", "total_bytes", "in_flight"):
            if getattr(self, name) < 1:
                raise ValueError(f"the limit {name} must be at least 1")
        if not 0.0 < self.chunk_seconds < inf:
            raise ValueError(f"chunk_seconds is {self.chunk_seconds} s; it must be positive")
        if self.case_bytes > _MAX_CASE:
            raise ValueError(f"the limit case_bytes must be at most {_MAX_CASE}")


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
    or kills its process is a failure in the result; the others go on. The first failure is logged.

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
        timeout: Wall time after which a case fails, in [s]; at most a day. Its process is ended
            then, so workers run cases in processes beside them, also with ``InlineExecutor``.
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
    check_cases(cases, limits.cases)
    _check_options(run, jobs, executor, timeout)
    is_here = executor is None or shares_memory(executor)
    has_processes = executor is None or (timeout is not None and is_here)
    if has_processes or folder is not None:
        _check_function(run, imported=has_processes)
    store = None if folder is None else CaseFolder(Path(folder), run_name(run))
    settings = Settings(limits.case_bytes, timeout)
    jobs = min(len(cases), jobs or len(os.sched_getaffinity(0)))
    in_flight, most = limits.in_flight, _MAX_CHUNK
    if executor is None:  # processes should finish at about the same time
        in_flight, most = 2 * jobs, min(len(cases) // (4 * jobs), _MAX_CHUNK)
    elif is_here:  # each case is kept as soon as it ends
        most = 1
    with _progress(len(cases)) as show:
        collected = _Cases(cases, world, store, limits.total_bytes, show)
        tasks = collected.tasks()
        if (first := next(tasks, None)) is not None:  # else all are finished
            with collected.running(), opened(executor, jobs, run, settings) as submit:
                left = chain([first], tasks)
                found = dispatched(
                    left,
                    submit,
                    in_flight,
                    most=most,
                    chunk_seconds=limits.chunk_seconds,
                    case_bytes=limits.case_bytes,
                )
                with closing(found):
                    for task, result in found:
                        collected.add(task, result)
    return collected.result()


class _Cases:
    """The cases of a sweep: their worlds, and their results as they come.

    Args:
        cases: The cases.
        world: As of ``sweep``.
        folder: Keeps those that succeed; None for nowhere.
        total_bytes: Maximum size of all values, in [byte].
        listener: Called with each result.

    Raises:
        ModelError: The file of the world cannot be used.
    """

    def __init__(
        self,
        cases: Sequence[Case],
        world: World,
        folder: CaseFolder | None,
        total_bytes: int,
        listener: Callable[[CaseResult], None],
    ) -> None:
        self._cases, self._folder = cases, folder
        self._world = world if callable(world) else as_world(world, None)
        # By identity, the last used at the end. Configurations are kept so that these stay unique.
        self._packed: dict[int, tuple[WorldConfig, PackedWorld]] = {}
        self._total_bytes, self._listener = total_bytes, listener
        self._results: dict[int, CaseResult] = {}
        self._size = 0
        self._fingerprint = ""  # of the first result
        self._warned = False  # that others differ

    @contextmanager
    def running(self) -> Iterator[None]:
        """Make the folder, and log how to continue if a ``with`` block is left with an exception.

        Raises:
            OSError: The folder cannot be made or written.
        """
        if self._folder is not None:
            self._folder.prepare_writing()
        try:
            yield
        except BaseException:
            if self._folder is not None:
                _log.warning(
                    "stopped early; %d of %d cases are finished; those that succeeded "
                    "are in '%s', and the same call continues",
                    *(len(self._results), len(self._cases), printable(str(self._folder.path))),
                )
            raise

    def tasks(self) -> Iterator[Task]:
        """Yield the cases to run: not those in the folder, nor those whose world cannot be made.

        Raises:
            OSError: A file cannot be read.
            ValueError: A file is broken, or the values are too large.
        """
        for index, case in enumerate(self._cases):
            try:
                world = self._world_of(case)
            except Exception as error:
                self._take(index, CaseResult(error=f"world: {described(error)}"))
                continue
            found = None if self._folder is None else self._folder.read(world.key, case)
            if found is None:
                yield Task(index, dict(case), world)
            else:
                self._take(index, found)

    def add(self, task: Task, result: CaseResult) -> None:
        """Take the result of a case, after it was written to the folder if it succeeded.

        Raises:
            OSError: Its file cannot be written.
            ValueError: The values are too large.
        """
        if self._folder is not None and not result.error:
            try:
                self._folder.write(task.world.key, task.case, result)
            except OSError as error:
                if error.errno in _FULL:
                    error.strerror = f"{error.strerror}; free space, then repeat the call"
                raise
        self._take(task.index, result)

    def result(self) -> SweepResult:
        """Return the results, of which none may be missing; the first failure is logged."""
        results = [self._results[i] for i in range(len(self._cases))]
        stacked = SweepResult.from_results(self._cases, results)
        if failures := stacked.failures:
            first, error = next(iter(failures.items()))
            counts = f"{len(failures)} of {len(self._cases)} cases failed"
            _log.warning("%s; case %d: %s", counts, first, printable(error))
        return stacked

    def _world_of(self, case: Case) -> PackedWorld:
        """Return the world of a case; the last ones are kept, and found by identity.

        Raises:
            Exception: The function of worlds has raised it.
            TypeError: It has returned something else than a configuration.
        """
        world = self._world
        config: object = world if isinstance(world, WorldConfig) else world(dict(case))
        if not isinstance(config, WorldConfig):
            kind = type(config).__name__
            raise TypeError(f"the function of worlds must return a WorldConfig, not {kind}")
        if (kept := self._packed.pop(id(config), None)) is None:
            kept = config, PackedWorld.of(config, common=config is world)
        while len(self._packed) >= _MAX_KEPT:
            del self._packed[next(iter(self._packed))]
        self._packed[id(config)] = kept
        return kept[1]

    def _take(self, index: int, result: CaseResult) -> None:
        # Texts from workers are not shared, and a million of the same text need 0.2 GB.
        result = replace(result, fingerprint=sys.intern(result.fingerprint))
        self._results[index] = result
        self._check_fingerprint(result.fingerprint)
        self._size += result.size
        if self._size > self._total_bytes:
            raise ValueError(
                f"the values of {len(self._results)} of {len(self._cases)} cases exceed "
                f"{self._total_bytes} bytes, the limit total_bytes; return less"
            )
        self._listener(result)

    def _check_fingerprint(self, fingerprint: str) -> None:
        """Warn once if results were not all computed alike."""
        self._fingerprint = self._fingerprint or fingerprint
        if fingerprint not in ("", self._fingerprint) and not self._warned:
            self._warned = True
            _log.warning(
                "the last bits and state hashes of cases cannot be compared, since some were "
                "computed with %s, and some with %s",
                *(printable(self._fingerprint), printable(fingerprint)),
            )


@contextmanager
def _progress(cases: int) -> Iterator[Callable[[CaseResult], None]]:
    """Show finished and failed cases, rate and remaining time on standard error, if a terminal.

    Args:
        cases: Number of cases.

    Yields:
        A function to call with each result.
    """
    from hrp_model.program.tables import message_console  # rich, which "import hrp_sim" need not

    console = message_console()
    if not console.is_terminal:
        yield lambda _result: None
        return
    from rich import progress

    done = failed = 0
    columns = (
        progress.TextColumn("cases"),
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        progress.TextColumn("{task.fields[failed]} failed  {task.fields[rate]:.3g} cases/s"),
        progress.TimeElapsedColumn(),
        progress.TextColumn("remaining"),
        progress.TimeRemainingColumn(),
    )
    with progress.Progress(*columns, console=console, transient=True) as bar:
        task, start = bar.add_task("", total=cases, failed=0, rate=0.0), monotonic()

        def show(result: CaseResult) -> None:
            nonlocal done, failed
            done, failed = done + 1, failed + bool(result.error)
            rate = done / max(monotonic() - start, 1e-9)
            bar.update(task, advance=1, failed=failed, rate=rate)

        yield show


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
