"""Set up a run of ``hrp-sim run``, with or without ROS."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from hrp_model import Diagnostic, ModelError, Severity
from hrp_model.files.file_watch import without_recording
from hrp_model.program.command import UsageError, missing_ros
from hrp_model.program.console import print_message, print_note, working
from hrp_model.program.outputs import writing
from hrp_msgs.names import NameCollisionError

from ..engine.engine import PhysicsError
from ..engine.schedule import NS_PER_S
from ..engine.snapshot import Snapshot
from ..run.reload import Reloader
from ..run.run import Run
from ..run.summary import RunRecorder
from ..sensors.settings import OptionValue
from ..simulation import Simulation, build_simulation
from ..topics.run_recording import RunRecording
from ..world.control_file import with_controllers
from ..world.load import load_world
from ..world.reporting import print_severity, printed_warnings
from ..world.sensor_options import with_options
from .run_options import project_options, take_duration, with_physics_options
from .run_table import Listener, Row

if TYPE_CHECKING:
    from .run_page import RunPage


def open_recording(path: Path) -> RunRecording:
    """Open a recording; problems are printed when they occur.

    Raises:
        MissingLibraryError: A library for recordings is not installed.
        UsageError: The file cannot be written.
    """
    with writing():
        return RunRecording(path, warn=_warn, on_error=partial(_print, "error"))


def record_world(recording: RunRecording, world: str, run: Run) -> None:
    """Record a run without ROS, with all its images; to be called before it.

    Args:
        recording: The recording.
        world: The world as the user gave it.
        run: The run.

    Raises:
        ModelError: Two bodies or devices would have the same topic.
        OSError: The meshes of a description cannot be written.
    """
    from ..topics.world import recorded_world  # needs the messages

    with printed_warnings(world) as diagnostics, working(f"describing {world}"):
        try:
            recorded = recorded_world(recording, run.simulation, diagnostics, _warn)
        except NameCollisionError as error:
            problem = Diagnostic(Severity.ERROR, "name-collision", str(error))
            raise ModelError([problem]) from None
    run.keeps_images = True
    run.add(recorded)


def _warn(message: str) -> None:
    _print("warning", message)


def _print(severity: str, message: str) -> None:
    print_message(f"{severity}: {message}")


class RunSetup(ExitStack):
    """A simulation that is ready to run, without ROS; it is freed at the end of the block.

    Args:
        options: Of ``hrp-sim run``.
        page: The page that shows it, or None.

    Attributes:
        simulation: The simulation.
        hint: To print if its physics fails.
        problems: Of its world.
        real_time_factor: By default.
        reads_all: Whether sensors are read that nobody wants.
        reloader: Loads the world again when its files change, or None.

    Raises:
        ModelError, PhysicsError: The world, or the state to restore, cannot be used.
        OSError: A file cannot be read.
    """

    reads_all = True
    reloader: Reloader | None = None

    def __init__(self, options: argparse.Namespace, page: RunPage | None) -> None:
        super().__init__()
        self._options, self._page = options, page
        self.real_time_factor = 1.0 if options.view else 0.0
        if options.watch:
            self.reloader = Reloader(self._load_again)
        with nullcontext() if self.reloader is None else self.reloader.watch.recording():
            self.simulation, self.hint, self.problems = prepare(options)
        with self._undone_after_errors():
            self.callback(self.simulation.close)
            if self.reloader is not None:
                self.callback(self.reloader.close)
            restore(options, self.simulation)

    @contextmanager
    def _undone_after_errors(self) -> Iterator[None]:
        with ExitStack() as undo:
            undo.push(self)
            yield
            undo.pop_all()

    def serve(self, run: Run) -> RunRecording | None:
        """Connect a run to what it is set up for; return its recording, if there is one.

        Raises:
            ModelError: Two bodies or devices would have the same topic.
            OSError: The meshes of a description cannot be written.
        """
        run.paused = self._options.paused
        if not self._options.record:
            return None
        recording = self.enter_context(closing(open_recording(self._options.record)))
        record_world(recording, self._options.world, run)
        return recording

    def rows(self, recorder: RunRecorder) -> list[Row]:
        """Return the rows of the live table."""
        return [
            Row(
                name, type(sensor).__name__, recorder.counts[name], missing=_missing(recorder, name)
            )
            for name, sensor in recorder.simulation.sensors.items()
        ]

    def missed(self) -> list[str]:
        """Return what a listener has missed; not called for a run stopped before its end."""
        return []

    def _load_again(self) -> Simulation | None:
        """Load the world after its files have changed; show and print its problems."""
        options, page = self._options, self._page
        assert page is not None
        try:
            made = prepare(options)
        except (ModelError, PhysicsError) as error:
            kept = "the run goes on with the last world without errors"
            if isinstance(error, ModelError):
                print_severity(options.world, error.diagnostics, Severity.ERROR)
                page.show_problems(error.diagnostics, kept)
            else:
                print_message(f"error: {error}")
                page.show_problems((), f"{error}; {kept}")
            print_note(kept)
            return None
        page.show_problems(made.problems)
        print_note("the world was loaded again")
        return made.simulation


class RosRunSetup(RunSetup):
    """A simulation that is ready to run with the nodes of its world.

    Args:
        options: Of ``hrp-sim run``.

    Raises:
        ModelError, PhysicsError: The world, or the state to restore, cannot be used.
        UsageError: ROS is not installed, or cannot start.
        OSError: A file cannot be read or written.
    """

    reads_all = False
    real_time_factor = 1.0

    def __init__(self, options: argparse.Namespace) -> None:
        ExitStack.__init__(self)
        try:
            from ..ros.sim_node import RosSession, WrongUseError
        except ImportError as error:
            raise UsageError(missing_ros(error)) from None
        if options.strict:
            prepare(options).simulation.close()
        make_recording = partial(open_recording, options.record) if options.record else None
        try:
            self._session = session = RosSession(
                _parameters(options),
                make_recording=make_recording,
                prepare=partial(restore, options),
            )
        except WrongUseError as error:
            raise UsageError(str(error)) from None
        self._listener: Listener | None = None
        with self._undone_after_errors():
            self.callback(session.close)
            if options.listen:
                self._listener = Listener(
                    lambda: {k: n for k, (_, n) in session.published().items()}
                )
                self.callback(self._listener.close)
                self._listener.wait_for_discovery()
            take_duration(options, session.node.world)
        self.simulation = session.simulation
        self.hint, self.problems = session.node.failure_hint, session.node.problems

    def serve(self, run: Run) -> RunRecording | None:
        """Publish a run and offer its services; return its recording, if there is one."""
        self._session.serve(run)
        return self._session.node.recording

    def rows(self, recorder: RunRecorder) -> list[Row]:  # noqa: ARG002
        """Return the rows of the live table."""
        share: Callable[[str], float | None] = lambda _: None  # noqa: E731
        if self._listener is not None:
            share = self._listener.share
        totals, subscribed = sorted(self._session.published().items()), self._session.subscribed()
        return [
            Row(name, kind, count, share(name), "" if name in subscribed else "no subscriber")
            for name, (kind, count) in totals
        ]

    def missed(self) -> list[str]:
        """Return what the listener has missed."""
        if self._listener is None:
            return []
        self._listener.settle()
        return self._listener.missed()


def _missing(recorder: RunRecorder, sensor: str) -> str:
    """Return why a sensor has no reading, or nothing if it should have one."""
    if not recorder.simulation.is_enabled(sensor):
        return "switched off"
    period = 1.0 / recorder.simulation.sensors[sensor].rate_hz
    return f"every {period:.3g} s" if recorder.simulated_ns < period * NS_PER_S else ""


class Prepared(NamedTuple):
    """A simulation, a hint to print if its physics fails, and the problems of its world."""

    simulation: Simulation
    hint: str
    problems: Sequence[Diagnostic]


def prepare(options: argparse.Namespace) -> Prepared:
    """Make the simulation; warnings are printed, with --strict they are errors."""
    warnings = printed_warnings(options.world, strict=options.strict)
    with warnings as diagnostics, working(f"reading {options.world}"):
        world = load_world(options.world, diagnostics, project=project_options(options))
        take_duration(options, world)
        config = with_options(world, dict(options.sensor), diagnostics)
        config = with_physics_options(config, options)
        config = with_controllers(config, options.controller, diagnostics)
        if not options.run_controllers:
            config = replace(config, controllers=())
        diagnostics.raise_errors()
        simulation, hint = build_simulation(config, options.engine, diagnostics)
        diagnostics.raise_errors()
    return Prepared(simulation, hint, diagnostics.found)


def restore(options: argparse.Namespace, simulation: Simulation) -> None:
    """Restore a saved state, if one is given; errors name the file."""
    path: Path | None = options.restore
    if path is None:
        return
    with without_recording():  # --save may replace it
        snapshot = Snapshot.from_file(path)
    try:
        simulation.restore(snapshot)
    except PhysicsError as error:
        raise PhysicsError(f"'{path}': {error}") from None


def _parameters(options: argparse.Namespace) -> dict[str, OptionValue]:
    """Return the parameters of the node that have the effect of the options."""
    parameters: dict[str, OptionValue] = {
        "world": options.world,
        "engine": options.engine,
        "describe": True,
        "start_paused": options.paused,
        **dict(options.sensor),
    }
    if options.controller:
        parameters["python_controllers"] = " ".join(options.controller)
    if not options.run_controllers:
        parameters["run_controllers"] = "none"
    if options.solver:
        parameters["solver"] = options.solver
    if options.simulator:
        parameters["simulator"] = options.simulator
    if options.variables:
        given = [f"{name}={os.pathsep.join(folders)}" for name, folders in options.variables]
        parameters["variables"] = os.pathsep.join(given)
    for name in ("seed", "time_step", "joint_limits"):
        if (value := getattr(options, name)) is not None:
            parameters[name] = value
    return parameters
