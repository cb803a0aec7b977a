"""Live table of a run: topics or sensors with their rates, and the real-time factor."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from hrp_model.printable import printable

from ..engine.schedule import NS_PER_S
from ..run.run import Run

# Minimum simulation time over which rates are measured, in [s], except at the beginning.
WINDOW = 1.0
MAX_ROWS = 300  # of thousands of sensors, drawing all takes longer than the steps


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the table.

    Attributes:
        name: Name of a topic or a sensor.
        type: Its type.
        count: Number of messages or readings so far.
        received: Share of them received by a listener; None if unknown.
        is_subscribed: Whether the topic has subscribers.
    """

    name: str
    type: str
    count: int
    received: float | None = None
    is_subscribed: bool = True


class LiveTable:
    """The live table of a run.

    Args:
        title: Title of the table.
        runner: The run.
        rows: Returns the present rows.
        listening: Whether to show a column for the share of received messages.
    """

    def __init__(
        self,
        title: str,
        runner: Run,
        rows: Callable[[], list[Row]],
        *,
        listening: bool = False,
    ) -> None:
        self._title = title
        self._runner = runner
        self._rows = rows
        self._listening = listening
        self._base: dict[str, int] = {}
        self._base_ns = runner.simulation.state.time_ns  # later than 0 after --restore
        self._rates: dict[str, float] = {}

    def __rich__(self) -> RenderableType:
        """Return the present table."""
        now_ns = self._runner.simulation.state.time_ns
        rows = self._rows()
        self._measure(rows, now_ns)
        table = Table(title=printable(self._title), title_justify="left", title_style="bold")
        table.add_column("name", no_wrap=True)
        # This column is truncated in a narrow terminal, since the numbers matter most.
        table.add_column("type", style="dim", overflow="ellipsis")
        table.add_column("per sim. s", justify="right", no_wrap=True)
        if self._listening:
            table.add_column("received", justify="right", style="green", no_wrap=True)
        for row in rows[:MAX_ROWS]:
            rate = Text(f"{self._rates.get(row.name, 0.0):.1f}" if row.count else "-")
            if not row.is_subscribed and rate.plain in ("-", "0.0"):
                rate = Text("no subscriber", "dim")
            cells: list[str | Text] = [printable(row.name), printable(row.type), rate]
            if self._listening:
                cells.append("-" if row.received is None else f"{row.received:.0%}")
            table.add_row(*cells)
        clock = f"time {now_ns / NS_PER_S:9.3f} s"
        if factor := self._runner.measured_factor:
            clock += f"    real-time factor {factor:5.2f}"
        more = [Text(f"and {len(rows) - MAX_ROWS} more", "dim")] if len(rows) > MAX_ROWS else []
        return Group(table, *more, Text(clock))

    def _measure(self, rows: list[Row], now_ns: int) -> None:
        elapsed = (now_ns - self._base_ns) / NS_PER_S
        if elapsed < 0.0:  # after a reset
            self._base = {row.name: row.count for row in rows}
            self._base_ns = now_ns
        if elapsed <= 0.0 or (elapsed < WINDOW and self._base):
            return
        for row in rows:
            self._rates[row.name] = (row.count - self._base.get(row.name, 0)) / elapsed
        if elapsed >= WINDOW:
            self._base = {row.name: row.count for row in rows}
            self._base_ns = now_ns
