"""Options of the commands for recordings and for many runs."""

from __future__ import annotations

import argparse
from pathlib import Path

from hrp_model.cli.common import MODEL
from hrp_model.cli.view import add_viewer_arguments, given_viewer_options
from hrp_model.program.outputs import add_force
from hrp_model.program.parsing import number, positive

from ..lab.sweeps import MAX_TIMEOUT
from ..world.world_names import DEFAULT_WORLD
from .run_options import (
    DEFAULT_DURATION,
    WORLD,
    add_physics,
    add_project,
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
