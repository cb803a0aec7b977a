"""Options of the commands beside ``run``."""

from __future__ import annotations

import argparse
from pathlib import Path

from hrp_model.cli.view import add_viewer_arguments, given_viewer_options
from hrp_model.program.outputs import add_force
from hrp_model.program.parsing import MODEL, number, positive
from hrp_msgs.names import NAMINGS, STANDARD

from ..lab.sweeps import MAX_TIMEOUT
from ..world.world_names import DEFAULT_WORLD
from .run_options import (
    DEFAULT_DURATION,
    WORLD,
    add_physics,
    add_project,
    add_world,
    fps,
    seed,
    size,
    states,
    viewpoint,
)

_FILE = "recording (.mcap)"


def add_page(page: argparse.ArgumentParser) -> None:
    """Add the options of ``hrp-sim page``."""
    page.description = (
        "Write one HTML file with the models, their problems, and a run on a time slider. It opens "
        "from disk in any browser and loads nothing from anywhere."
    )
    page.add_argument(
        "file", metavar="FILE", help=f"{_FILE}, or a world or model, which is simulated: {WORLD}"
    )
    page.add_argument("output", type=Path, metavar="OUT.html", help="file to write")
    add_project(page)
    page.add_argument(
        "--duration",
        type=positive,
        metavar="S",
        help="show S seconds from the start (default: the whole recording, or "
        f"{DEFAULT_DURATION:g} s of simulation)",
    )
    add_force(page)


def add_replay(replay: argparse.ArgumentParser) -> None:
    """Add the options of ``hrp-sim replay``."""
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
        type=positive,
        default=1.0,
        metavar="F",
        help="replayed time per wall time (default: %(default)g)",
    )
    replay.add_argument(
        "--duration",
        type=positive,
        metavar="S",
        help="replay only the first S seconds",
    )


def check_replay(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    """Exit with a usage error if the options of a replay conflict."""
    if options.ros and not options.view and (given := given_viewer_options(options)):
        parser.error(f"{given[0]} needs --view")


def add_plot(plot: argparse.ArgumentParser) -> None:
    """Add the options of ``hrp-sim plot``."""
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


def add_video(video: argparse.ArgumentParser) -> None:
    """Add the options of ``hrp-sim video``."""
    video.description = (
        "Film a simulation or a recording, with shadows and a grid on the ground. docs/viewing.md "
        "has examples."
    )
    video.add_argument(
        "world",
        metavar="WORLD",
        help=f"recording (.mcap), {WORLD}",
    )
    add_project(video)
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
        type=viewpoint,
        metavar="AZIMUTH,ELEVATION[,DISTANCE]",
        help="direction to look from, in degrees from the x axis and above the horizon, and "
        "distance in [m], such as --view=-60,20 (default: near the front, so that all robots are "
        "in the picture and nothing hides them)",
    )
    video.add_argument(
        "--size",
        type=size,
        metavar="WxH",
        help="width and height in pixels (default: 1280x720; with --camera: 720 high, and as wide "
        "as its images)",
    )
    video.add_argument(
        "--fps",
        type=fps,
        default=30.0,
        metavar="N",
        help="frames per second (default: %(default)g)",
    )
    video.add_argument(
        "--duration",
        type=positive,
        metavar="S",
        help=f"simulation time to film (default: {DEFAULT_DURATION:g} s; the whole recording)",
    )
    add_force(video)
    add_physics(video)


_jobs = number(int, "a whole number from 1 to 1000", lambda value: 1 <= value <= 1000)
_timeout = number(
    float,
    f"a number of seconds above 0, up to {MAX_TIMEOUT:g}",
    lambda value: 0.0 < value <= MAX_TIMEOUT,
)


def add_study(study: argparse.ArgumentParser) -> None:
    """Add the options of ``hrp-sim study``."""
    study.description = (
        "Run a study: a world many times with values that vary, such as friction, masses or "
        "pushes. The folder gets a table of the results and a report; the same command continues "
        "an interrupted study. docs/studies.md lists what a study may contain."
    )
    study.add_argument("study", metavar="STUDY", help="study file (.yaml)")
    study.add_argument("--out", type=Path, metavar="FOLDER", help="folder for all results")
    study.add_argument(
        "--jobs",
        type=_jobs,
        metavar="N",
        help="number of processes (default: one for each CPU)",
    )
    study.add_argument(
        "--cluster",
        metavar="ADDRESS",
        help="run on the workers of this Dask scheduler, such as tcp://host:8786",
    )
    study.add_argument(
        "--timeout",
        type=_timeout,
        metavar="S",
        help="wall time after which a case fails, in [s] (default: none)",
    )
    study.add_argument(
        "--dry-run", action="store_true", help="check everything and list the cases, without a run"
    )


def add_bench(bench: argparse.ArgumentParser) -> None:
    """Add the options of ``hrp-sim bench``."""
    bench.description = (
        "Measure how fast a world or a model runs on this machine, where the time goes, and which "
        "settings make it faster. docs/performance.md explains the result."
    )
    bench.add_argument(
        "world",
        nargs="?",
        default=DEFAULT_WORLD,
        metavar="WORLD",
        help=f"{WORLD}; default: {DEFAULT_WORLD}",
    )
    add_project(bench)
    bench.add_argument(
        "--duration",
        type=positive,
        default=1.0,
        metavar="S",
        help="simulation time to measure, from the start (default: %(default)g s)",
    )
    bench.add_argument("--json", action="store_true", help="print the result as JSON")


def add_certify(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``hrp-sim certify``."""
    parser.description = (
        "Compare the motion of models without contacts in the engine, and in pinocchio and MuJoCo "
        "with the URDF of the model: accelerations in random states, gravity torques, momentum, "
        "and the engine's motion of a second with an exact solution. docs/certificates.md "
        "explains the result. The exit status is 1 if a model is not equal in the engine and a "
        "library."
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help=MODEL)
    parser.add_argument(
        "--urdf",
        type=Path,
        metavar="FILE",
        help="certify this URDF of the one model, written by 'hrp-model urdf' with its default "
        "names, instead of a new one",
    )
    parser.add_argument(
        "--states",
        type=states,
        default=100,
        metavar="N",
        help="number of random states (default: %(default)s)",
    )
    parser.add_argument(
        "--seed",
        type=seed,
        default=0,
        metavar="N",
        help="of the states (default: %(default)s)",
    )
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    parser.add_argument(
        "--page", type=Path, metavar="OUT.html", help="also write the result as a page"
    )
    add_force(parser)


def add_check(check: argparse.ArgumentParser) -> None:
    """Add the options of ``hrp-sim check``."""
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


def add_sensors(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``hrp-sim sensors``."""
    add_world(parser)
    add_project(parser)
    _add_naming(parser)


def _add_naming(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--naming",
        choices=NAMINGS,
        default=STANDARD,
        help="topic naming, as the parameter 'naming' of sim_node (default: %(default)s)",
    )


def add_rviz(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``hrp-sim rviz``."""
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


def add_map(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``hrp-sim map``."""
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


def add_scene(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``hrp-sim scene``."""
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
