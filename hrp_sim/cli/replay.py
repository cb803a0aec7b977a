"""``hrp-sim replay``: a recording in the browser, or on its topics again."""

from __future__ import annotations

import argparse
import threading
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING

from hrp_model import Diagnostics, Severity
from hrp_model.diagnostics import counted
from hrp_model.printable import printable
from hrp_model.program.command import GOOD, StopSignals, UsageError, missing_ros
from hrp_model.program.console import print_message, print_note, working

from ..engine.schedule import NS_PER_S
from ..recording.playback import Playback
from ..recording.replay import Output, Replay
from ..world.reporting import print_severity
from .recordings import TRUNCATED, open_recording, recorded_run, recording_errors

if TYPE_CHECKING:
    from hrp_msgs.recording import Recording

    from ..recording.replay_view import ReplayView
    from ..ros.replay import RosOutput


def replay(options: argparse.Namespace) -> int:
    """Execute ``hrp-sim replay``; return the exit status.

    Raises:
        ModelError: The recording, or every robot in it, cannot be used.
        UsageError: ROS is not installed, or the port is in use.
        KeyboardInterrupt: A signal came before the replay.
    """
    is_shown = options.view or not options.ros
    diagnostics = Diagnostics.silent()
    with StopSignals() as signals, ExitStack() as stack:
        recording = open_recording(options.file, diagnostics)
        end_ns = recording.end_ns
        if options.duration is not None:
            end_ns = min(end_ns, recording.start_ns + round(options.duration * NS_PER_S))
        clock = Playback(recording.start_ns, end_ns, options.rtf)
        outputs: list[Output] = []
        if options.ros:
            outputs.append(_on_topics(recording, stack))
        if is_shown:
            outputs.append(_in_browser(options, recording, clock, stack, diagnostics))
        _print_problems(options.file, diagnostics)
        clock.jump(clock.start_ns)  # loading took time
        stopped = threading.Event()
        signals.stop(stopped.set)
        with recording_errors(diagnostics):
            run = Replay(recording, clock, outputs, sleep=stopped.wait, wall=time.monotonic)
            print_note("Ctrl-C ends the replay")
            run.run(goes_on=lambda: not (stopped.is_set() or (run.is_finished and not is_shown)))
    return GOOD


def _print_problems(name: str, diagnostics: Diagnostics) -> None:
    """Print problems of the recording, and the number of those of its robots."""
    found = [x for x in diagnostics.found if x.severity is not Severity.NOTE]
    own = [x for x in found if x.code == TRUNCATED]
    print_severity(name, own, Severity.WARNING)
    if count := len(found) - len(own):
        print_note(f"{counted(count, 'problem')} of the robots; 'hrp-sim page' lists them")


def _in_browser(
    options: argparse.Namespace,
    recording: Recording,
    clock: Playback,
    stack: ExitStack,
    diagnostics: Diagnostics,
) -> ReplayView:
    from hrp_model.view.viewer import Viewer

    from ..recording.replay_view import ReplayView

    with working(f"reading {options.file}"):
        run = recorded_run(recording, diagnostics)
    viewer = stack.enter_context(Viewer(options.port, options.host))
    view = ReplayView(
        viewer,
        recording,
        run,
        clock,
        lambda problem: print_message(f"warning: {printable(problem)}"),
        waits=not options.ros,
    )
    viewer.print_address()
    if options.browser:
        viewer.open_browser()
    return view


def _on_topics(recording: Recording, stack: ExitStack) -> RosOutput:
    try:
        from ..ros.replay import RosOutput
    except ImportError as error:
        raise UsageError(missing_ros(error)) from None
    output = RosOutput(recording)
    stack.callback(output.close)
    for name, reason in output.left_out.items():
        print_message(f"warning: topic '{printable(name)}' is not published: {printable(reason)}")
    print_note(f"publishing {counted(len(output.topics), 'topic')}")
    return output
