"""The command ``hrp-sim``: simulate and check worlds, and measure the speed of simulation."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from contextlib import nullcontext

from hrp_model import __version__
from hrp_model.program.command import PROBLEMS, WRONG_USE, print_problem, run_program
from hrp_model.program.parsing import (
    Command,
    CommandParser,
    Suggestions,
    is_model_file,
    model_files,
)

_COMPARISON = "The comparison with MuJoCo is 'python test/bench/compare.py' in a source checkout"


def _is_world(word: str) -> bool:
    from ..world.world_names import bundled_worlds

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


_COMMANDS = {
    "run": Command(
        "simulate a world, or a single model on a floor", "run_options:add_run", "run:run"
    ),
    "check": Command(
        "report all problems of worlds without a run", "command_options:add_check", "worlds:check"
    ),
    "sensors": Command(
        "list the sensors of a world and their options",
        "command_options:add_sensors",
        "worlds:list_sensors",
    ),
    "video": Command(
        "film a run, or take a picture of its end", "command_options:add_video", "video:video"
    ),
    "rviz": Command(
        "print an RViz configuration for a world", "command_options:add_rviz", "worlds:print_rviz"
    ),
    "map": Command(
        "write a map of a world, for Nav2", "command_options:add_map", "worlds:write_map"
    ),
    "scene": Command(
        "write the obstacles of a world, for MoveIt",
        "command_options:add_scene",
        "worlds:write_scene",
    ),
    "page": Command("write a run as one HTML file", "command_options:add_page", "page:page"),
    "replay": Command(
        "replay a recording in the browser or on ROS",
        "command_options:add_replay",
        "recordings:replay",
    ),
    "plot": Command("draw curves of a recording", "command_options:add_plot", "recordings:plot"),
    "study": Command(
        "run a study: a world with values that vary", "command_options:add_study", "study:run_study"
    ),
    "bench": Command(
        "measure simulation speed on this machine", "command_options:add_bench", "worlds:bench"
    ),
    "certify": Command(
        "compare the motion of models in several engines",
        "command_options:add_certify",
        "certify:certify_models",
    ),
}


def _parser() -> CommandParser:
    parser = CommandParser(
        package=__package__,
        commands=_COMMANDS,
        suggestions=SUGGESTIONS,
        completers={"WORLD": _worlds, "FILE": model_files},
        prog="hrp-sim",
        description="Simulate OpenHRP and Choreonoid robots with ODE.",
        epilog="'hrp-sim run rover --view' shows a rover in the browser, 'hrp-sim COMMAND --help' "
        "explains a command. Exit status: 0 success; 1 a problem in the world or a model, or a "
        "failed expectation; 2 usage error; 130 interrupted before there was a result.",
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    return parser


def _worlds(beginning: str) -> list[str]:
    """Return bundled worlds, and files of worlds, projects and models."""
    from ..world.projects import PROJECT_SUFFIXES
    from ..world.world_names import bundled_worlds

    return [*bundled_worlds(), *model_files(beginning, PROJECT_SUFFIXES)]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit status.

    Returns:
        0 success, also if Ctrl-C ended a run; 1 a problem in model or world, or a failed
        expectation; 2 usage error, or a library is not installed; 130 Ctrl-C before there was a
        result.
    """
    return run_program("hrp-sim", lambda: _main(argv))


def _main(argv: Sequence[str] | None) -> int:
    parser = _parser()
    options = parser.parse(argv)
    if options.command == "run":
        from .run_options import check_run

        check_run(parser.commands["run"], options)
    elif options.command == "replay":
        from .command_options import check_replay

        check_replay(parser.commands["replay"], options)
    return _run_command(parser, options)


def _run_command(parser: CommandParser, options: argparse.Namespace) -> int:
    """Run a command; print errors that end it with their source lines."""
    from hrp_model.diagnostics import ModelError, Severity, needs_extra

    from ..engine.engine import PhysicsError
    from ..run.summary import ExpectationError
    from ..world.reporting import print_severity

    try:
        with needs_extra("record") if options.command == "plot" else nullcontext():
            command = parser.function(options)
        return command(options)
    except ModelError as error:
        print_severity("", error.diagnostics, Severity.ERROR)
        return PROBLEMS
    except PhysicsError as error:
        print_problem(error)
        return PROBLEMS
    except ExpectationError as error:
        print_severity("", [error.diagnostic], Severity.ERROR)
        return WRONG_USE


if __name__ == "__main__":
    sys.exit(main())
