"""The command ``hrp-sim``: simulate and check worlds, and measure the speed of simulation."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from hrp_model import ModelError, Severity
from hrp_model.cli.view import DEFAULT_HOST, add_viewer_arguments
from hrp_model.program.command import PROBLEMS, WRONG_USE, run_program
from hrp_model.program.completion import model_files
from hrp_model.program.libraries import needs_extra
from hrp_model.program.outputs import add_force
from hrp_model.program.parsing import CommandParser, PrintText
from hrp_model.version import __version__
from hrp_msgs.names import NAMINGS, STANDARD

from ..engines import ENGINES
from ..physics.engine import PhysicsError, Solver
from ..world.world_names import DEFAULT_WORLD, bundled_worlds
from . import argument_types
from .suggestions import SUGGESTIONS

# Duration of a run of the default world without a terminal, in [s].
DEFAULT_DURATION = 5.0


def _code_list() -> str:
    from hrp_model.program.report import code_list

    from ..world.codes import CODES

    return code_list(CODES)


def _parser() -> CommandParser:
    parser = CommandParser(
        suggestions=SUGGESTIONS,
        completers={"WORLD": lambda word: [*bundled_worlds(), *model_files(word)]},
        prog="hrp-sim",
        description="Simulate OpenHRP and Choreonoid robots with ODE.",
        epilog="exit status: 0 success; 1 a problem in the world or a model, or a failed "
        "expectation; 2 usage error; 130 interrupted before there was a result",
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    commands = parser.add_commands(dest="command")
    _add_run(commands.add_parser("run", help="simulate a world, or a single model on a floor"))
    _add_check(commands.add_parser("check", help="report all problems of worlds without a run"))
    sensors = commands.add_parser("sensors", help="list the sensors of a world and their options")
    _add_world(sensors)
    _add_naming(sensors)
    _add_video(commands.add_parser("video", help="film a run, or take a picture of its end"))
    _add_rviz(commands.add_parser("rviz", help="print an RViz configuration for a world"))
    _add_page(commands.add_parser("page", help="write a run as one HTML file"))
    _add_replay(commands.add_parser("replay", help="replay a recording in the browser or on ROS"))
    _add_plot(commands.add_parser("plot", help="draw curves of a recording"))
    _add_bench(commands.add_parser("bench", help="measure simulation speed on this machine"))
    return parser


_WORLD = (
    "world file (.yaml) or model (.wrl, .body, .yaml, .urdf), given by path or URI, or the name "
    "of a bundled world, such as rover"
)


def _add_world(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("world", metavar="WORLD", help=_WORLD)


def _add_check(check: argparse.ArgumentParser) -> None:
    check.description = (
        "Report all problems of worlds and their models with location and hint, including "
        "settings that the physics simulates badly. Errors, and with --strict warnings, make the "
        "exit status 1."
    )
    check.add_argument("worlds", nargs="+", metavar="WORLD", help=_WORLD)
    check.add_argument("--strict", action="store_true", help="treat warnings as errors")
    check.add_argument(
        "--all", action="store_true", help="show all problems of each kind, not only the first few"
    )


def _add_naming(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--naming",
        choices=NAMINGS,
        default=STANDARD,
        help="topic naming, as the parameter 'naming' of sim_node (default: %(default)s)",
    )


def _add_rviz(parser: argparse.ArgumentParser) -> None:
    parser.description = "Print an RViz configuration for a world and the data of its sensors."
    _add_world(parser)
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="write to FILE instead")
    add_force(parser)
    for name, default in (("namespace", ""), ("frame-prefix", ""), ("world-frame", "world")):
        parser.add_argument(
            f"--{name}",
            default=default,
            help="as for sim_node (default: '%(default)s')",
        )
    _add_naming(parser)
    parser.add_argument(
        "--contacts",
        action="store_true",
        help="show contacts/markers, too (published if the parameter contact_rate is set)",
    )


_FILE = "recording (.mcap)"


def _add_page(page: argparse.ArgumentParser) -> None:
    page.description = (
        "Write one HTML file with the models, their problems, and a run on a time slider. It opens "
        "from disk in any browser and loads nothing from anywhere."
    )
    page.add_argument(
        "file", metavar="FILE", help=f"{_FILE}, or a world or model, which is simulated: {_WORLD}"
    )
    page.add_argument("output", type=Path, metavar="OUT.html", help="file to write")
    page.add_argument(
        "--duration",
        type=argument_types.positive,
        metavar="S",
        help="show S seconds from the start (default: the whole recording, or 5 s of simulation)",
    )
    add_force(page)


def _add_replay(replay: argparse.ArgumentParser) -> None:
    replay.description = (
        "Replay a recording: in the browser with play, pause, speed and a time slider, on its ROS "
        "topics, or both."
    )
    replay.add_argument("file", metavar="FILE", help=_FILE)
    replay.add_argument(
        "--view", action="store_true", help="show it in the browser (the default without --ros)"
    )
    add_viewer_arguments(replay)
    replay.add_argument(
        "--ros",
        action="store_true",
        help="publish the recorded messages again, on the same topics with the same stamps",
    )
    replay.add_argument(
        "--rtf",
        type=argument_types.positive,
        default=1.0,
        metavar="F",
        help="replayed time per wall time (default: %(default)g)",
    )
    replay.add_argument(
        "--duration",
        type=argument_types.positive,
        metavar="S",
        help="replay only the first S seconds",
    )


def _add_run(run: argparse.ArgumentParser) -> None:
    """Add the options of the simulation, of the course of the run, and of its results."""
    run.add_argument(
        "world",
        nargs="?",
        metavar="WORLD",
        help=f"{_WORLD}; default: {DEFAULT_WORLD}, for {DEFAULT_DURATION:g} s if standard output "
        "is not a terminal",
    )
    run.add_argument(
        "--duration",
        type=argument_types.positive,
        metavar="S",
        help="end after S seconds of simulation time (default: run until Ctrl-C)",
    )
    _add_physics(run)
    run.add_argument(
        "--sensor",
        type=argument_types.sensor_option,
        action="append",
        default=[],
        metavar="[SENSOR.]OPTION=VALUE",
        help="set an option of all sensors, or of those with this name, such as gyro.rate=200; may "
        "be repeated; 'hrp-sim sensors' lists the options",
    )
    _add_run_course(run)


def _add_physics(run: argparse.ArgumentParser) -> None:
    run.add_argument(
        "--engine",
        choices=ENGINES,
        default=ENGINES[0],
        help="physics engine: ode supports everything; pyode needs python3-pyode, supports "
        "primitives and common joints only, and is slower (default: %(default)s)",
    )
    run.add_argument(
        "--time-step",
        type=argument_types.time_step,
        metavar="S",
        help="physics time step (default: from the world)",
    )
    run.add_argument(
        "--no-joint-limits",
        dest="joint_limits",
        action="store_const",
        const=False,
        help="ignore the position limits of all joints",
    )
    run.add_argument(
        "--solver",
        choices=[s.value for s in Solver],
        help="constraint solver; world: exact; quick: iterative, for many loose bodies (default: "
        "from the world)",
    )
    run.add_argument(
        "--seed",
        type=argument_types.seed,
        metavar="N",
        help="seed of the order in which constraints are solved (default: from the world)",
    )


def _add_run_course(run: argparse.ArgumentParser) -> None:
    run.add_argument(
        "--rtf",
        type=argument_types.not_negative,
        metavar="F",
        help="real-time factor; 0 = as fast as possible (default: 1 with --ros or --view, else 0)",
    )
    run.add_argument("--trace", type=Path, metavar="FILE", help="write the motion as JSON lines")
    run.add_argument(
        "--every",
        type=argument_types.positive,
        metavar="S",
        help="simulation time between lines of --trace, in [s] (default: every step)",
    )
    run.add_argument(
        "--record",
        type=Path,
        metavar="OUT.mcap",
        help="record in an MCAP file the topics that --ros publishes; --ros is not needed",
    )
    run.add_argument(
        "--save",
        type=Path,
        metavar="FILE",
        help="save the final state, also after Ctrl-C or a failure of the physics",
    )
    add_force(run)
    run.add_argument(
        "--restore",
        type=Path,
        metavar="FILE",
        help="start from a state saved by --save; --duration counts from there",
    )
    run.add_argument(
        "--ros", action=argparse.BooleanOptionalAction, default=False, help="connect to ROS 2"
    )
    run.add_argument(
        "--listen",
        action="store_true",
        help="with --ros: subscribe to all topics in a second process, show the share of messages "
        "it received, and fail if some are missing",
    )
    run.add_argument(
        "--paused",
        action="store_true",
        help="with --ros or --view: start paused",
    )
    _add_run_page(run)
    _add_run_result(run)
    run.add_argument(
        "--list-codes",
        action=PrintText,
        text=_code_list,
        help="explain all diagnostic codes of worlds, and exit; 'hrp-model check --list-codes' "
        "explains those of models",
    )


def _add_run_page(run: argparse.ArgumentParser) -> None:
    run.add_argument(
        "--view",
        action="store_true",
        help="show and control the run in a browser; its address is printed first",
    )
    add_viewer_arguments(run)
    run.add_argument(
        "--watch",
        action="store_true",
        help="with --view: load the world again when its files change; bodies with the same joints "
        "keep their state",
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
        help="treat warnings about the world and its models as errors, which prevent the run",
    )
    run.add_argument(
        "--expect",
        action="append",
        default=[],
        metavar="'QUANTITY > NUMBER'",
        help="exit with status 1 unless this holds at the end, such as 'humanoid.z > 0.6'; may "
        "be repeated; docs/simulation.md lists the quantities",
    )


def _add_plot(plot: argparse.ArgumentParser) -> None:
    plot.description = (
        "Draw numbers of a recording over time. Without TOPIC.FIELD, list all topics and their "
        "numbers; with -o, draw the most important ones."
    )
    plot.add_argument("file", metavar="FILE", help="recording (.mcap), of any program")
    plot.add_argument(
        "fields",
        nargs="*",
        metavar="TOPIC.FIELD",
        help="number to draw, such as imu/data_raw.linear_acceleration.z or "
        "'joint_states.position[LARM_ELBOW]'; a part of it selects all with this beginning",
    )
    plot.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="OUT",
        help="write to OUT: a picture (.png, .svg), a page that shows values under the pointer "
        "(.html), or a table of all values (.csv) (default: FILE with the suffix .png, in the "
        "current folder)",
    )
    add_force(plot)


def _add_bench(bench: argparse.ArgumentParser) -> None:
    bench.description = (
        "Measure how fast a world or a model runs on this machine, where the time goes, and which "
        "settings make it faster. docs/performance.md explains the result."
    )
    bench.add_argument(
        "world",
        nargs="?",
        default=DEFAULT_WORLD,
        metavar="WORLD",
        help=f"{_WORLD}; default: {DEFAULT_WORLD}",
    )
    bench.add_argument(
        "--duration",
        type=argument_types.positive,
        default=1.0,
        metavar="S",
        help="simulation time to measure, from the start (default: %(default)g s)",
    )
    bench.add_argument("--json", action="store_true", help="print the result as JSON")


def _add_video(video: argparse.ArgumentParser) -> None:
    video.description = (
        "Film a simulation or a recording, with shadows and a grid on the ground. docs/video.md "
        "has examples."
    )
    video.add_argument(
        "world",
        metavar="WORLD",
        help=f"recording (.mcap), {_WORLD}",
    )
    video.add_argument(
        "output",
        type=Path,
        metavar="OUT",
        help="film (.mp4, .webp or .gif), or picture of the end (.png)",
    )
    view = video.add_mutually_exclusive_group()
    view.add_argument(
        "--camera",
        metavar="[BODY/]CAMERA",
        help="film what this camera of a model sees, in its field of view",
    )
    view.add_argument(
        "--follow",
        metavar="[BODY/]LINK",
        help="move the camera with this link (default: a fixed view of the robots)",
    )
    video.add_argument(
        "--view",
        type=argument_types.viewpoint,
        metavar="AZIMUTH,ELEVATION[,DISTANCE]",
        help="direction to look from, in degrees from the x axis and above the horizon, and "
        "distance in [m], such as --view=-60,20 (default: 35,15, all robots in the picture)",
    )
    video.add_argument(
        "--size",
        type=argument_types.size,
        metavar="WxH",
        help="width and height in pixels (default: 1280x720; with --camera: 720 high, and as wide "
        "as its images)",
    )
    video.add_argument(
        "--fps",
        type=argument_types.fps,
        default=30.0,
        metavar="N",
        help="frames per second (default: %(default)g)",
    )
    video.add_argument(
        "--duration",
        type=argument_types.positive,
        metavar="S",
        help=f"simulation time to film (default: {DEFAULT_DURATION:g} s; the whole recording)",
    )
    add_force(video)
    _add_physics(video)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit status.

    Returns:
        0 success, also if Ctrl-C ended a run; 1 a problem in model or world, or a failed
        expectation; 2 usage error, or a library is not installed; 130 Ctrl-C before there was a
        result.
    """
    return run_program("hrp-sim", lambda: _main(argv), problems=(PhysicsError,))


