"""Options of ``hrp-sim run``, those that other commands share with it, and their types."""

from __future__ import annotations

import argparse
import re
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from hrp_model.cli.view import add_viewer_arguments, given_viewer_options
from hrp_model.program.outputs import add_force
from hrp_model.program.parsing import PrintText, add_estimated_masses, number, positive

from ..engine.engine import ENGINES, PHYSICS_RANGES, Solver
from ..sensors.settings import OptionValue
from ..world.sensor_options import parse_option
from ..world.world_names import DEFAULT_WORLD

if TYPE_CHECKING:
    from hrp_model.program.parsing import Arguments

    from ..world.config import WorldConfig
    from ..world.projects import ProjectOptions


_LARGEST = 1e9  # [s], or a factor; nanoseconds of it fit in 64 bits
not_negative = number(float, "a number from 0 to 1e9", lambda value: 0.0 <= value <= _LARGEST)
seed = number(
    int,
    "a whole number from {} to {}".format(*PHYSICS_RANGES["seed"]),
    lambda value: PHYSICS_RANGES["seed"][0] <= value <= PHYSICS_RANGES["seed"][1],
)
states = number(int, "a whole number from 1 to 10000", lambda value: 1 <= value <= 10_000)

time_step = number(
    float,
    "a number of seconds from {:g} to {:g}".format(*PHYSICS_RANGES["time_step"]),
    lambda value: PHYSICS_RANGES["time_step"][0] <= value <= PHYSICS_RANGES["time_step"][1],
)

fps = number(float, "a number from 1 to 240", lambda value: 1.0 <= value <= 240.0)


