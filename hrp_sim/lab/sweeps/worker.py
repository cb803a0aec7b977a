"""Run cases in a process, which keeps its simulations from case to case."""

from __future__ import annotations

import os
import pickle
import platform
import threading
import uuid
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from time import monotonic
from typing import TypeVar

from hrp_model import Diagnostics
from hrp_model.version import __version__

from ...run.initial_state import InitialState
from ...simulation import Simulation
from ...world.config import WorldConfig
from .case import MAX_ERROR, Case, CaseResult, Run, checked_values, described
from .errors import WorkerError
from .fingerprint import fingerprint
from .time_limit import (
    CaseTimeoutError,
    HangError,
    end_process_after,
    has_ended_process,
    limited,
    process_limit,
)
from .worlds import PackedWorld, Task

_T = TypeVar("_T")
_MAX_KEPT = 4  # simulations
_PATIENCE = 2.0  # [s] that a case has to end after its time-out
_DELIVERY = 2.0  # [s] until a process ends whose case has not; its result is fetched meanwhile
_CREATION = 60.0  # [s] in which a simulation must be created, if cases have a time-out
_TOKEN = uuid.uuid4().hex  # inherited by forked processes


@dataclass(frozen=True)
class Settings:
    """What all cases of a sweep have in common.

    Attributes:
        case_bytes: Maximum size of the values of a case, in [byte].
        chunk_seconds: Time after which a worker starts no further case of a chunk, in [s].
        timeout: Of each case, in [s]; None for none.
        caller: The process that called ``sweep``, as ``this_process`` names it.
        marks: Folder on its machine, for marks of cases that end their processes by time-outs.
    """

    case_bytes: int
    chunk_seconds: float
    timeout: float | None
    caller: str
    marks: str

    def mark(self, task: Task) -> Path:
        """Return the file that marks a case as one that has ended its process."""
        return Path(self.marks, str(task.index))


@dataclass(frozen=True)
class ChunkResult:
    """Results of the first cases of a chunk; the others were not started.

    Attributes:
        results: Of the cases.
        seconds: Time that they took, without the creation of simulations, in [s].
        ending: Whether the worker process ends soon, because a case hangs in it.
    """

    results: Sequence[CaseResult]
    seconds: float
    ending: bool = False


_kept: dict[str, InitialState] = {}  # by world, the last used at the end
# ODE has one random state for the whole process, so only one thread may step, also where an
# executor has several threads. A case that hangs keeps it.
_lock = threading.Lock()


def this_process() -> str:
    """Return a name of this process, which no other process of any machine has."""
    return f"{_TOKEN} {os.getpid()}"


def run_packed(version: str, run: Run | bytes, packed: bytes) -> ChunkResult:
    """Run a chunk of cases.

    All is packed, so that it is read here, after the versions were compared.

    Args:
        version: Of hrp_ros in the calling process. Only if it is that of this process, the rest
            can be read.
        run: The function, possibly pickled.
        packed: The other arguments of ``run_chunk``, pickled.

    Raises:
        WorkerError: The version differs, or the function cannot be imported.
    """
    if version != __version__:
        raise WorkerError(
            f"the worker on {platform.node()} has hrp_ros {__version__}, and this process "
            f"{version}: install the same version on both"
        )
    settings, chunk, _ = pickle.loads(packed)
    return run_chunk(settings, _unpacked(run) if isinstance(run, bytes) else run, chunk)


@lru_cache(maxsize=4)
def _unpacked(run: bytes) -> Run:
    """Return a function; the same one for all chunks, since it may keep values.

    Raises:
        WorkerError: It cannot be imported, or was pickled by another version of Python.
    """
    try:
        function: Run = pickle.loads(run)
    except Exception as error:
        raise WorkerError(
            f"the worker on {platform.node()} cannot import run: {error}; install its module "
            "there, or define run in the script that is started"
        ) from None
    return function


