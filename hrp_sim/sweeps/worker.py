"""Run cases in a process, which keeps its simulations from case to case."""

from __future__ import annotations

import pickle
import threading
from dataclasses import dataclass

from hrp_model import Diagnostics

from ..controllers.base import Plugin
from ..physics.snapshot import Snapshot
from ..simulation import Simulation
from ..world.config import WorldConfig
from .case import MAX_ERROR, Case, CaseResult, Run, checked_values, described
from .fingerprint import fingerprint

_MAX_KEPT = 4  # simulations


@dataclass(frozen=True)
class _Kept:
    """A simulation, its initial state and its own controllers."""

    simulation: Simulation
    initial: Snapshot
    plugins: tuple[Plugin, ...]

    def restore(self) -> None:
        """Go back to the initial state.

        Raises:
            Exception: A case has changed more than can be restored.
        """
        sim = self.simulation
        sim.wanted, sim.switched = _always, _ignore
        for plugin in sim.controllers.plugins:
            if not any(plugin is own for own in self.plugins):
                sim.remove_controller(plugin)
        sim.restore(self.initial)


def _always(_name: str) -> bool:
    return True


def _ignore(_name: str, _on: bool) -> None:
    pass


_kept: dict[str, _Kept] = {}  # by world, the last used at the end
# ODE has one random state for the whole process, so only one thread may step, also where an
# executor has several threads.
_lock = threading.Lock()


def run_case(world: bytes, key: str, run: Run, case: Case, limit: int) -> CaseResult:
    """Run a case, from the initial state of its world.

    Args:
        world: A pickled ``WorldConfig``.
        key: Its content hash.
        run: Simulates the case and returns its values. What it raises is the error of the result.
        case: The case.
        limit: Maximum size of the values, in [byte].

    Raises:
        ModelError: A controller of the world is none.
        PhysicsError: The world cannot be simulated.
        MissingLibraryError: ODE is not installed.
    """
    with _lock:
        sim = _simulation(world, key)
        try:
            values = checked_values(run(sim, dict(case)), case, limit)
            if failures := sim.controllers.failures:
                return CaseResult({}, "; ".join(failures)[:MAX_ERROR], "", fingerprint())
            return CaseResult(values, "", sim.state_hash(), fingerprint())
        except Exception as error:
            return CaseResult({}, described(error), "", fingerprint())


def forget_simulations() -> None:
    """Close the simulations that this process keeps."""
    with _lock:
        while _kept:
            _kept.popitem()[1].simulation.close()


def _simulation(world: bytes, key: str) -> Simulation:
    kept = _kept.pop(key, None)
    if kept is not None:
        try:
            kept.restore()
            usable = not kept.simulation.controllers.failures  # these do not end with a restore
        except Exception:  # such as bodies that were added, or a failed engine
            usable = False
        if not usable:
            kept.simulation.close()
            kept = None
    if kept is None:
        while len(_kept) >= _MAX_KEPT:
            _kept.pop(next(iter(_kept))).simulation.close()
        kept = _new(world)
    _kept[key] = kept
    return kept.simulation


def _new(world: bytes) -> _Kept:
    config = pickle.loads(world)  # from the process that called ``sweep``, as the function to run
    assert isinstance(config, WorldConfig)
    # Warnings would come from each worker; failures of controllers are errors of cases.
    sim = Simulation(config, diagnostics=Diagnostics(listener=lambda _found: None))
    try:
        kept = _Kept(sim, sim.save(), tuple(sim.controllers.plugins))
        kept.restore()  # so that the first case starts exactly as the others
    except BaseException:
        sim.close()
        raise
    return kept
