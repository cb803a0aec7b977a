"""``hrp-sim run``: simulate a world with a live table, with or without ROS."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rich.live import Live

from hrp_model import Diagnostic, ModelError, Severity
from hrp_model.files.file_watch import without_recording
from hrp_model.program.command import GOOD, PROBLEMS, UsageError
from hrp_model.program.console import (
    output_console,
    print_data,
    print_message,
    print_note,
    print_text,
)
from hrp_model.program.outputs import (
    Kind,
    Output,
    check_outputs,
    print_or_write,
    report_written,
    writing,
)
from hrp_model.program.stop_signals import StopSignals
from hrp_model.program.working import working
from hrp_msgs.names import NameCollisionError

from ..physics.engine import PhysicsError, Solver
from ..physics.snapshot import Snapshot
from ..publishing.run_recording import RunRecording
from ..ros.rviz_config import RvizOptions, world_rviz
from ..running.build import build_simulation
from ..running.distribution import Distribution
from ..running.reload import Reloader
from ..running.runner import OnStep, Runner
from ..sensors import Reading, instruments
from ..sensors.settings import OptionValue
from ..simulation import Simulation
from ..summary import (
    Expectation,
    RunRecorder,
    quantities,
    result_lines,
    result_object,
    result_of,
    speed_lines,
    values,
)
from ..world.load import load_world
from ..world.reporting import print_severity, printed_warnings
from ..world.sensor_options import with_options
from .listener import Listener
from .live_table import LiveTable, Row
from .record import open_recording, record_world
from .sensor_list import device_table, option_text
from .trace import TraceWriter

if TYPE_CHECKING:
    from ..ros.sim_node import RosSession
    from .page import RunPage

REFRESH_HZ = 4


def run(options: argparse.Namespace) -> int:
    """Execute ``hrp-sim run``; return the exit status.

    Raises:
        ModelError, PhysicsError: The world cannot be used.
        UsageError: An output must not or cannot be written.
        OSError: Reading or writing a file failed.
        KeyboardInterrupt: A signal came before the first step.
    """
    _check_outputs(options)
    with StopSignals() as signals, ExitStack() as stack:
        page = None
        if options.view:
            from .page import RunPage  # needs viser

            page = RunPage(options.port, options.host, on_output=not options.json)
            stack.callback(page.close)
        if options.ros:
            return _run_with_ros(options, signals, page)
        return _run_alone(options, signals, page)


def list_sensors(options: argparse.Namespace) -> int:
    """Execute ``hrp-sim sensors``; return the exit status.

    Raises:
        ModelError, PhysicsError: The world cannot be used.
    """
    with ExitStack() as stack:
        diagnostics = stack.enter_context(printed_warnings(options.world))
        with working(f"reading {options.world}"):
            config = load_world(options.world, diagnostics)
            simulation = Simulation(config, defer_images=True, diagnostics=diagnostics)
        stack.callback(simulation.close)
        if not simulation.sensors and not simulation.lights:
            print_text("this world has no sensors")
            return GOOD
        try:
            devices = device_table(config, simulation, options.naming)
        except NameCollisionError as error:
            diagnostics.error("name-collision", str(error))
            diagnostics.raise_errors()
    kinds = {i.kind: None for e in config.bodies for i in instruments(e.placement.body).values()}
    output_console().print(devices)
    print_text(f"\n{option_text(config, kinds)}")
    print_text("\nSet one with: hrp-sim run WORLD --sensor [SENSOR.]OPTION=VALUE")
    return GOOD


def print_rviz(options: argparse.Namespace) -> int:
    """Execute ``hrp-sim rviz``; return the exit status.

    Raises:
        ModelError, PhysicsError: The world cannot be used.
        UsageError: An option is invalid, or the file cannot be written.
    """
    outputs = [Output("-o", options.output, Kind.RVIZ)]
    check_outputs(outputs, inputs=[options.world], force=options.force)
    names = RvizOptions(
        options.namespace,
        options.frame_prefix,
        options.world_frame,
        options.naming,
        options.contacts,
    )
    try:
        with printed_warnings(options.world) as diagnostics, working(f"reading {options.world}"):
            text = world_rviz(options.world, names, diagnostics)
    except ModelError:
        raise  # a subclass of ValueError, which is handled below
    except NameCollisionError as error:
        print_message(f"error: {error}")
        return PROBLEMS
    except ValueError as error:
        raise UsageError(str(error)) from None
    print_or_write(text, options.output)
    return GOOD


def _run_alone(options: argparse.Namespace, signals: StopSignals, page: RunPage | None) -> int:
    def load_again() -> Simulation | None:
        """Load the world after its files have changed; show and print its problems."""
        assert page is not None
        try:
            made = _prepare(options)
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
            made = _prepare(options)
        simulation = stack.enter_context(closing(made.simulation))
        if reloader is not None:
            stack.callback(reloader.close)
        _restore(options, simulation)
        distribution = stack.enter_context(closing(Distribution(simulation, read_all=True)))

        def rows(recorder: RunRecorder) -> list[Row]:
            counts, sensors = recorder.counts, recorder.simulation.sensors
            return [Row(k, type(s).__name__, counts[k]) for k, s in sensors.items()]

        return _step(
            options,
            simulation,
            distribution,
            rows,
            signals,
            made.hint,
            default_factor=1.0 if options.view else 0.0,
            page=page,
            problems=made.problems,
            reloader=reloader,
        )


class _Prepared(NamedTuple):
    """A simulation, a hint to print if its physics fails, and the problems of its world."""

    simulation: Simulation
    hint: str
    problems: Sequence[Diagnostic]


def _prepare(options: argparse.Namespace) -> _Prepared:
    """Make the simulation; warnings are printed, with --strict they are errors."""
    warnings = printed_warnings(options.world, strict=options.strict)
    with warnings as diagnostics, working(f"reading {options.world}"):
        world = load_world(options.world, diagnostics)
        config = with_options(world, dict(options.sensor), diagnostics).with_physics(
            solver=Solver(options.solver) if options.solver else None,
            seed=options.seed,
            time_step=options.time_step,
            joint_limits=options.joint_limits,
        )
        diagnostics.raise_errors()
        simulation, hint = build_simulation(config, options.engine, diagnostics)
        diagnostics.raise_errors()
    return _Prepared(simulation, hint, diagnostics.found)


def _run_with_ros(options: argparse.Namespace, signals: StopSignals, page: RunPage | None) -> int:
    try:
        from ..ros.sim_node import RosSession
    except ImportError as error:
        remedy = "source a ROS 2 installation, or install ROS 2 with scripts/bootstrap.sh"
        raise UsageError(f"ROS 2 cannot be imported ({error}): {remedy}") from None
    if options.strict:
        _prepare(options).simulation.close()
    parameters: dict[str, OptionValue] = {
        "world": options.world,
        "engine": options.engine,
        "describe": True,
        "start_paused": options.paused,
        **dict(options.sensor),
    }
    if options.solver:
        parameters["solver"] = options.solver
    for name in ("seed", "time_step", "joint_limits"):
        if (value := getattr(options, name)) is not None:
            parameters[name] = value
    make_recording = partial(open_recording, options.record) if options.record else None
    prepare = partial(_restore, options)
    session = RosSession(parameters, make_recording=make_recording, prepare=prepare)
    with ExitStack() as stack:
        stack.callback(session.close)
        listener = None
        if options.listen:
            listener = Listener(lambda: {k: count for k, (_, count) in session.published().items()})
            stack.callback(listener.close)
            listener.wait_for_discovery()

        def rows(_: RunRecorder) -> list[Row]:
            share: Callable[[str], float | None] = listener.share if listener else lambda _: None
            totals, subscribed = sorted(session.published().items()), session.subscribed()
            return [Row(k, kind, n, share(k), k in subscribed) for k, (kind, n) in totals]

        def missed() -> list[str]:
            if listener is None:
                return []
            listener.settle()
            return listener.missed()

        return _step(
            options,
            session.simulation,
            session.distribution,
            rows,
            signals,
            session.node.failure_hint,
            default_factor=1.0,
            missed=missed,
            session=session,
            page=page,
            problems=session.node.problems,
        )


def _step(
    options: argparse.Namespace,
    simulation: Simulation,
    distribution: Distribution,
    rows: Callable[[RunRecorder], list[Row]],
    signals: StopSignals,
    hint: str,
    *,
    default_factor: float,
    missed: Callable[[], list[str]] = list,
    session: RosSession | None = None,
    page: RunPage | None = None,
    problems: Sequence[Diagnostic] = (),
    reloader: Reloader | None = None,
) -> int:
    """Run to the end with a live table, and print the result; return the exit status.

    ``missed`` returns further problems, not called for a run stopped before its end. ``hint`` is
    printed if the physics fails, which ends the run.
    """
    console = output_console()
    is_live = console.is_terminal and not options.json
    measurable = quantities(simulation) if options.expect else {}
    expectations = [Expectation.parse(text, measurable) for text in options.expect]
    _check_outputs(options)  # again, since now all input files are known
    with ExitStack() as stack:
        recorder = RunRecorder(simulation)
        # With somebody to reset it, a run without an end goes on after a failure.
        on_failure = None if page is None or options.duration else partial(page.report, hint)
        runner = _make_runner(options, recorder, distribution, default_factor, on_failure, stack)
        recording = _serve(options, runner, distribution, session, stack)
        if page is not None:
            page.serve(runner, distribution, problems, hint, reloader)
            stack.callback(page.end, runner)
        signals.stop(runner.stop)
        table = LiveTable(options.world, runner, lambda: rows(recorder), listening=options.listen)
        live = Live(table, console=console, refresh_per_second=REFRESH_HZ, transient=True)
        if is_live and options.duration is None:
            print_message("Ctrl-C ends the run", "dim")
        start = time.monotonic()
        with live if is_live else nullcontext():
            runner.run()
        distribution.finish_images()
        elapsed = time.monotonic() - start
    failures = [] if runner.stopped else missed()
    recorder.follow(runner.simulation)  # a service may have loaded another world
    failures += _finish(options, runner, recorder, elapsed, expectations, table, recording, hint)
    for failure in failures:
        print_message(f"error: {failure}")
    has_failed = recording is not None and recording.error != ""  # printed when it happened
    return PROBLEMS if failures or has_failed else GOOD


def _finish(
    options: argparse.Namespace,
    runner: Runner,
    recorder: RunRecorder,
    elapsed: float,
    expectations: Sequence[Expectation],
    table: LiveTable,
    recording: RunRecording | None,
    hint: str,
) -> list[str]:
    """Save the state, and print the result of a run; return what has failed in it."""
    if options.save:
        with writing():
            runner.simulation.save().to_file(options.save)
    error = "" if runner.error is None else str(runner.error)
    result = result_of(recorder, options.world, elapsed, error)
    recorded = None if recording is None else recording.summary
    measured = values(result) if expectations else {}
    outcomes = [expectation.evaluate(measured) for expectation in expectations]
    if options.json:
        content = result_object(result, outcomes, recorded)
        print_data(f"{json.dumps(content, indent=1, allow_nan=False)}\n")
    else:
        console = output_console()
        console.print(table)
        for line in (*result_lines(result, recorded), *speed_lines(result)):
            console.print(line, soft_wrap=True)
    report_written(path for path in (options.save, options.trace, options.record) if path)
    failed = [str(outcome) for outcome in outcomes if not outcome.holds]
    return [f"{error}\nhint: {hint}", *failed] if error else failed


def _serve(
    options: argparse.Namespace,
    runner: Runner,
    distribution: Distribution,
    session: RosSession | None,
    stack: ExitStack,
) -> RunRecording | None:
    """Connect a run to its consumers; return its recording, which the stack closes, or None."""
    if session is not None:
        session.serve(runner)
        recording = session.node.recording
    else:
        distribution.serve(runner)
        runner.paused = options.paused
        recording = open_recording(options.record) if options.record else None
    if recording is not None:
        stack.callback(recording.close)
        if session is None:
            record_world(recording, options.world, runner, distribution)
    return recording


def _make_runner(
    options: argparse.Namespace,
    recorder: RunRecorder,
    distribution: Distribution,
    default_factor: float,
    on_failure: Callable[[PhysicsError], None] | None,
    stack: ExitStack,
) -> Runner:
    """Return the runner of a simulation, whose steps are recorded, traced and published."""
    step = recorder.simulation.engine.settings.time_step
    if options.duration is not None and options.duration < step:
        print_message(f"warning: --duration is less than one step of {step:g} s")
    on_step = _also_record(distribution.publish, recorder, lambda: runner.simulation)
    if options.trace:
        trace = stack.enter_context(TraceWriter(options.trace, options.every))
        trace.write(recorder.simulation.state)
        on_step = _also_trace(on_step, trace, lambda: runner.simulation)
    runner = Runner(
        recorder.simulation,
        on_step,
        real_time_factor=default_factor if options.rtf is None else options.rtf,
        duration=options.duration,
        on_failure=on_failure,
    )
    return runner


def _also_record(
    on_step: OnStep, recorder: RunRecorder, simulation: Callable[[], Simulation]
) -> OnStep:
    def both(time_ns: int, readings: Mapping[str, Reading]) -> None:
        recorder.step(simulation(), time_ns, readings)
        on_step(time_ns, readings)

    return both


def _check_outputs(options: argparse.Namespace) -> None:
    """Check that all outputs can be written, before a long run.

    Raises:
        UsageError: An output must not or cannot be written.
    """
    save = Output("--save", options.save, Kind.STATE)
    trace = Output("--trace", options.trace, Kind.TRACE)
    record = Output("--record", options.record, Kind.RECORDING)
    check_outputs([save, trace, record], inputs=[options.world], force=options.force)
    if options.restore:  # which --save may replace
        check_outputs([trace, record], inputs=[options.restore], force=options.force)


def _restore(options: argparse.Namespace, simulation: Simulation) -> None:
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


def _also_trace(
    on_step: OnStep, trace: TraceWriter, simulation: Callable[[], Simulation]
) -> OnStep:
    def both(time_ns: int, readings: Mapping[str, Reading]) -> None:
        on_step(time_ns, readings)
        trace.write(simulation().state)

    return both