def run_chunk(settings: Settings, run: Run, chunk: Sequence[Task]) -> ChunkResult:
    """Run cases one after another, each from the initial state of its world.

    Args:
        settings: Of the sweep.
        run: Simulates a case and returns its values. What it raises is the error of the result.
        chunk: The cases.

    Raises:
        ModelError: A controller of the common world is none.
        PhysicsError: The common world cannot be simulated.
        ImportError: A library is not installed.
    """
    results: list[CaseResult] = []
    seconds, size = 0.0, 0
    _lock.acquire()
    begun = monotonic()
    try:
        for task in chunk:
            slow = monotonic() - begun > settings.chunk_seconds
            if results and (slow or size > settings.case_bytes):
                break
            result, took = _run_case(settings, run, task)
            results.append(result)
            seconds += took
            size += result.size
    except HangError:
        # Other threads of this process wait for the lock until it ends.
        end_process_after(_DELIVERY)
        return ChunkResult((*results, _ended(settings)), seconds, ending=True)
    except BaseException:
        _lock.release()
        raise
    _lock.release()
    return ChunkResult(results, seconds)


def forget_simulations() -> None:
    """Close the simulations that this process keeps."""
    with _lock:
        while _kept:
            _discard(next(iter(_kept)))


def _run_case(settings: Settings, run: Run, task: Task) -> tuple[CaseResult, float]:
    """Return the result of a case, and how long it took in [s], without creating a simulation.

    Raises:
        HangError: It hangs.
        ModelError: A controller of the common world is none.
        PhysicsError: The common world cannot be simulated.
        ImportError: A library is not installed.
    """
    start = monotonic()
    mark = settings.mark(task)
    if has_ended_process(mark):  # which was not able to return that
        return _ended(settings), 0.0
    world = task.world
    known = world.key in _kept
    try:
        sim = _limited(partial(_simulation, world), settings, mark, _CREATION)
        start = start if known else monotonic()
        returned = partial(_returned, sim, run, task.case, settings.case_bytes)
        result = _limited(returned, settings, mark)
    except CaseTimeoutError:
        _limited(partial(_discard, world.key), settings, mark, _CREATION)  # it may have any state
        result = CaseResult(error=_too_long(settings), fingerprint=fingerprint())
    except Exception as error:
        if world.common or isinstance(error, ImportError | HangError):
            raise
        result = CaseResult(error=f"world: {described(error)}", fingerprint=fingerprint())
    return result, monotonic() - start


def _limited(call: Callable[[], _T], settings: Settings, mark: Path, least: float = 0.0) -> _T:
    """Call a function, with the time limit of a case or a longer one.

    A process that is not the caller ends if it cannot be interrupted, which leaves a mark.
    """
    if settings.timeout is None:
        return call()
    seconds = max(settings.timeout, least)
    if this_process() == settings.caller:
        return limited(call, seconds, None)
    with process_limit(seconds + 2.0 * _PATIENCE, mark):
        return limited(call, seconds, _PATIENCE)


def _too_long(settings: Settings) -> str:
    return f"it took longer than {settings.timeout:g} s"


def _ended(settings: Settings) -> CaseResult:
    return CaseResult(error=f"{_too_long(settings)}, and its worker process was ended")


def _returned(sim: Simulation, run: Run, case: Case, limit: int) -> CaseResult:
    try:
        values = checked_values(run(sim, dict(case)), case, limit)
        if failures := sim.controllers.failures:
            return CaseResult({}, "; ".join(failures)[:MAX_ERROR], "", fingerprint())
        return CaseResult(values, "", sim.state_hash(), fingerprint())
    except (Exception, SystemExit) as error:  # the latter would end the process of the caller
        return CaseResult({}, described(error), "", fingerprint())


def _simulation(world: PackedWorld) -> Simulation:
    kept = _kept.get(world.key)
    if kept is not None:
        try:
            kept.restore()
            usable = not kept.simulation.controllers.failures  # these do not end with a restore
        except Exception:  # such as bodies that were added, or a failed engine
            usable = False
        if not usable:
            _discard(world.key)
            kept = None
    if kept is None:
        while len(_kept) >= _MAX_KEPT:
            _discard(next(iter(_kept)))
        kept = _new(world.unpack())
    else:
        del _kept[world.key]
    _kept[world.key] = kept
    return kept.simulation


def _discard(key: str) -> None:
    """Close a simulation if there is one, whatever its state."""
    kept = _kept.pop(key, None)
    if kept is not None:
        with suppress(Exception):
            kept.simulation.close()


def _new(config: WorldConfig) -> InitialState:
    # Warnings would come from each worker; failures of controllers are errors of cases.
    sim = Simulation(config, diagnostics=Diagnostics.silent())
    try:
        return InitialState(sim)
    except BaseException:
        sim.close()
        raise
