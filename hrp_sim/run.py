"""What ``hrp-sim run`` does: step a world, show how it goes, with or without ROS around it."""

from __future__ import annotations

import argparse
import errno
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.live import Live

from hrp_model import Diagnostic, Diagnostics, ModelError, Severity
from hrp_model.files import write_all
from hrp_model.stop_signals import StopSignals
from hrp_msgs.names import NameCollisionError

from .advice import advise, after_failure
from .board import Board, Line
from .engine import PhysicsError, Solver
from .engines import make_engine
from .listener import Listener
from .load import load_world
from .runner import OnStep, Runner
from .rviz import RvizOptions, world_rviz
from .schedule import NS_PER_S
from .sensor_list import device_table, option_text
from .sensor_options import with_options
from .sensors import Reading, instruments
from .simulation import Simulation
from .snapshot import Snapshot
from .trace import TraceWriter

if TYPE_CHECKING:
    from .node import RosSession

GOOD, PROBLEM = 0, 1
REFRESH_HZ = 4


def run(options: argparse.Namespace) -> int:
    """Simulate as the options of ``hrp-sim run`` say; return the exit status.

    Raises:
        ModelError, PhysicsError: The world cannot be used.
        OSError: A file cannot be written.
        KeyboardInterrupt: A signal came before the first step.
    """
    if options.save:
        _check_can_be_written(options.save)
    with StopSignals() as signals:
        return _run_with_ros(options, signals) if options.ros else _run_alone(options, signals)


def list_sensors(options: argparse.Namespace) -> int:
    """Show what ``hrp-sim sensors`` does; return the exit status.

    Raises:
        ModelError, PhysicsError: The world cannot be used.
    """
    diagnostics = Diagnostics(listener=_print_warning)
    config = load_world(options.world, diagnostics)
    with closing(Simulation(config, defer_images=True, diagnostics=diagnostics)) as simulation:
        if not simulation.sensors and not simulation.lights:
            print("this world has no sensors")
            return GOOD
        try:
            devices = device_table(config, simulation, options.naming)
        except NameCollisionError as error:
            diagnostics.error("name-collision", str(error))
            diagnostics.raise_errors()
    kinds = {i.kind: None for e in config.bodies for i in instruments(e.placement.body).values()}
    Console().print(devices)
    print(f"\n{option_text(config, kinds)}")
    print("\nSet one with: hrp-sim run WORLD --sensor [SENSOR.]OPTION=VALUE")
    return GOOD


def print_rviz(options: argparse.Namespace) -> int:
    """Print or write what ``hrp-sim rviz`` makes; return the exit status.

    Raises:
        ModelError, PhysicsError: The world cannot be used.
        OSError: The file cannot be written.
    """
    names = RvizOptions(
        options.namespace,
        options.frame_prefix,
        options.world_frame,
        options.naming,
        options.contacts,
    )
    try:
        text = world_rviz(options.world, names, Diagnostics(listener=_print_warning))
    except ModelError:
        raise  # a ValueError, too
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
        return PROBLEM
    if options.output is None:
        print(text, end="")
    else:
        write_all({options.output: text.encode()})
    return GOOD


def _run_alone(options: argparse.Namespace, signals: StopSignals) -> int:
    diagnostics = Diagnostics(listener=_print_warning)
    world = load_world(options.world, diagnostics)
    config = with_options(world, dict(options.sensor), diagnostics).with_physics(
        solver=Solver(options.solver) if options.solver else None,
        seed=options.seed,
        time_step=options.time_step,
        joint_limits=options.joint_limits,
    )
    diagnostics.raise_errors()
    # Nobody looks at images here.
    engine = make_engine(options.engine, config.physics)
    simulation = Simulation(config, engine=engine, defer_images=True, diagnostics=diagnostics)
    found = advise(config)
    for advice in found:
        diagnostics.add(advice)
    counts: Counter[str] = Counter()

    def on_step(_: int, readings: Mapping[str, Any]) -> None:
        counts.update(readings.keys())

    def lines() -> list[Line]:
        return [Line(k, type(s).__name__, counts[k]) for k, s in simulation.sensors.items()]

    hint = after_failure(found)
    status = _step(options, simulation, on_step, lines, signals, hint, default_factor=0.0)
    simulation.close()
    return status


def _print_warning(diagnostic: Diagnostic) -> None:
    """Print a warning; notes matter to few, and errors are printed where they end the run."""
    if diagnostic.severity is Severity.WARNING:
        print(diagnostic, file=sys.stderr)


