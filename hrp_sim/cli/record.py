"""The recording of ``hrp-sim run --record``."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from hrp_model import Diagnostic, ModelError, Severity
from hrp_model.program.console import print_message, working
from hrp_model.program.outputs import writing
from hrp_msgs.names import NameCollisionError

from ..run.run import Run
from ..topics.run_recording import RunRecording
from ..world.reporting import printed_warnings


def open_recording(path: Path) -> RunRecording:
    """Open a recording; problems are printed when they occur.

    Raises:
        MissingLibraryError: A library for recordings is not installed.
        UsageError: The file cannot be written.
    """
    with writing():
        return RunRecording(path, warn=_warn, on_error=partial(_print, "error"))


def record_world(recording: RunRecording, world: str, runner: Run) -> None:
    """Record a run without ROS, with all its images; to be called before it.

    Args:
        recording: The recording.
        world: The world as the user gave it.
        runner: The run.

    Raises:
        ModelError: Two bodies or devices would have the same topic.
        OSError: The meshes of a description cannot be written.
    """
    from ..topics.world import recorded_world  # needs the messages

    with printed_warnings(world) as diagnostics, working(f"describing {world}"):
        try:
            recorded = recorded_world(recording, runner.simulation, diagnostics, _warn)
        except NameCollisionError as error:
            problem = Diagnostic(Severity.ERROR, "name-collision", str(error))
            raise ModelError([problem]) from None
    runner.keeps_images = True
    runner.add(recorded)


def _warn(message: str) -> None:
    _print("warning", message)


def _print(severity: str, message: str) -> None:
    print_message(f"{severity}: {message}")
