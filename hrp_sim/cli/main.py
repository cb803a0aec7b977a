"""The command ``hrp-sim``: simulate a world or a model, and measure this machine."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from hrp_model import ModelError, Severity
from hrp_model.program.command import PROBLEMS, WRONG_USE, run_program
from hrp_model.program.outputs import add_force
from hrp_model.program.parsing import CommandParser, PrintText
from hrp_model.version import __version__
from hrp_msgs.names import NAMINGS, STANDARD

from ..benchmark.names import ALL, SCENE_NAMES
from ..engines import ENGINES
from ..physics.engine import PhysicsError, Solver
from ..world.world_names import DEFAULT_WORLD
from . import argument_types
from .suggestions import SUGGESTIONS

# Of a run of the default world that nobody watches, in [s].
DEFAULT_DURATION = 5.0


def _code_list() -> str:
    from hrp_model.program.report import code_list

    from ..world.codes import CODES

    return code_list(CODES)


def _parser() -> CommandParser:
    parser = CommandParser(
        suggestions=SUGGESTIONS,
        prog="hrp-sim",
        description="Simulate OpenHRP and Choreonoid robots with ODE.",
        epilog="exit status: 0 good; 1 a problem in the world or a model, or an expectation that "
        "does not hold; 2 wrong use; 130 interrupted before there was a result",
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    commands = parser.add_commands(dest="command")
    _add_run(commands.add_parser("run", help="simulate a world file, or a model alone on a floor"))
    _add_check(commands.add_parser("check", help="report every problem of worlds, without a run"))
    sensors = commands.add_parser("sensors", help="list the sensors of a world and their options")
    _add_world(sensors)
    _add_naming(sensors)
    _add_rviz(commands.add_parser("rviz", help="print an RViz configuration that shows a world"))
    _add_bench(commands.add_parser("bench", help="measure the speed of this machine, as ratios"))
    return parser


_WORLD = (
    "world file (.yaml) or model (.wrl, .body, .yaml, .urdf): its path or URI, or the name of a "
    "world of this package, such as rover"
)


def _add_world(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("world", help=_WORLD)


def _add_check(check: argparse.ArgumentParser) -> None:
    check.description = (
        "Report every problem of worlds and their models with its place and a hint, and what the "
        "physics will struggle with. Errors, and warnings with --strict, make the exit status 1."
    )
    check.add_argument("worlds", nargs="+", metavar="WORLD", help=_WORLD)
    check.add_argument("--strict", action="store_true", help="treat warnings as errors")
    check.add_argument(
        "--all", action="store_true", help="show all problems of a kind, not only the first few"
    )


def _add_naming(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--naming",
        choices=NAMINGS,
        default=STANDARD,
        help="whose names topics have, as with the parameter of sim_node (default: %(default)s)",
    )


def _add_rviz(parser: argparse.ArgumentParser) -> None:
    parser.description = "Print an RViz configuration for a world and what its sensors see."
    _add_world(parser)
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="write it there instead")
    add_force(parser)
    for name, default in (("namespace", ""), ("frame-prefix", ""), ("world-frame", "world")):
        parser.add_argument(
            f"--{name}",
            default=default,
            help="as sim_node is started with (default: '%(default)s')",
        )
    _add_naming(parser)
    parser.add_argument(
        "--contacts",
        action="store_true",
        help="show contacts/markers, too, which there are with the parameter contact_rate",
    )


def _add_run(run: argparse.ArgumentParser) -> None:
    """Add the options of what is simulated, then those of how it goes and what is kept of it."""
    run.add_argument(
        "world",
        nargs="?",
        help=f"{_WORLD}; default: {DEFAULT_WORLD}, for {DEFAULT_DURATION:g} s where the standard "
        "output is no terminal",
    )
    run.add_argument(
        "--duration",
        type=argument_types.positive,
        metavar="S",
        help="end after S simulated seconds (default: at Ctrl-C)",
    )
    run.add_argument(
        "--engine",
        choices=ENGINES,
        default=ENGINES[0],
        help="physics: ode does everything; pyode needs python3-pyode, does primitives and "
        "common joints, is slower, and refuses the rest (default: %(default)s)",
    )
    run.add_argument(
        "--time-step",
        type=argument_types.time_step,
        metavar="S",
        help="of the physics (default: the world's)",
    )
    run.add_argument(
        "--no-joint-limits",
        dest="joint_limits",
        action="store_const",
        const=False,
        help="leave out the position limits of all joints",
    )
    run.add_argument(
        "--solver",
        choices=[s.value for s in Solver],
        help="world: exact; quick: iterates, for many loose parts (default: the world's)",
    )
    run.add_argument(
        "--seed",
        type=argument_types.seed,
        metavar="N",
        help="of the order in which constraints are solved (default: the world's)",
    )
    run.add_argument(
        "--sensor",
        type=argument_types.sensor_option,
        action="append",
        default=[],
        metavar="[SENSOR.]OPTION=VALUE",
        help="option of the sensors of this name, as gyro.rate=200, or of all; may be repeated; "
        "hrp-sim sensors lists them",
    )
    _add_run_course(run)


def _add_run_course(run: argparse.ArgumentParser) -> None:
    run.add_argument(
        "--rtf",
        type=argument_types.not_negative,
        metavar="F",
        help="simulated per real second; 0 = as fast as possible (default: 1 with ROS, else 0)",
    )
    run.add_argument("--trace", type=Path, metavar="FILE", help="write the motion as JSON lines")
    run.add_argument(
        "--every",
        type=argument_types.positive,
        metavar="S",
        help="simulated time between lines of --trace (default: every step)",
    )
    run.add_argument(
        "--save",
        type=Path,
        metavar="FILE",
        help="write the state at the end, also after Ctrl-C or a failure of the physics",
    )
    add_force(run)
    run.add_argument(
        "--restore",
        type=Path,
        metavar="FILE",
        help="start from a state that --save has written; --duration counts from there",
    )
    run.add_argument(
        "--ros", action=argparse.BooleanOptionalAction, default=False, help="publish in ROS 2"
    )
    run.add_argument(
        "--listen",
        action="store_true",
        help="show what a second process hears of the topics, and fail if it misses any",
    )
    run.add_argument(
        "--paused",
        action="store_true",
        help="with --ros: stand at the start until somebody lets it play",
    )
    _add_run_result(run)
    run.add_argument(
        "--list-codes",
        action=PrintText,
        text=_code_list,
        help="explain every code of a warning about a world, and exit; those about models are "
        "explained by hrp-model check --list-codes",
    )


def _add_run_result(run: argparse.ArgumentParser) -> None:
    run.add_argument(
        "--json",
        action="store_true",
        help="print the result as JSON (docs/run-schema.json) instead of tables",
    )
    run.add_argument(
        "--strict",
        action="store_true",
        help="treat warnings about the world and its models as errors: nothing is simulated then",
    )
    run.add_argument(
        "--expect",
        action="append",
        default=[],
        metavar="'QUANTITY > NUMBER'",
        help="make the exit status 1 unless this holds at the end, as 'humanoid.z > 0.6'; may be "
        "repeated; docs/simulation.md lists the quantities",
    )


def _add_bench(bench: argparse.ArgumentParser) -> None:
    bench.description = (
        "Measure the engine beside the same scenes in plain C, in turns. All scenes take many "
        "minutes, one takes about one."
    )
    bench.add_argument(
        "files", type=Path, nargs="*", metavar="FILE", help="model, limp on a floor, or world, limp"
    )
    bench.add_argument(
        "--scene",
        action="append",
        default=[],
        choices=[ALL, *SCENE_NAMES],
        help="may be repeated; default: all, or none when there are files",
    )
    bench.add_argument(
        "--solver",
        action="append",
        default=[],
        choices=[s.value for s in Solver],
        help="default: both",
    )
    bench.add_argument(
        "--duration",
        type=argument_types.positive,
        default=1.0,
        metavar="S",
        help="simulated, a run, at least",
    )
    bench.add_argument(
        "--runs", type=argument_types.count, default=5, metavar="N", help="interleaved runs of each"
    )
    bench.add_argument(
        "--original",
        action="store_true",
        help="step the files also the way Choreonoid's ODE plugin does",
    )
    bench.add_argument("--json", type=Path, metavar="FILE", help="write everything as JSON")
    bench.add_argument("--markdown", type=Path, metavar="FILE", help="write docs/performance.md")
    add_force(bench)


def _bench(options: argparse.Namespace) -> int:
    from ..benchmark.command import BenchOptions, bench

    return bench(
        BenchOptions(
            files=options.files,
            scenes=options.scene,
            solvers=options.solver,
            duration=options.duration,
            runs=options.runs,
            original=options.original,
            json=options.json,
            markdown=options.markdown,
            force=options.force,
        )
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit status.

    Returns:
        0 good, also after Ctrl-C ended a run; 1 a problem in model or world; 2 wrong use, or
        a library is not installed; 130 Ctrl-C before there was anything to sum up.
    """
    return run_program("hrp-sim", lambda: _main(argv), problems=(PhysicsError,))


