"""``hrp-sim run``: simulate a world with a live table, with or without ROS."""

from __future__ import annotations

import argparse
import json
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import AbstractContextManager, ExitStack, nullcontext
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from hrp_model.files.writer import is_special, naming, open_stream
from hrp_model.program.command import GOOD, PROBLEMS, StopSignals, UsageError
from hrp_model.program.console import (
    is_terminal,
    print_data,
    print_message,
    print_note,
    print_text,
)
from hrp_model.program.outputs import Kind, Output, check_outputs, report_written, writing

from ..engine.schedule import NS_PER_S
from ..engine.state import SimulatedBody, WorldState
from ..run.run import Consumer, Run
from ..run.summary import (
    Expectation,
    RunRecorder,
    meters,
    quantities,
    result_lines,
    result_object,
    result_of,
    speed_lines,
)
from ..sensors import Reading
from ..simulation import Simulation
from ..topics.run_recording import RunRecording
from .run_setup import RosRunSetup, RunSetup
from .run_table import LiveTable

if TYPE_CHECKING:
    from .run_page import RunPage


class TraceWriter(Consumer):
    """Consumer of a run that writes the initial state, then the state at every period.

    Args:
        path: File to write; an existing file is replaced, a device or pipe written to.
        period: A line is written at the first step at or after each multiple of this
            simulation time, in [s]; None writes every step.

    Raises:
        OSError: The file cannot be written.
    """

    def __init__(self, path: Path, period: float | None = None) -> None:
        self._path = path
        self._file = open_stream(path)
        self._period_ns = 0 if period is None else round(period * NS_PER_S)
        self._next_ns = self._last_ns = 0

    def attach(self, run: Run) -> None:
        """Write the initial state of a run."""
        self._run = run
        self.write(run.simulation.state)

    def next_ns(self, simulation: Simulation) -> int:  # noqa: ARG002
        """Return the time of the next line, in [ns]."""
        return self._next_ns

    def take_step(self, time_ns: int, readings: Mapping[str, Reading]) -> None:  # noqa: ARG002
        """Write a line after a step if one is due."""
        self.write(self._run.simulation.state)

    def write(self, state: WorldState) -> None:
        """Write a line if one is due.

        Raises:
            OSError: The file cannot be written; the message names it.
        """
        if state.time_ns < self._last_ns:  # after a reset
            self._next_ns = 0
        self._last_ns = state.time_ns
        if state.time_ns < self._next_ns:
            return
        if self._period_ns:
            self._next_ns = (state.time_ns // self._period_ns + 1) * self._period_ns
        bodies = {name: _motion(simulated) for name, simulated in state.bodies.items()}
        line = json.dumps({"time": state.time_ns / NS_PER_S, "bodies": bodies})
        with naming(self._path):
            self._file.write(line + "\n")

    def __enter__(self) -> TraceWriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        with naming(self._path):
            self._file.close()


def _motion(simulated: SimulatedBody) -> dict[str, Any]:
    motion = simulated.motion
    names = [link.joint.name for link in simulated.body.moving_links]
    return {
        "root_p": motion.p[0].tolist(),
        "root_R": motion.R[0].tolist(),
        "root_v": motion.v[0].tolist(),
        "root_w": motion.w[0].tolist(),
        "q": dict(zip(names, motion.q.tolist(), strict=True)),
        "dq": dict(zip(names, motion.dq.tolist(), strict=True)),
    }


REFRESH_HZ = 4


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
        with ExitStack() as stack:
            run = stack.enter_context(self._make_run())
            if options.trace:
                run.add(stack.enter_context(TraceWriter(options.trace, options.every)))
            recording = setup.serve(run)
            if recording is not None:
                stack.callback(recording.close)
            if page is not None:
                page.serve(run, setup.problems, setup.hint, setup.reloader, self._recorder)
                stack.callback(page.end, run)
            signals.stop(run.stop)
            table = LiveTable(
                options.world, run, lambda: setup.rows(self._recorder), listening=options.listen
            )
            start = time.monotonic()
            with self._shown(table):
                run.run()
            run.finish_images()
            elapsed = time.monotonic() - start
        has_failed = bool(run.simulation.controllers.failures)  # printed when it happened
        failures = [] if run.stopped else setup.missed()
        if options.save:
            self._save(run, signals)
        failures += self._finish(run, elapsed, table, recording)
        for failure in failures:
            print_message(f"error: {failure}")
        has_failed |= recording is not None and recording.error != ""  # likewise
        return PROBLEMS if failures or has_failed else GOOD

    def _make_run(self) -> Run:
        """Return the run, whose steps are recorded."""
        options, setup = self._options, self._setup
        step = setup.simulation.engine.settings.time_step
        if options.duration is not None and options.duration < step:
            print_message(f"warning: --duration is less than one step of {step:g} s")
        # With somebody to reset it, a run without an end goes on after a failure.
        page = None if options.duration else self._page
        return Run(
            setup.simulation,
            [self._recorder],
            real_time_factor=setup.real_time_factor if options.rtf is None else options.rtf,
            duration=options.duration,
            on_failure=None if page is None else partial(page.report, setup.hint),
        )

    def _shown(self, table: LiveTable) -> AbstractContextManager[object]:
        """Return a block in which a terminal shows the table."""
        if not is_terminal(sys.stdout) or self._options.json:
            return nullcontext()
        if self._options.duration is None:
            print_message("Ctrl-C ends the run", "dim")
        from rich.live import Live

        from hrp_model.program.tables import output_console

        return Live(table, console=output_console(), refresh_per_second=REFRESH_HZ, transient=True)

    def _save(self, run: Run, signals: StopSignals) -> None:
        """Save the state; a signal ends the wait for the reader of a pipe."""
        path = self._options.save
        with writing(), signals.interrupting() if is_special(path) else nullcontext():
            run.simulation.save().to_file(path)

    def _finish(
        self, run: Run, elapsed: float, table: LiveTable, recording: RunRecording | None
    ) -> list[str]:
        """Print the result of a run; return what has failed in it."""
        options = self._options
        error = "" if run.error is None else str(run.error)
        result = result_of(self._recorder, options.world, elapsed, error)
        recorded = None if recording is None else recording.summary
        outcomes = [e.evaluate(self._measured(e.quantity)) for e in self._expectations]
        if options.json:
            content = result_object(result, outcomes, recorded)
            print_data(f"{json.dumps(content, indent=1, allow_nan=False)}\n")
        else:
            self._print_table(table)
            print_text("\n".join((*result_lines(result, recorded), *speed_lines(result))))
        report_written(path for path in (options.save, options.trace, options.record) if path)
        failed = [str(outcome) for outcome in outcomes if not outcome.holds]
        return [f"{error}\nhint: {self._setup.hint}", *failed] if error else failed

    def _print_table(self, table: LiveTable) -> None:
        if is_terminal(sys.stdout):
            from hrp_model.program.tables import output_console

            output_console().print(table)
        else:
            print_text(table.text())

    def _measured(self, quantity: str) -> float | None:
        meter = meters(self._recorder).get(quantity)  # none of a world that was loaded meanwhile
        return None if meter is None else meter.value()


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


def run(options: argparse.Namespace) -> int:
    """Execute ``hrp-sim run``; return the exit status.

    Raises:
        ModelError, PhysicsError: The world cannot be used.
        UsageError: An output must not or cannot be written.
        OSError: Reading or writing a file failed.
        KeyboardInterrupt: A signal came before the first step.
    """
    check_run_outputs(options)
    others = set(threading.enumerate())
    try:
        return _run(options)
    finally:
        _report_threads(others)


def _run(options: argparse.Namespace) -> int:
    with StopSignals() as signals, ExitStack() as stack:
        page = None
        if options.view:
            from .run_page import RunPage  # needs viser

            page = RunPage(
                options.port,
                options.host,
                on_output=not options.json,
                browser=options.browser,
            )
            stack.callback(page.close)
        setup = RosRunSetup(options) if options.ros else RunSetup(options, page)
        stack.enter_context(setup)
        return RunCourse(options, setup, page).run(signals)


def _report_threads(others: set[threading.Thread]) -> None:
    """Say which threads of controllers keep the program from ending."""
    for thread in threading.enumerate():
        if not (thread.daemon or thread in others):
            print_note(
                f"note: a controller has left the thread '{thread.name}' running, for which the "
                "program waits; start threads with daemon=True"
            )
