"""The course of ``hrp-sim run``: steps with a live table, and the result."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from rich.live import Live

from hrp_model import Diagnostic
from hrp_model.files.writer import is_special
from hrp_model.program.command import GOOD, PROBLEMS, StopSignals, UsageError
from hrp_model.program.console import output_console, print_data, print_message
from hrp_model.program.outputs import Kind, Output, check_outputs, report_written, writing

from ..run.reload import Reloader
from ..run.run import Run
from ..run.summary import (
    Expectation,
    RunRecorder,
    quantities,
    result_lines,
    result_object,
    result_of,
    speed_lines,
    values,
)
from ..simulation import Simulation
from ..topics.run_recording import RunRecording
from .live_table import LiveTable, Row
from .trace import TraceWriter

if TYPE_CHECKING:
    from .run_page import RunPage

REFRESH_HZ = 4


@dataclass(frozen=True)
class RunSetup:
    """A simulation that is ready to run, alone or with ROS.

    Attributes:
        simulation: The simulation.
        hint: To print if its physics fails.
        problems: Of its world.
        real_time_factor: By default.
        reads_all: Whether sensors are read that nobody wants.
        rows: Returns the rows of the live table.
        serve: Connects a run to its consumers; returns its recording, if there is one.
        missed: Returns problems of the listener; not called for a run stopped before its end.
        reloader: Loads the world again when its files change, or None.
    """

    simulation: Simulation
    hint: str
    problems: Sequence[Diagnostic]
    real_time_factor: float
    reads_all: bool
    rows: Callable[[RunRecorder], list[Row]]
    serve: Callable[[Run], RunRecording | None]
    missed: Callable[[], list[str]] = list
    reloader: Reloader | None = None


class RunCourse:
    """A run from its first step to its result.

    Args:
        options: Of ``hrp-sim run``.
        setup: What runs.
        page: The page that shows it, or None.

    Raises:
        ExpectationError: An expectation is invalid.
        UsageError: An output must not or cannot be written.
    """

    def __init__(self, options: argparse.Namespace, setup: RunSetup, page: RunPage | None) -> None:
        self._options, self._setup, self._page = options, setup, page
        measurable = quantities(setup.simulation) if options.expect else {}
        self._expectations = [Expectation.parse(text, measurable) for text in options.expect]
        check_run_outputs(options)  # again, since now all input files are known
        self._recorder = RunRecorder(setup.simulation, reads_all=setup.reads_all)

    def run(self, signals: StopSignals) -> int:
        """Run to the end, or until a signal, and print the result; return the exit status."""
        options, setup, page = self._options, self._setup, self._page
        is_live = output_console().is_terminal and not options.json
        with ExitStack() as stack:
            runner = self._make_runner(stack)
            recording = setup.serve(runner)
            if recording is not None:
                stack.callback(recording.close)
            if page is not None:
                page.serve(runner, setup.problems, setup.hint, setup.reloader)
                stack.callback(page.end, runner)
            signals.stop(runner.stop)
            table = LiveTable(
                options.world,
                runner,
                lambda: setup.rows(self._recorder),
                listening=options.listen,
            )
            live = Live(
                table, console=output_console(), refresh_per_second=REFRESH_HZ, transient=True
            )
            if is_live and options.duration is None:
                print_message("Ctrl-C ends the run", "dim")
            start = time.monotonic()
            with live if is_live else nullcontext():
                runner.run()
            runner.finish_images()
            elapsed = time.monotonic() - start
        has_failed = bool(runner.simulation.controllers.failures)  # printed when it happened
        failures = [] if runner.stopped else setup.missed()
        if options.save:
            self._save(runner, signals)
        failures += self._finish(runner, elapsed, table, recording)
        for failure in failures:
            print_message(f"error: {failure}")
        has_failed |= recording is not None and recording.error != ""  # likewise
        return PROBLEMS if failures or has_failed else GOOD

    def _make_runner(self, stack: ExitStack) -> Run:
        """Return the runner, whose steps are recorded and traced."""
        options, simulation = self._options, self._setup.simulation
        step = simulation.engine.settings.time_step
        if options.duration is not None and options.duration < step:
            print_message(f"warning: --duration is less than one step of {step:g} s")
        # With somebody to reset it, a run without an end goes on after a failure.
        page = None if options.duration else self._page
        on_failure = None if page is None else partial(page.report, self._setup.hint)
        factor = self._setup.real_time_factor if options.rtf is None else options.rtf
        runner = stack.enter_context(
            Run(
                simulation,
                [self._recorder],
                real_time_factor=factor,
                duration=options.duration,
                on_failure=on_failure,
            )
        )
        if options.trace:
            runner.add(stack.enter_context(TraceWriter(options.trace, options.every)))
        return runner

    def _save(self, runner: Run, signals: StopSignals) -> None:
        """Save the state; a signal ends the wait for the reader of a pipe."""
        path = self._options.save
        with writing(), signals.interrupting() if is_special(path) else nullcontext():
            runner.simulation.save().to_file(path)

    def _finish(
        self, runner: Run, elapsed: float, table: LiveTable, recording: RunRecording | None
    ) -> list[str]:
        """Print the result of a run; return what has failed in it."""
        options = self._options
        self._recorder.follow(runner.simulation)  # a service may have loaded another world
        error = "" if runner.error is None else str(runner.error)
        result = result_of(self._recorder, options.world, elapsed, error)
        recorded = None if recording is None else recording.summary
        measured = values(result) if self._expectations else {}
        outcomes = [expectation.evaluate(measured) for expectation in self._expectations]
        if options.json:
            content = result_object(result, outcomes, recorded)
            print_data(f"{json.dumps(content, indent=1, allow_nan=False)}\n")
        else:
            console = output_console()
            console.print(table)
            lines = (*result_lines(result, recorded), *speed_lines(result))
            console.print("\n".join(lines), soft_wrap=True)
        report_written(path for path in (options.save, options.trace, options.record) if path)
        failed = [str(outcome) for outcome in outcomes if not outcome.holds]
        return [f"{error}\nhint: {self._setup.hint}", *failed] if error else failed


def check_run_outputs(options: argparse.Namespace) -> None:
    """Check that all outputs can be written, before a long run.

    Raises:
        UsageError: An output must not or cannot be written, or the engine has no states to save.
    """
    if options.engine == "pyode" and (options.save or options.restore):
        raise UsageError("the engine 'pyode' cannot save or restore states; use --engine ode")
    save = Output("--save", options.save, Kind.STATE)
    trace = Output("--trace", options.trace, Kind.TRACE)
    record = Output("--record", options.record, Kind.RECORDING)
    check_outputs([save, trace, record], inputs=[options.world], force=options.force)
    if options.restore:  # which --save may replace
        check_outputs([trace, record], inputs=[options.restore], force=options.force)
