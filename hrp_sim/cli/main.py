"""The command ``hrp-sim``: simulate and check worlds, and measure the speed of simulation."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from pkgutil import resolve_name

from hrp_model import ModelError, Severity
from hrp_model.diagnostics import needs_extra
from hrp_model.program.command import PROBLEMS, WRONG_USE, run_program
from hrp_model.program.outputs import add_force
from hrp_model.program.parsing import (
    CommandParser,
    Suggestions,
    is_model_file,
    model_files,
    number,
)
from hrp_model.version import __version__
from hrp_msgs.names import NAMINGS, STANDARD

from ..engine.engine import PhysicsError
from ..world.world_names import bundled_worlds
from .command_options import (
    add_bench,
    add_certify,
    add_page,
    add_plot,
    add_replay,
    add_study,
    add_video,
    check_replay,
)
from .run_options import WORLD, add_project, add_run, add_world, check_run

_COMPARISON = "The comparison with MuJoCo is 'python test/bench/compare.py' in a source checkout"


def _is_world(word: str) -> bool:
    return is_model_file(word) or word in bundled_worlds()


SUGGESTIONS = Suggestions(
    commands={
        **dict.fromkeys(("simulate", "start", "play", "launch", "view"), "hrp-sim run"),
        **dict.fromkeys(("list", "devices"), "hrp-sim sensors"),
        **dict.fromkeys(("benchmark", "measure"), "hrp-sim bench"),
        **dict.fromkeys(("film", "movie", "render", "picture"), "hrp-sim video"),
        **dict.fromkeys(("sweep", "vary", "scenario"), "hrp-sim study"),
        **dict.fromkeys(("convert", "urdf"), "hrp-model urdf"),
        **dict.fromkeys(("certificate", "prove"), "hrp-sim certify"),
        "tree": "hrp-model tree",
        "dump": "hrp-model dump",
        "help": "hrp-sim --help",
        "version": "hrp-sim --version",
    },
    options={
        **dict.fromkeys(("--dt", "--timestep", "--step", "--step-size"), "--time-step"),
        **dict.fromkeys(("--real-time-factor", "--speed", "--realtime"), "--rtf"),
        **dict.fromkeys(("--seconds", "--length", "--until"), "--duration"),
        "--output-file": "-o",
    },
    removed={
        "hrp-sim bench --scene": _COMPARISON,
        "hrp-sim bench --runs": _COMPARISON,
        "hrp-sim bench --markdown": _COMPARISON,
        "hrp-sim bench --solver": "The solver of the world is measured, and the other one tried",
    },
    for_file="run",
    is_file=_is_world,
)


# The functions of the commands, whose modules are imported when they are needed.
_COMMANDS = {
    "run": "run:run",
    "check": "worlds:check",
    "sensors": "worlds:list_sensors",
    "video": "video:video",
    "rviz": "worlds:print_rviz",
    "map": "worlds:write_map",
    "scene": "worlds:write_scene",
    "page": "page:page",
    "replay": "recordings:replay",
    "plot": "recordings:plot",
    "study": "study:run_study",
    "bench": "worlds:bench",
    "certify": "certify:certify_models",
}


def _parser() -> CommandParser:
    parser = CommandParser(
        suggestions=SUGGESTIONS,
        completers={"WORLD": _worlds, "FILE": model_files},
        prog="hrp-sim",
        description="Simulate OpenHRP and Choreonoid robots with ODE.",
        epilog="'hrp-sim run rover --view' shows a rover in the browser, 'hrp-sim COMMAND --help' "
        "explains a command. Exit status: 0 success; 1 a problem in the world or a model, or a "
        "failed expectation; 2 usage error; 130 interrupted before there was a result.",
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    commands = parser.add_commands(title="commands", dest="command")
    add_run(commands.add_parser("run", help="simulate a world, or a single model on a floor"))
    _add_check(commands.add_parser("check", help="report all problems of worlds without a run"))
    sensors = commands.add_parser("sensors", help="list the sensors of a world and their options")
    add_world(sensors)
    add_project(sensors)
    _add_naming(sensors)
    add_video(commands.add_parser("video", help="film a run, or take a picture of its end"))
    _add_rviz(commands.add_parser("rviz", help="print an RViz configuration for a world"))
    _add_map(commands.add_parser("map", help="write a map of a world, for Nav2"))
    _add_scene(commands.add_parser("scene", help="write the obstacles of a world, for MoveIt"))
    add_page(commands.add_parser("page", help="write a run as one HTML file"))
    add_replay(commands.add_parser("replay", help="replay a recording in the browser or on ROS"))
    add_plot(commands.add_parser("plot", help="draw curves of a recording"))
    add_study(commands.add_parser("study", help="run a study: a world with values that vary"))
    add_bench(commands.add_parser("bench", help="measure simulation speed on this machine"))
    add_certify(
        commands.add_parser("certify", help="compare the motion of models in several engines")
    )
    return parser


def _worlds(beginning: str) -> list[str]:
    """Return bundled worlds, and files of worlds, projects and models."""
    from ..world.projects import PROJECT_SUFFIXES

    return [*bundled_worlds(), *model_files(beginning, PROJECT_SUFFIXES)]


def _add_check(check: argparse.ArgumentParser) -> None:
    check.description = (
        "Report all problems of worlds and their models with location and hint, including "
        "settings that the physics simulates badly. Errors, and with --strict warnings, make the "
        "exit status 1."
    )
    check.add_argument("worlds", nargs="+", metavar="WORLD", help=WORLD)
    add_project(check)
    check.add_argument("--strict", action="store_true", help="treat warnings as errors")
    check.add_argument(
        "--all", action="store_true", help="show all problems of each kind, not only the first few"
    )
    check.add_argument(
        "--drive",
        action="store_true",
        help="check vehicles for planners, too: a level scan, and how each turns alone on a floor",
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
    add_world(parser)
    add_project(parser)
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


def _add_map(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Write an occupancy grid of a world, which map_server of Nav2 reads: where the collision "
        "shapes of bodies that cannot move cross a level plane. Its frame is that of the world. "
        "Places that no vehicle of the world can reach are unknown."
    )
    add_world(parser)
    add_project(parser)
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FILE",
        required=True,
        help="description of the map (.yaml); its image (.pgm) is written beside it",
    )
    add_force(parser)
    parser.add_argument(
        "--height",
        type=number(float, "a number of metres from -1e6 to 1e6", lambda value: abs(value) <= 1e6),
        metavar="Z",
        help="height of the plane in the world [m]; default: that of the level scan of the vehicle",
    )
    parser.add_argument(
        "--resolution",
        type=number(float, "a number of metres from 0.001 to 10", lambda x: 1e-3 <= x <= 10.0),
        default=0.05,
        metavar="SIZE",
        help="length of a cell [m] (default: %(default)s)",
    )


def _add_scene(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Write the collision shapes of all bodies but the robot as a scene file, which MoveIt and "
        "its panel in RViz read (/load_geometry_from_file). Poses are in the planning frame: the "
        "world, unless the virtual joint in the SRDF is fixed."
    )
    add_world(parser)
    add_project(parser)
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE", required=True, help="scene file (.scene)"
    )
    add_force(parser)
    parser.add_argument(
        "--robot", metavar="BODY", help="robot that plans; default: the only body with joints"
    )
    parser.add_argument(
        "--frame",
        choices=("world", "root"),
        default="world",
        help="planning frame: world, as in packages of hrp-model, or the root link of the robot, "
        "for a fixed virtual joint (default: %(default)s)",
    )


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
    for command, check in (("run", check_run), ("replay", check_replay)):
        if options.command == command:
            check(parser.commands[command], options)
    return _reporting(lambda: _run_command(options))


def _run_command(options: argparse.Namespace) -> int:
    """Import the module of a command, and execute it."""
    with needs_extra("record") if options.command == "plot" else nullcontext():
        execute: Callable[[argparse.Namespace], int] = resolve_name(
            f"{__package__}.{_COMMANDS[options.command]}"
        )
    return execute(options)


def _reporting(command: Callable[[], int]) -> int:
    """Run a command; print errors that end it with their source lines."""
    from ..run.summary import ExpectationError
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