def _run_with_ros(options: argparse.Namespace, signals: StopSignals) -> int:
    try:
        from .node import RosSession
    except ImportError as error:
        print(f"error: ROS 2 cannot be imported: {error}", file=sys.stderr)
        print("source a ROS 2, or let scripts/bootstrap.sh install it", file=sys.stderr)
        return PROBLEM
    parameters: dict[str, Any] = {
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
    session = RosSession(parameters)
    with ExitStack() as stack:
        stack.callback(session.close)
        listener = None
        if options.listen:
            listener = Listener(lambda: {k: count for k, (_, count) in session.published().items()})
            stack.callback(listener.close)
            listener.wait_until_hearing()

        def lines() -> list[Line]:
            heard: Callable[[str], float | None] = listener.share if listener else lambda _: None
            totals, wanted = sorted(session.published().items()), session.wanted()
            return [Line(k, what, n, heard(k), k in wanted) for k, (what, n) in totals]

        def missed() -> list[str]:
            if listener is None:
                return []
            listener.settle()
            return listener.missed()

        ran = (session.simulation, session.publish, lines, signals, session.node.after_failure)
        return _step(options, *ran, default_factor=1.0, missed=missed, session=session)


def _step(
    options: argparse.Namespace,
    simulation: Simulation,
    on_step: OnStep,
    lines: Callable[[], list[Line]],
    signals: StopSignals,
    hint: str,
    *,
    default_factor: float,
    missed: Callable[[], list[str]] = list,
    session: RosSession | None = None,
) -> int:
    """Run to the end, show the table meanwhile, and sum up.

    ``missed`` tells what else went wrong; a run that was stopped before its end is not judged.
    ``hint`` says what to look for if the physics fails, which ends a run.
    """
    step = simulation.engine.settings.time_step
    if options.duration is not None and options.duration < step:
        print(f"warning: --duration is less than one step of {step:g} s", file=sys.stderr)
    factor = default_factor if options.rtf is None else options.rtf
    console = Console()
    if options.restore:
        _restore(simulation, options.restore)
    with ExitStack() as stack:
        if options.trace:
            trace = stack.enter_context(TraceWriter(options.trace, options.every))
            trace.write(simulation.state)
            on_step = _also_trace(on_step, trace, simulation)
        runner = Runner(simulation, on_step, real_time_factor=factor, duration=options.duration)
        if session is not None:
            session.serve(runner)
        signals.stop(runner.stop)
        board = Board(options.world, runner, lines, listening=options.listen)
        live = Live(board, console=console, refresh_per_second=REFRESH_HZ, transient=True)
        start_ns, start = simulation.state.time_ns, time.monotonic()
        with live if console.is_terminal else nullcontext():
            runner.run()
        simulated = (simulation.state.time_ns - start_ns) / NS_PER_S
        elapsed = time.monotonic() - start
    if options.save:
        simulation.save().to_file(options.save)
    problems = [] if runner.stopped else missed()
    problems += [] if runner.error is None else [f"{runner.error}\nhint: {hint}"]
    console.print(board)
    console.print(
        f"simulated {simulated:.3f} s in {elapsed:.3f} s: "
        f"real-time factor {simulated / max(elapsed, 1e-9):.2f}"
    )
    console.print(f"state sha256:{simulation.state_hash()}", soft_wrap=True)
    for problem in problems:
        print(f"error: {problem}", file=sys.stderr)
    return PROBLEM if problems else GOOD


def _check_can_be_written(path: Path) -> None:
    """Refuse now what would lose the state at the end of a long run."""
    number = errno.EISDIR if path.is_dir() else errno.ENOENT
    if path.is_dir() or not path.parent.is_dir():
        raise OSError(number, os.strerror(number), str(path))


def _restore(simulation: Simulation, path: Path) -> None:
    """Go back to a saved state; what does not fit is said with the name of the file."""
    snapshot = Snapshot.from_file(path)
    try:
        simulation.restore(snapshot)
    except PhysicsError as error:
        raise PhysicsError(f"'{path}': {error}") from None


def _also_trace(on_step: OnStep, trace: TraceWriter, simulation: Simulation) -> OnStep:
    def both(time_ns: int, readings: Mapping[str, Reading]) -> None:
        on_step(time_ns, readings)
        trace.write(simulation.state)

    return both
