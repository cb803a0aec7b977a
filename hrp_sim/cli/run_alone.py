"""Set up a run of ``hrp-sim run`` without ROS."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from hrp_model import Diagnostic, ModelError, Severity
from hrp_model.files.file_watch import without_recording
from hrp_model.program.console import print_message, print_note, working

from ..engine.engine import PhysicsError
from ..engine.snapshot import Snapshot
from ..run.build import build_simulation
from ..run.reload import Reloader
from ..run.run import Run
from ..run.summary import RunRecorder
from ..simulation import Simulation
from ..topics.run_recording import RunRecording
from ..world.control_file import with_controllers
from ..world.load import load_world
from ..world.reporting import print_severity, printed_warnings
from ..world.sensor_options import with_options
from .live_table import Row
from .record import open_recording, record_world
from .run_course import RunSetup
from .run_options import project_options, take_duration, with_physics_options

if TYPE_CHECKING:
    from .run_page import RunPage


@contextmanager
def set_up_alone(options: argparse.Namespace, page: RunPage | None) -> Iterator[RunSetup]:
    """Set up a run without ROS, and free it at the end.

    Raises:
        ModelError, PhysicsError: The world, or the state to restore, cannot be used.
        OSError: A file cannot be read.
    """

    def load_again() -> Simulation | None:
        """Load the world after its files have changed; show and print its problems."""
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

    with ExitStack() as stack:
        reloader = Reloader(load_again) if options.watch else None
        with nullcontext() if reloader is None else reloader.watch.recording():
            made = prepare(options)
        simulation = stack.enter_context(closing(made.simulation))
        if reloader is not None:
            stack.callback(reloader.close)
        restore(options, simulation)

        def rows(recorder: RunRecorder) -> list[Row]:
            counts, sensors = recorder.counts, recorder.simulation.sensors
            return [Row(k, type(s).__name__, counts[k]) for k, s in sensors.items()]

        def serve(runner: Run) -> RunRecording | None:
            runner.paused = options.paused
            if not options.record:
                return None
            recording = stack.enter_context(closing(open_recording(options.record)))
            record_world(recording, options.world, runner)
            return recording

        yield RunSetup(
            simulation,
            made.hint,
            made.problems,
            real_time_factor=1.0 if options.view else 0.0,
            reads_all=True,
            rows=rows,
            serve=serve,
            reloader=reloader,
        )


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
