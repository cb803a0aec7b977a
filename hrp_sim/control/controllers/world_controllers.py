"""The controllers and force hooks of a world."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from hrp_model import Diagnostics
from hrp_model.diagnostics import names_with_hint

from ...engine.engine import AnyArray, Engine, PhysicsError, Placement, StepInterrupted
from ...engine.schedule import NEVER_NS, NS_PER_S
from ...engine.state import ByName
from ...sensors import CameraSensor, Reading, RenderRequest
from ..command_queue import CommandQueue
from .classes import (
    Controller,
    ControllerClassError,
    ControllerEntry,
    ForceHook,
    Plugin,
    load_class,
    rate_problem,
)
from .io import ControllerIO, DeviceWorld, ForceState, name_in_world
from .running_controller import FAILURES, RunningController, described


class _Interrupted(BaseException):  # so that controllers do not catch it by accident
    """Raised by a signal handler, to leave a controller that blocks."""


class WorldControllers:
    """Runs the controllers and force hooks of a world.

    Args:
        engine: Provides state and time.
        commands: Receives the targets of joints.
        world: Has the sensors and other devices.
        diagnostics: Receives a warning about each controller that fails.

    Attributes:
        next_ns: When ``control`` must be called next, in [ns].
        hooks: The force hooks that act on the next step.
        sensors: Names of the sensors that controllers have enabled.
    """

    def __init__(
        self,
        engine: Engine,
        commands: CommandQueue,
        world: DeviceWorld,
        diagnostics: Diagnostics,
    ) -> None:
        self._engine, self._commands, self._world = engine, commands, world
        self._diagnostics = diagnostics
        self._runs: list[RunningController] = []
        self._failed: list[str] = []  # those that could not be imported
        self._calling: int | None = None  # identifier of the thread that executes controllers
        self._update()

    @property
    def failures(self) -> list[str]:
        """Controllers that have failed, with the reasons."""
        return [*self._failed, *(f"controller {r}: {r.failure}" for r in self._runs if r.failure)]

    @property
    def plugins(self) -> list[Plugin]:
        """All controllers and force hooks."""
        return [run.plugin for run in self._runs]

    def check_outside(self) -> None:
        """Check that no controller is being executed, so that the world may change.

        Raises:
            RuntimeError: A controller or force hook is, and calls the simulation.
        """
        if self._calling is not None:
            raise RuntimeError("controllers and force hooks cannot step or change the simulation")

    def add_entries(self, entries: Sequence[ControllerEntry]) -> None:
        """Add the controllers of a configuration; one that cannot be imported is left out.

        Raises:
            ModelError: An entry names no body or no controller class.
        """
        found = Diagnostics(listener=self._diagnostics.add)
        for entry in entries:
            self._add_entry(entry, found)
        found.raise_errors()

    def add(
        self,
        body: str,
        plugin: Plugin,
        rate: float | None,
        args: Mapping[str, object],
        entry: ControllerEntry | None = None,
    ) -> None:
        """Add a controller or force hook, and start it.

        Raises:
            KeyError: There is no such body.
            TypeError: It is neither a controller nor a force hook.
            ValueError: The rate is out of range.
        """
        self.check_outside()
        if not isinstance(plugin, Controller | ForceHook):
            raise TypeError(f"a Controller or ForceHook is needed, not {plugin!r:.100}")
        if rate is not None and (problem := rate_problem(rate)):
            raise ValueError(problem)
        target = ByName("body", self._engine.state.bodies)[body]
        joints = None if target.body.is_static else self._commands.controller(body)
        step = self._engine.settings.time_step
        run = RunningController(
            plugin,
            ControllerIO(
                target,
                self._engine,
                joints,
                lambda sensor: self._sensor(body, sensor),
                self._world,
                step if rate is None else max(step, 1.0 / rate),
                args,
                Path.cwd() if entry is None else entry.folder,
            ),
            ForceState(target),
            self._engine,
            rate,
            self._diagnostics,
            type(plugin).__name__ if entry is None else entry.class_name,
            None if entry is None else entry.at,
            on_end=self._change,
        )
        self._runs.append(run)
        with self._executing():
            run.initialize()

    def remove(self, plugin: Plugin) -> None:
        """Stop and remove a controller.

        Raises:
            KeyError: It was not added.
        """
        self.check_outside()
        found = [run for run in self._runs if run.plugin is plugin]
        if not found:
            raise KeyError(f"{type(plugin).__name__} is no controller of this world")
        self._remove(found)

    def remove_body(self, body: str) -> None:
        """Stop and remove the controllers of a body, which has been removed."""
        self._remove([run for run in self._runs if run.io.body == body])

    def control(self, time_ns: int) -> None:
        """Call the controllers that are due before the step from a time, in [ns].

        Raises:
            StepInterrupted: ``interrupt`` has left a controller.
        """
        # As ``_executing``, which takes as long as all of this.
        self._calling = threading.get_ident()
        next_ns = NEVER_NS
        try:
            for run in self._runs:
                if time_ns >= run.next_ns:
                    run.control(time_ns)
                if run.next_ns < next_ns:
                    next_ns = run.next_ns
        except _Interrupted:
            raise StepInterrupted from None
        finally:
            self._calling = None
        self.next_ns = next_ns
        if self._has_changed:
            self._update()
        for run in self._runs:
            self._place(run)

    def _place(self, run: RunningController) -> None:
        """Teleport a body as its controller has asked for."""
        if run.io.place_at is None:
            return
        (pose, q), run.io.place_at = run.io.place_at, None
        name, fixed = run.io.body, self._world.is_fixed(run.io.body)
        try:
            self._world.move(Placement(name=name, body=run.io.model, X_WL=pose, q=q, fixed=fixed))
        except (PhysicsError, ValueError) as error:
            run.fail(f"place() failed: {error}")
            self._update()

    @contextmanager
    def applied(self, step_ns: int) -> Iterator[None]:
        """Let the force hooks add to a step of a length in [ns].

        Raises:
            StepInterrupted: ``interrupt`` has left a hook.
        """
        begun: list[RunningController] = []  # also one that is interrupted
        try:
            with self._executing():
                for run in self.hooks:
                    begun.append(run)
                    run.apply(step_ns / NS_PER_S)
            yield
        finally:
            for run in reversed(begun):
                run.take_back()

    def take(self, readings: Mapping[str, Reading]) -> None:
        """Keep the new readings of enabled sensors."""
        for name in readings.keys() & self.sensors:
            reading = readings[name]
            if isinstance(reading, RenderRequest):
                camera = self._world.sensors[name]
                assert isinstance(camera, CameraSensor)
                reading = camera.render(reading)
            for run in self._runs:
                if name in run.io.enabled:
                    run.io.readings[name] = reading

    def interrupt(self) -> None:
        """Leave a controller that is being executed in this thread; called by signal handlers."""
        if self._calling == threading.get_ident():
            raise _Interrupted

    def stop(self) -> None:
        """Stop all controllers, until ``restart``."""
        self.check_outside()
        with self._executing():
            for run in self._runs:
                run.stop()

    def restart(self) -> None:
        """Start all controllers again, at the present time."""
        with self._executing():
            for run in self._runs:
                run.restart()

    def retime(self, time_ns: int) -> None:
        """Continue at another clock time, in [ns]."""
        for run in self._runs:
            run.retime(time_ns)
        self._update()

    def close(self) -> None:
        """Stop all controllers."""
        self._remove(list(self._runs))

    def save(self) -> dict[str, AnyArray]:
        """Return the state of the controllers by name, for ``check`` and ``restore``."""
        with self._executing():
            return {
                f"{key}/{name}": array
                for key, run in self._by_key().items()
                for name, array in run.save().items()
            }

    def check(self, arrays: Mapping[str, AnyArray]) -> dict[str, dict[str, AnyArray]]:
        """Validate a saved state and return it for ``restore``.

        Raises:
            PhysicsError: It does not match the controllers of this world.
        """
        states: dict[str, dict[str, AnyArray]] = {}
        for name, array in arrays.items():
            key, _, rest = name.partition("/")
            states.setdefault(key, {})[rest] = array
        runs = self._by_key()
        if states.keys() != runs.keys():
            theirs, ours = (", ".join(sorted(k)) or "none" for k in (states, runs))
            raise PhysicsError(
                f"the snapshot has other controllers: {theirs}; the world has {ours}"
            )
        for key, run in runs.items():
            run.check(states[key])
        return states

    def restore(self, states: Mapping[str, Mapping[str, AnyArray]]) -> None:
        """Go back to a saved state."""
        with self._executing():
            for key, run in self._by_key().items():
                run.restore(states[key])

    def _add_entry(self, entry: ControllerEntry, found: Diagnostics) -> None:
        """Add the controller of an entry; report what is wrong with it."""
        name = f"controller '{entry.class_name}' of body '{entry.body}'"
        if entry.body not in (bodies := self._engine.state.bodies):
            there_is = names_with_hint(entry.body, bodies)
            found.error(
                "bad-controller", f"{name}: there is no such body, but {there_is}", entry.at
            )
            return
        try:
            with self._executing():
                plugin = load_class(entry)()
        except ControllerClassError as error:
            found.error("bad-controller", str(error), entry.at)
            return
        except FAILURES as error:
            self._failed.append(f"{name}: it cannot be imported: {described(error)}")
            found.warn("controller-failed", self._failed[-1], entry.at)
            return
        self.add(entry.body, plugin, entry.rate, entry.args, entry)

    def _sensor(self, body: str, name: str) -> str:
        """Return the name in the world of a sensor of a body."""
        key = name_in_world(self._world.sensors, body, name, "sensor")
        self._has_changed = True
        return key

    def _remove(self, runs: Sequence[RunningController]) -> None:
        self._runs = [run for run in self._runs if run not in runs]
        with self._executing():
            for run in runs:
                run.stop()

    def _by_key(self) -> dict[str, RunningController]:
        """Return the controllers by unique names for snapshots."""
        keys: dict[str, RunningController] = {}
        for run in self._runs:
            stem = quote(f"{run.io.body}:{run.name}", safe=":")
            count = sum(key.rpartition("#")[0] == stem for key in keys)
            keys[f"{stem}#{count}"] = run
        return keys

    @contextmanager
    def _executing(self) -> Iterator[None]:
        """Let ``interrupt`` leave the code of users in a ``with`` block."""
        self._calling = threading.get_ident()
        try:
            yield
        except _Interrupted:
            raise StepInterrupted from None
        finally:
            self._calling = None
            self._update()

    def _change(self) -> None:
        self._has_changed = True

    def _update(self) -> None:
        self._has_changed = False
        self.next_ns = min((run.next_ns for run in self._runs), default=NEVER_NS)
        self.hooks = [run for run in self._runs if run.applies]
        self.sensors = frozenset().union(*(run.io.enabled for run in self._runs))