def variable(text: str) -> tuple[str, tuple[str, ...]]:
    """Return name and folders of ``NAME=FOLDER``; the folders must exist."""
    from ..world.projects import parse_variable

    try:
        return parse_variable(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def size(text: str) -> tuple[int, int]:
    """Return width and height of ``WxH``, in pixels."""
    if (found := re.fullmatch(r"([0-9]{1,6})[xX]([0-9]{1,6})", text)) is None:
        raise argparse.ArgumentTypeError(f"must be WIDTHxHEIGHT, such as 1280x720, not '{text}'")
    return int(found[1]), int(found[2])


def viewpoint(text: str) -> tuple[float, ...]:
    """Return the numbers of ``AZIMUTH,ELEVATION[,DISTANCE]``."""
    with suppress(ValueError):
        numbers = tuple(float(part) for part in text.split(","))
        if len(numbers) in (2, 3):
            return numbers
    raise argparse.ArgumentTypeError(
        f"must be AZIMUTH,ELEVATION[,DISTANCE], such as 35,15 or 35,15,4, not '{text}'"
    )


def sensor_option(text: str) -> tuple[str, OptionValue]:
    """Return the name and the value of ``[SENSOR.]OPTION=VALUE``."""
    try:
        return parse_option(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


# Of a run of the default world without a terminal, of films and of pages, in [s].
DEFAULT_DURATION = 5.0
WORLD = (
    "world file (.yaml), project (.cnoid, .xml, .world) or model (.wrl, .body, .yaml, .urdf, "
    ".xacro, .sdf, .dae, MJCF), given by path or URI, or the name of a bundled world, such as rover"
)


def add_world(parser: Arguments) -> None:
    """Add the argument for a world."""
    parser.add_argument("world", metavar="WORLD", help=WORLD)


def add_project(parser: Arguments) -> None:
    """Add the options of reading projects."""
    parser.add_argument(
        "--simulator",
        default="",
        metavar="NAME",
        help="of a project: take the settings of this simulator item (default: the first one)",
    )
    parser.add_argument(
        "--variable",
        dest="variables",
        type=variable,
        action="append",
        default=[],
        metavar="NAME=FOLDER",
        help="of a project: the folder that ${NAME} stands for in paths, such as SHARE=FOLDER, or "
        "several, SHARE=FOLDER:FOLDER; may be repeated (default: from the environment; SHARE is a "
        "folder 'share' above the project)",
    )
    add_estimated_masses(parser)


def project_options(options: argparse.Namespace) -> ProjectOptions:
    """Return the options of ``add_project``."""
    from ..world.projects import ProjectOptions, merged

    given: list[str] = getattr(options, "controller", [])
    return ProjectOptions(
        simulator=options.simulator,
        variables=merged(options.variables),
        controlled=[text.partition("=")[0] for text in given],
        density=options.estimate_masses,
    )


def take_duration(options: argparse.Namespace, world: WorldConfig) -> None:
    """End a run after the duration of its project, unless one is given or ``--view`` shows it."""
    if options.duration is None and not options.view:
        options.duration = world.duration


def add_run(run: argparse.ArgumentParser) -> None:
    """Add the options of the simulation, of the course of the run, and of its results."""
    run.usage = "%(prog)s [option ...] [WORLD]"
    run.description = "Simulate a world, or a single model on a floor, and print the result."
    _add_world(run.add_argument_group("world"))
    _add_time(run.add_argument_group("time"))
    add_physics(run.add_argument_group("physics"))
    _add_controllers(run.add_argument_group("controllers"))
    _add_outputs(run.add_argument_group("output"))
    _add_ros(run.add_argument_group("ROS"))
    _add_browser(run.add_argument_group("browser"))
    _add_checks(run.add_argument_group("checks"))


def _add_world(run: Arguments) -> None:
    run.add_argument(
        "world",
        nargs="?",
        metavar="WORLD",
        help=f"{WORLD}; default: {DEFAULT_WORLD}, for {DEFAULT_DURATION:g} s if standard output "
        "is not a terminal",
    )
    add_project(run)
    run.add_argument(
        "--sensor",
        type=sensor_option,
        action="append",
        default=[],
        metavar="[SENSOR.]OPTION=VALUE",
        help="set an option of all sensors, or of those with this name, such as gyro.rate=200; may "
        "be repeated; 'hrp-sim sensors' lists the options",
    )


def _add_time(run: Arguments) -> None:
    run.add_argument(
        "--duration",
        type=positive,
        metavar="S",
        help="end after S seconds of simulation time (default: as a project states, else run "
        "until Ctrl-C)",
    )
    run.add_argument(
        "--rtf",
        type=not_negative,
        metavar="F",
        help="real-time factor; 0 = as fast as possible (default: 1 with --ros or --view, else 0)",
    )
    run.add_argument(
        "--paused",
        action="store_true",
        help="with --ros or --view: start paused",
    )
    run.add_argument(
        "--restore",
        type=Path,
        metavar="FILE",
        help="start from a state saved by --save; --duration counts from there",
    )


def _add_controllers(run: Arguments) -> None:
    which = run.add_mutually_exclusive_group()
    which.add_argument(
        "--controller",
        action="append",
        default=[],
        metavar="BODY=MODULE:CLASS",
        help="run a controller, a Python class, for a body; also BODY=FILE.py:CLASS; may be "
        "repeated; docs/controllers.md explains how to write one",
    )
    which.add_argument(
        "--no-controllers",
        dest="run_controllers",
        action="store_false",
        help="do not run the controllers of the world, whose code may do anything",
    )


def add_physics(run: Arguments) -> None:
    """Add the options of the physics."""
    run.add_argument(
        "--engine",
        choices=ENGINES,
        default=ENGINES[0],
        help="physics engine: ode supports everything; pyode needs python3-pyode, supports "
        "primitives and common joints only, and is slower (default: %(default)s)",
    )
    run.add_argument(
        "--time-step",
        type=time_step,
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
        help="constraint solver; world: exact; quick: iterative, for large heaps (default: from "
        "the world)",
    )
    run.add_argument(
        "--seed",
        type=seed,
        metavar="N",
        help="seed of the order in which constraints are solved (default: from the world)",
    )


def with_physics_options(world: WorldConfig, options: argparse.Namespace) -> WorldConfig:
    """Return a world with the options of ``add_physics`` applied, except for the engine."""
    return world.with_physics(
        solver=Solver(options.solver) if options.solver else None,
        seed=options.seed,
        time_step=options.time_step,
        joint_limits=options.joint_limits,
    )


def _add_outputs(run: Arguments) -> None:
    run.add_argument(
        "--record",
        type=Path,
        metavar="OUT.mcap",
        help="record in an MCAP file the topics that --ros publishes; --ros is not needed",
    )
    run.add_argument("--trace", type=Path, metavar="FILE", help="write the motion as JSON lines")
    run.add_argument(
        "--every",
        type=positive,
        metavar="S",
        help="simulation time between lines of --trace, in [s] (default: every step)",
    )
    run.add_argument(
        "--save",
        type=Path,
        metavar="FILE",
        help="save the final state, also after Ctrl-C or a failure of the physics",
    )
    add_force(run)
    run.add_argument(
        "--json",
        action="store_true",
        help="print the result as JSON (docs/run-schema.json) instead of tables",
    )


def _add_ros(run: Arguments) -> None:
    run.add_argument(
        "--ros", action=argparse.BooleanOptionalAction, default=False, help="connect to ROS 2"
    )
    run.add_argument(
        "--listen",
        action="store_true",
        help="with --ros: subscribe to all topics in a second process, show the share of messages "
        "it received, and fail if some are missing",
    )


def _add_browser(run: Arguments) -> None:
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


def _add_checks(run: Arguments) -> None:
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
    run.add_argument(
        "--list-codes",
        action=PrintText,
        text=_code_list,
        help="explain all diagnostic codes of worlds, and exit; 'hrp-model check --list-codes' "
        "explains those of models",
    )


def check_run(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    """Complete the options of a run; exit with a usage error if they conflict."""
    if options.world is None:
        options.world = DEFAULT_WORLD
        if options.duration is None and not (options.ros or options.view or sys.stdout.isatty()):
            options.duration = DEFAULT_DURATION
    if options.listen and not options.ros:
        parser.error("--listen needs --ros")
    if options.paused and not (options.ros or options.view):
        parser.error("--paused needs --ros or --view, by which the run is resumed")
    of_page = [*(["--watch"] if options.watch else []), *given_viewer_options(options)]
    if of_page and not options.view:
        parser.error(f"{of_page[0]} needs --view")
    if options.watch and options.ros:
        parser.error("--watch cannot be combined with --ros, whose services load worlds")
    if options.every and not options.trace:
        parser.error("--every needs --trace")


def _code_list() -> str:
    from hrp_model.program.report import code_list

    from ..world.reporting import CODES

    return code_list(CODES)
