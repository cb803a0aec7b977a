"""Recordings that commands read, and ``hrp-sim replay`` and ``plot``."""

from __future__ import annotations

import argparse
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table

from hrp_model import Diagnostics, Severity
from hrp_model.diagnostics import counted, needs_extra
from hrp_model.files.resources import ResourceError, path_from_uri
from hrp_model.files.writer import write_atomically
from hrp_model.printable import printable
from hrp_model.program.command import GOOD, StopSignals, UsageError, missing_ros
from hrp_model.program.console import print_message, print_note, working
from hrp_model.program.outputs import Kind, Output, check_outputs, report_written, writing
from hrp_model.program.tables import output_console
from hrp_msgs.recording import Recording

from ..engine.schedule import NS_PER_S
from ..recording.plot import table
from ..recording.replay import Output as ReplayOutput
from ..recording.replay import Playback, Replay
from ..recording.series import Curve, NumberField, SelectionError, fill, number_fields, rows, select
from ..world.reporting import print_severity, printed_warnings

if TYPE_CHECKING:
    from hrp_msgs.recording import Recording

    from ..recording.recorded_run import RecordedRun
    from ..recording.replay_view import ReplayView
    from ..ros.replay import RosOutput


TRUNCATED = "truncated-recording"
_MAGIC = b"\x89MCAP"


def is_recording(name: str) -> bool:
    """Return whether a file is an MCAP file, by its beginning or its name."""
    if name.lower().endswith(".mcap"):
        return True
    with suppress(OSError, ResourceError, ValueError):
        path = path_from_uri(name)
        if path.is_file():
            with path.open("rb") as file:
                return file.read(len(_MAGIC)) == _MAGIC
    return False


@contextmanager
def recording_errors(diagnostics: Diagnostics) -> Iterator[None]:
    """Report why a recording cannot be used.

    Raises:
        ModelError: It cannot be used.
        MissingLibraryError: A library for recordings is not installed.
    """
    with needs_extra("record"):
        from hrp_msgs.recording import RecordingError
    try:
        yield
    except RecordingError as error:
        has_end = all(problem.code != TRUNCATED for problem in diagnostics.found)
        reason = str(error) if has_end else f"{error}; the file has no proper end"
        diagnostics.error("unusable-recording", reason)
        diagnostics.raise_errors()


def open_recording(name: str, diagnostics: Diagnostics) -> Recording:
    """Open a recording, given by path or URI; a missing end is a warning.

    Raises:
        ModelError: It cannot be used.
        OSError: It cannot be read.
        MissingLibraryError: A library for recordings is not installed.
    """
    with recording_errors(diagnostics):
        from hrp_msgs.recording import Recording

        recording = Recording(path_from_uri(name))
    if recording.truncated:
        message = f"{name} has no proper end; it is used as far as it goes"
        diagnostics.warn(TRUNCATED, message)
    return recording


def recorded_run(recording: Recording, diagnostics: Diagnostics) -> RecordedRun:
    """Return the robots of a recording.

    Raises:
        ModelError: There is none that can be used.
    """
    with recording_errors(diagnostics):
        from ..recording.recorded_run import RecordedRun

        return RecordedRun(recording, diagnostics=diagnostics)


