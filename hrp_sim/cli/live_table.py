"""What a run shows of itself: a table of topics or sensors, their rates, and how fast it goes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from hrp_model.printable import printable

from ..physics.schedule import NS_PER_S
from ..running.runner import Runner

# Rates are measured over at least this much simulated time, in [s], once there was so much.
WINDOW = 1.0


@dataclass(frozen=True, slots=True)
class Line:
    """One row of the table.

    Attributes:
        name: Of a topic or a sensor.
        what: Its type.
        count: Messages or readings so far.
        heard: Share of them that a listener heard, None if there is none or nothing yet.
        wanted: False if nobody has subscribed to the topic.
    """

    name: str
    what: str
    count: int
    heard: float | None = None
    wanted: bool = True


class LiveTable:
    """The live table of a run.

    Args:
        title: Above the table.
        runner: Whose speed is shown.
        lines: Called for the rows, each time the table is drawn.
        listening: Whether there is a listener, and so a column for what it heard.
    """

    def __init__(
        self,
        title: str,
        runner: Runner,
        lines: Callable[[], list[Line]],
        *,
        listening: bool = False,
    ) -> None:
        self._title = title
        self._runner = runner
        self._lines = lines
        self._listening = listening
        self._base: dict[str, int] = {}
        self._base_ns = runner.simulation.state.time_ns  # later than 0 after --restore
        self._rates: dict[str, float] = {}

    def __rich__(self) -> RenderableType:
        """Draw the table as of now."""
        now_ns = self._runner.simulation.state.time_ns
        lines = self._lines()
        self._measure(lines, now_ns)
        table = Table(title=printable(self._title), title_justify="left", title_style="bold")
        table.add_column("name", no_wrap=True)
        # Of a narrow terminal this column gives way: the numbers are what one looks for.
        table.add_column("what", style="dim", overflow="ellipsis")
        table.add_column("per sim. s", justify="right", no_wrap=True)
        if self._listening:
            table.add_column("heard", justify="right", style="green", no_wrap=True)
        for line in lines:
            rate = Text(f"{self._rates.get(line.name, 0.0):.1f}" if line.count else "-")
            if not line.wanted and rate.plain in ("-", "0.0"):
                rate = Text("nobody listens", "dim")
            heard = (
                [("-" if line.heard is None else f"{line.heard:.0%}")] if self._listening else []
            )
            table.add_row(printable(line.name), printable(line.what), rate, *heard)
        clock = f"time {now_ns / NS_PER_S:9.3f} s"
        if factor := self._runner.measured_factor:
            clock += f"    real-time factor {factor:5.2f}"
        return Group(table, Text(clock))

    def _measure(self, lines: list[Line], now_ns: int) -> None:
        elapsed = (now_ns - self._base_ns) / NS_PER_S
        if elapsed < 0.0:  # a reset: time began anew
            self._base = {line.name: line.count for line in lines}
            self._base_ns = now_ns
        if elapsed <= 0.0 or (elapsed < WINDOW and self._base):
            return
        for line in lines:
            self._rates[line.name] = (line.count - self._base.get(line.name, 0)) / elapsed
        if elapsed >= WINDOW:
            self._base = {line.name: line.count for line in lines}
            self._base_ns = now_ns