def _main(argv: Sequence[str] | None) -> int:
    parser = _parser()
    options = parser.parse(argv)
    if options.command == "run":
        if options.world is None:
            options.world = DEFAULT_WORLD
            if options.duration is None and not (options.ros or sys.stdout.isatty()):
                options.duration = DEFAULT_DURATION
        if options.listen and not options.ros:
            parser.error("--listen needs --ros")
        if options.paused and not options.ros:
            parser.error("--paused needs --ros: nobody else can let it play")
        if options.every and not options.trace:
            parser.error("--every needs --trace")
    elif options.command == "bench" and options.original and not options.files:
        parser.error("--original needs files")
    return _reporting(lambda: _run_command(options))


def _run_command(options: argparse.Namespace) -> int:
    if options.command == "bench":
        return _bench(options)
    if options.command == "check":
        from .check import check

        return check(options)
    from .run import list_sensors, print_rviz, run

    return {"run": run, "sensors": list_sensors, "rviz": print_rviz}[options.command](options)


def _reporting(command: Callable[[], int]) -> int:
    """Run a command; print the problems that end it with the lines in question."""
    from ..summary import ExpectationError
    from ..world.reporting import print_severity

    try:
        return command()
    except ModelError as error:
        print_severity("", error.diagnostics, Severity.ERROR)
        return PROBLEMS
    except ExpectationError as error:
        print_severity("", [error.diagnostic], Severity.ERROR)
        return WRONG_USE


if __name__ == "__main__":
    sys.exit(main())