def replay(options: argparse.Namespace) -> int:
    """Execute ``hrp-sim replay``; return the exit status.

    Raises:
        ModelError: The recording, or every robot in it, cannot be used.
        UsageError: ROS is not installed or cannot start, or the port is in use.
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
        outputs: list[ReplayOutput] = []
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
        from ..ros.replay import RosOutput, WrongUseError
    except ImportError as error:
        raise UsageError(missing_ros(error)) from None
    try:
        output = RosOutput(recording)
    except WrongUseError as error:
        raise UsageError(str(error)) from None
    stack.callback(output.close)
    for name, reason in output.left_out.items():
        print_message(f"warning: topic '{printable(name)}' is not published: {printable(reason)}")
    print_note(f"publishing {counted(len(output.topics), 'topic')}")
    return output


_SUFFIXES = (".png", ".svg", ".html", ".csv")
_PAGE_POINTS = 2000  # of a curve, which keeps pages small
# What is drawn if nothing is selected, by type.
_OVERVIEW = {
    "sensor_msgs/msg/JointState": ("position", "effort"),
    "sensor_msgs/msg/Imu": ("angular_velocity", "linear_acceleration"),
    "geometry_msgs/msg/WrenchStamped": ("wrench.force",),
    "nav_msgs/msg/Odometry": ("pose.pose.position",),
}
_MAX_OVERVIEW = 60  # curves


def plot(options: argparse.Namespace) -> int:
    """Execute ``hrp-sim plot``; return the exit status.

    Raises:
        ModelError: The recording cannot be used.
        UsageError: A selected curve does not exist, or the output cannot be written.
    """
    output: Path | None = options.output
    if output is None and options.fields:
        output = Path(Path(options.file).stem + ".png")
    if output is not None and output.suffix.lower() not in _SUFFIXES:
        raise UsageError(f"cannot write {output}: the suffix must be one of {', '.join(_SUFFIXES)}")
    check_outputs([Output("-o", output, Kind.PLOT)], inputs=[options.file], force=options.force)
    try:
        with (
            printed_warnings(options.file) as diagnostics,
            recording_errors(diagnostics),
            working(f"reading {options.file}"),
        ):
            recording = open_recording(options.file, diagnostics)
            curves = _curves(recording, options.fields, output)
            if output is not None:
                content = _content(recording, curves, output)
    except SelectionError as error:
        raise UsageError(str(error)) from None
    if output is None:
        if not recording.topics:
            print_message(f"{printable(options.file)} has no topics")
            return GOOD
        _print_fields(recording)
        return GOOD
    with writing():
        write_atomically(output, content)
    report_written([output], [counted(len(curves), "curve")])
    return GOOD


def _curves(
    recording: Recording, selections: Sequence[str], output: Path | None
) -> Sequence[Curve]:
    """Return what is to be drawn, without values."""
    if selections or output is None:
        return select(recording, selections)
    found: list[Curve] = []
    for topic in recording.topics.values():
        if topic.readable and topic.count:
            present = {number.name for number in number_fields(recording, topic.name)}
            for name in _OVERVIEW.get(topic.type_name, ()):
                if any(f"{p}.".startswith(f"{name}.") for p in present):
                    with suppress(SelectionError):  # there are very many
                        curves = select(recording, [f"{topic.name}.{name}"])
                        found += curves if len(found) + len(curves) <= _MAX_OVERVIEW else ()
    if not found:
        raise SelectionError("there is no joint or sensor to draw by default: select a TOPIC.FIELD")
    return found


def _content(recording: Recording, curves: Sequence[Curve], output: Path) -> bytes:
    """Return the content of the output file."""
    suffix = output.suffix.lower()
    if suffix == ".csv":
        return table(curves, rows(recording, curves))
    with needs_extra("record"):
        from ..recording.plot import Plot  # imports matplotlib

    fill(recording, curves, *([_PAGE_POINTS] if suffix == ".html" else []))
    picture = Plot(curves, recording.path.name)
    return {".png": picture.png, ".svg": picture.svg, ".html": picture.page}[suffix]()


def _print_fields(recording: Recording) -> None:
    """Print all topics with the numbers in their messages."""
    shown = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("topic", "messages", "field", "unit"):
        shown.add_column(
            column, overflow="fold", justify="right" if column == "messages" else "left"
        )
    for topic in sorted(recording.topics.values(), key=lambda topic: topic.name):
        cells = [printable(topic.name.removeprefix("/")), str(topic.count)]
        numbers = number_fields(recording, topic.name) if topic.readable else []
        for number in numbers:
            shown.add_row(*cells, printable(number.name) + _elements(number), number.unit)
            cells = ["", ""]
        if not numbers:
            reason = "no numbers" if topic.readable else "cannot be decoded"
            kind = f": {printable(topic.type_name)}" if topic.type_name else ""
            shown.add_row(*cells, f"({reason if topic.count else 'no messages'}{kind})")
    output_console().print(shown)


def _elements(number: NumberField) -> str:
    if number.size is None:
        return ""
    if not number.elements:
        return f"[0..{number.size - 1}]"
    return f"[{number.elements[0]}]" + (f" and {number.size - 1} more" if number.size > 1 else "")
