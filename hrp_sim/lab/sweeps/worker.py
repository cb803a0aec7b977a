"""Run cases in this process, which keeps its simulations; and what their results depend on."""

from __future__ import annotations

import hashlib
import pickle
import platform
import threading
import zlib
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from functools import cache
from pathlib import Path, PurePath
from time import perf_counter

import numpy as np

from hrp_model import Diagnostics, __version__
from hrp_model.diagnostics import Span
from hrp_model.late_dataclass import dataclass

from ...simulation import InitialState, Simulation
from ...world.config import WorldConfig
from .case import MAX_ERROR, Case, CaseResult, Run, checked_values, described

_MAX_KEPT = 4  # simulations
_LEVEL = 1  # of compression: a fifth of the size; higher levels save little and take long


@dataclass(frozen=True, eq=False)
class PackedWorld:
    """A world as it is sent to workers.

    Attributes:
        key: Its content hash.
        content: The ``WorldConfig``, pickled and compressed.
        common: Whether all cases have it, so that nothing runs if it cannot be simulated.
    """

    key: str
    content: bytes
    common: bool

    @classmethod
    def of(cls, config: WorldConfig, *, common: bool) -> PackedWorld:
        """Pack a world, which takes 3 ms for that of a humanoid."""
        return cls(content_hash(config), zlib.compress(pickle.dumps(config), _LEVEL), common)

    def unpack(self) -> WorldConfig:
        """Return the configuration; its bytes come from the process that called ``sweep``."""
        config = pickle.loads(zlib.decompress(self.content))
        assert isinstance(config, WorldConfig)
        return config


@dataclass(frozen=True, eq=False)
class Task:
    """A case to run, by index, and its world."""

    index: int
    case: Case
    world: PackedWorld


_kept: dict[str, InitialState] = {}  # by world, the last used at the end
# ODE has one random state for the whole process, so only one thread may step, also where an
# executor has several threads.
_lock = threading.Lock()


def run_cases(run: Run, tasks: Sequence[Task], case_bytes: int) -> list[CaseResult]:
    """Run cases one after another, each from the initial state of its world: see ``run_case``."""
    with _lock:
        return [run_case(run, task, case_bytes) for task in tasks]


def run_case(
    run: Run, task: Task, case_bytes: int, on_start: Callable[[], None] | None = None
) -> CaseResult:
    """Run a case.

    Args:
        run: Simulates a case and returns its values. What it raises is the error of the result.
        task: The case and its world.
        case_bytes: Maximum size of the values, in [byte].
        on_start: Called when the simulation is ready, before ``run`` is.

    Raises:
        ModelError: A controller of the common world is none.
        PhysicsError: The common world cannot be simulated.
        ImportError: A library is not installed.
    """
    try:
        sim = _simulation(task.world)
    except Exception as error:
        if task.world.common or isinstance(error, ImportError):
            raise
        return CaseResult(error=f"world: {described(error)}", fingerprint=fingerprint())
    if on_start is not None:
        on_start()
    start = perf_counter()
    result = _returned(sim, run, task.case, case_bytes)
    return replace(result, seconds=perf_counter() - start)


def forget_simulations() -> None:
    """Close the simulations that this process keeps."""
    with _lock:
        while _kept:
            _discard(next(iter(_kept)))


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
    """Close a simulation, whatever its state."""
    with suppress(Exception):
        _kept.pop(key).simulation.close()


def _new(config: WorldConfig) -> InitialState:
    # Warnings would come from each worker; failures of controllers are errors of cases.
    sim = Simulation(config, diagnostics=Diagnostics.silent())
    try:
        return InitialState(sim)
    except BaseException:
        sim.close()
        raise


def content_hash(thing: object) -> str:
    """Return the SHA-256 of dataclasses, arrays, containers and plain values.

    Not that of pickled bytes: these differ between processes, since they depend on the order of
    sets and on which objects are identical. Places in files do not count.

    Raises:
        TypeError: It contains something else.
    """
    return _digest(thing, {}).hex()


def _digest(thing: object, known: dict[int, bytes]) -> bytes:
    """Return the hash of an object; ``known`` holds those of shared objects by identity."""
    digest = known.get(id(thing))
    if digest is None:
        sha = hashlib.sha256(type(thing).__qualname__.encode())
        for part in _parts(thing, known):
            sha.update(len(part).to_bytes(8, "little") + part)
        digest = known[id(thing)] = sha.digest()
    return digest


def _parts(thing: object, known: dict[int, bytes]) -> list[bytes]:
    if thing is None or isinstance(thing, Span):
        return []
    if isinstance(thing, Enum):
        return [thing.name.encode()]
    if isinstance(thing, bool | int | float | str | PurePath):
        return [repr(thing).encode()]
    if isinstance(thing, bytes):
        return [thing]
    if isinstance(thing, np.ndarray | np.generic) and thing.dtype.kind in "biufU":
        return [thing.dtype.str.encode(), repr(thing.shape).encode(), thing.tobytes()]
    if isinstance(thing, AbstractSet):
        return sorted(_digest(item, known) for item in thing)
    if isinstance(thing, Mapping):
        return [_digest(item, known) for pair in thing.items() for item in pair]
    if isinstance(thing, list | tuple):
        return [_digest(item, known) for item in thing]
    if is_dataclass(thing):
        # Fields that are not arguments are caches.
        return [_digest(getattr(thing, f.name), known) for f in fields(thing) if f.init]
    raise TypeError(f"a {type(thing).__name__} has no content hash")


@cache
def fingerprint() -> str:
    """Return the versions of hrp_ros, Python and numpy, the hash of the ODE library, and the CPU.

    Results of equal fingerprints can be compared to the last bit. To be called once ODE is
    loaded.
    """
    python = ".".join(platform.python_version_tuple()[:2])
    return f"hrp_ros {__version__}, ODE {_ode()}, numpy {np.__version__}, Python {python}, {_cpu()}"


def _ode() -> str:
    """Return the start of the hash of the library's file, as this process has loaded it."""
    with suppress(OSError):
        for line in Path("/proc/self/maps").read_text(errors="replace").splitlines():
            path = Path(line.split(maxsplit=5)[-1])
            if path.name.startswith(("libode.", "libode-")):  # a wheel's has a hash in its name
                return hashlib.sha256(path.read_bytes()).hexdigest()[:12]
    return "unknown"


def _cpu() -> str:
    machine = platform.machine()
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(errors="replace").splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return f"{machine} {value.strip()}"
    return machine