def _main(argv: Sequence[str] | None) -> int:
    parser = _parser()
    options = parser.parse(argv)
    if options.command == "run":
        if options.world is None:
            options.world = DEFAULT_WORLD
            if options.duration is None and not (
                options.ros or options.view or sys.stdout.isatty()
            ):
                options.duration = DEFAULT_DURATION
        if options.listen and not options.ros:
            parser.error("--listen needs --ros")
        if options.paused and not (options.ros or options.view):
            parser.error("--paused needs --ros or --view, by which the run is resumed")
        of_page = {
            "--watch": options.watch,
            "--port": options.port is not None,
            "--host": options.host != DEFAULT_HOST,
        }
        if not options.view and any(of_page.values()):
            parser.error(
                f"{next(name for name, is_given in of_page.items() if is_given)} needs --view"
            )
        if options.watch and options.ros:
            parser.error("--watch cannot be combined with --ros, whose services load worlds")
        if options.every and not options.trace:
            parser.error("--every needs --trace")
    if options.command == "replay" and options.ros and not options.view and options.port:
        parser.error("--port needs --view")
    return _reporting(lambda: _run_command(options))


def _run_command(options: argparse.Namespace) -> int:
    if options.command == "bench":
        from .bench import bench

        return bench(options)
    if options.command == "check":
        from .check import check

        return check(options)
    if options.command == "replay":
        from .replay import replay

        return replay(options)
    if options.command == "page":
        from .html_page import page

        return page(options)
    if options.command == "video":
        from .video import video

        return video(options)
    if options.command == "plot":
        with needs_extra("record"):
            from .plot import plot

            return plot(options)
    from .run import list_sensors, print_rviz, run

    return {"run": run, "sensors": list_sensors, "rviz": print_rviz}[options.command](options)


def _reporting(command: Callable[[], int]) -> int:
    """Run a command; print errors that end it with their source lines."""
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
