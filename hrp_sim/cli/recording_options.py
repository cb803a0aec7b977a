"""Options of the commands that use recordings: replay, plot, video and page."""

from __future__ import annotations

import argparse
from pathlib import Path

from hrp_model.cli.view import add_viewer_arguments, given_viewer_options
from hrp_model.program.outputs import add_force
from hrp_model.program.parsing import CommandParser

from . import argument_types
from .run_options import DEFAULT_DURATION, WORLD, add_physics, add_project

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
        type=argument_types.positive,
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


def check_replay(parser: CommandParser, options: argparse.Namespace) -> None:
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
    add_physics(video)
