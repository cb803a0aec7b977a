"""``hrp-sim plot``: curves of a recording."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from rich.table import Table

from hrp_model.diagnostics import counted, needs_extra
from hrp_model.files.writer import write_atomically
from hrp_model.printable import printable
from hrp_model.program.command import GOOD, UsageError
from hrp_model.program.console import output_console, print_message, working
from hrp_model.program.outputs import Kind, Output, check_outputs, report_written, writing
from hrp_msgs.recording import Recording

from ..recording.series import Curve, NumberField, SelectionError, fill, number_fields, rows, select
from ..recording.table import table
from ..world.reporting import printed_warnings
from .recordings import open_recording, recording_errors

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
