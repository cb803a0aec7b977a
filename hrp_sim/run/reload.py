"""Load the world of a run again when its files change."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from contextlib import suppress

from hrp_model import Pose
from hrp_model.files.file_watch import FileWatch

from ..engine.engine import PhysicsError, Placement
from ..engine.state import SimulatedBody
from ..simulation import Simulation
from .run import NotRunningError, Run

_log = logging.getLogger("hrp_sim")

_PERIOD = 0.5  # [s] between looks at the files; one that changes in between is being written


class Reloader:
    """Replaces the simulation of a run when the files of its world change.

    Bodies keep their state if their joints are the same, and the clock goes on. A world that does
    not load changes nothing.

    Args:
        load: Makes the simulation, and reports its problems; None if it cannot be made. Called
            in the thread of the reloader.
    """

    def __init__(self, load: Callable[[], Simulation | None]) -> None:
        self.watch = FileWatch()
        self._load = load
        self._run: Run | None = None
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None
        self._loaded: Simulation | None = None

    def start(self, run: Run) -> None:
        """Look for changes of the files read within ``watch.recording()`` from now on."""
        self._run = run
        self._thread = threading.Thread(target=self._work, name="reload", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the thread, after the run; free the last simulation that it loaded."""
        self._closing.set()
        if self._thread is not None:
            self._thread.join()
        if self._loaded is not None:
            self._loaded.close()

    def _work(self) -> None:
        while not self._closing.wait(_PERIOD):
            if self.watch.has_changed():
                try:
                    self._reload()
                except Exception as error:  # the next change may repair it
                    _log.error("the world cannot be loaded again", exc_info=error)

    def _reload(self) -> None:
        assert self._run is not None
        before, self.watch = self.watch, FileWatch()
        simulation = None
        try:
            with self.watch.recording():
                simulation = self._load()
        finally:
            if simulation is None:  # files not read this time may still be part of the world
                self.watch.add_all(before)
        if simulation is None:
            return
        run, previous = self._run, self._run.simulation
        try:
            with suppress(NotRunningError):
                run.call(lambda: self._replace(simulation))
        finally:
            if run.simulation is simulation:
                self._loaded = simulation
                previous.close()
            else:
                simulation.close()

    def _replace(self, simulation: Simulation) -> None:
        """Replace the simulation in its present state; called in the stepping thread."""
        assert self._run is not None
        carry_over(self._run.simulation, simulation)
        self._run.replace(simulation)


def carry_over(before: Simulation, simulation: Simulation) -> None:
    """Give a new simulation the time and the states of another one.

    A body gets the joint positions and velocities of the body of its name if both have the same
    joints, and the motion of its root unless that is fixed. Other bodies, and states that the new
    model does not permit, stay as in the world file.
    """
    simulation.retime(before.state.time_ns)
    for name, body in simulation.bodies.items():
        last = before.bodies.get(name)
        if last is None or body.body.is_static or _joints(last) != _joints(body):
            continue
        fixed = simulation.is_fixed(name)
        root = body if fixed else last
        placement = Placement(
            name=name,
            body=body.body,
            X_WL=Pose(root.motion.R[0], root.motion.p[0]),
            q=last.motion.q.copy(),
            dq=last.motion.dq.copy(),
            v=root.motion.v[0].copy(),
            w=root.motion.w[0].copy(),
            fixed=fixed,
        )
        try:
            simulation.move(placement)
        except PhysicsError:
            continue


def _joints(simulated: SimulatedBody) -> list[tuple[str, str]]:
    return [(link.joint.name, link.joint.type.value) for link in simulated.body.moving_links]
