"""The live table of a run, and a listener that counts what arrives of its topics."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from hrp_model.late_dataclass import dataclass
from hrp_model.printable import printable

from ..engine.schedule import NS_PER_S
from ..run.run import Run

if TYPE_CHECKING:
    from rich.console import RenderableType

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
        missing: Why there are no messages or readings, empty if there is no reason.
    """

    name: str
    type: str
    count: int
    received: float | None = None
    missing: str = ""


class LiveTable:
    """The live table of a run.

    Args:
        title: Title of the table.
        run: The run.
        rows: Returns the present rows.
        listening: Whether to show a column for the share of received messages.
    """

    def __init__(
        self,
        title: str,
        run: Run,
        rows: Callable[[], list[Row]],
        *,
        listening: bool = False,
    ) -> None:
        self._title = title
        self._run = run
        self._rows = rows
        self._listening = listening
        self._base: dict[str, int] = {}
        self._base_ns = run.simulation.state.time_ns  # later than 0 after --restore
        self._rates: dict[str, float] = {}

    def __rich__(self) -> RenderableType:
        """Return the present table for a terminal."""
        from rich.console import Group  # which files and pipes need not
        from rich.table import Table
        from rich.text import Text

        (head, *rows), below = self._content()
        # Not the title of the table, which would be folded at its width.
        title = Text(printable(self._title), "bold", overflow="fold")
        table = Table()
        table.add_column(head[0], no_wrap=True)
        # This column is truncated in a narrow terminal, since the numbers matter most.
        table.add_column(head[1], style="dim", overflow="ellipsis")
        table.add_column(head[2], justify="right", no_wrap=True)
        if self._listening:
            table.add_column(head[3], justify="right", style="green", no_wrap=True)
        for name, kind, rate, *received in rows:
            style = "" if rate[:1].isdigit() else "dim"
            table.add_row(name, kind, Text(rate, style), *received)
        return Group(title, table, *map(Text, below))

    def text(self) -> str:
        """Return the present table as lines for a file or a pipe."""
        rows, below = self._content()
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [
            "  ".join(
                cell.ljust(width) if number < 2 else cell.rjust(width)
                for number, (cell, width) in enumerate(zip(row, widths, strict=True))
            )
            for row in rows
        ]
        return "\n".join([self._title, *lines, *below])

    def _content(self) -> tuple[list[list[str]], list[str]]:
        """Return the cells of each row, the headings first, and the lines below."""
        now_ns = self._run.simulation.state.time_ns
        rows = self._rows()
        self._measure(rows, now_ns)
        cells = [["name", "type", "per sim. s", *(["received"] if self._listening else [])]]
        for row in rows[:MAX_ROWS]:
            rate = f"{self._rates.get(row.name, 0.0):.1f}" if row.count else "-"
            if row.missing and rate in ("-", "0.0"):
                rate = row.missing
            cells.append([printable(row.name), printable(row.type), rate])
            if self._listening:
                cells[-1].append("-" if row.received is None else f"{row.received:.0%}")
        below = [f"and {len(rows) - MAX_ROWS} more"] if len(rows) > MAX_ROWS else []
        clock = f"time {now_ns / NS_PER_S:9.3f} s"
        if factor := self._run.measured_factor:
            clock += f"    real-time factor {factor:5.2f}"
        return cells, [*below, clock]

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


# Required share of received messages between the listener's first and last report.
MIN_SHARE = 0.9
# A lagging listener needs time to empty its queue; it reports once a second.
SETTLING_REPORTS = 10
SETTLING_TIME = 10.0  # [s] for a report, of which there is one a second on a machine without load
STARTING_TIME = 60.0  # [s]; a process may start slowly on a loaded machine


def missing_messages(
    first: Mapping[str, tuple[int, int]],
    last: Mapping[str, tuple[int, int]],
    sent: Mapping[str, int],
) -> dict[str, int]:
    """Return the number of messages not received yet, for each topic with any.

    Args:
        first: (received, published) of each topic in the first report of it.
        last: The same, in the last report.
        sent: Numbers of messages that should be received.
    """
    missing = {}
    for topic, (received, published) in first.items():
        if (count := sent.get(topic, 0) - published - (last[topic][0] - received)) > 0:
            missing[topic] = count
    return missing


class Listener:
    """Runs ``python -m hrp_msgs.topics.listen`` and collects its reports.

    Args:
        published: Returns the number of messages published so far, by topic.
    """

    def __init__(self, published: Callable[[], Mapping[str, int]]) -> None:
        self._published = published
        self._first: dict[str, tuple[int, int]] = {}
        self._last: dict[str, tuple[int, int]] = {}
        self._reported = threading.Condition()
        self._has_started = False  # or has ended without a report
        import subprocess

        self._process = subprocess.Popen(
            [sys.executable, "-m", "hrp_msgs.topics.listen"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,  # not interrupted by Ctrl-C; ends with the simulation
        )
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def share(self, topic: str) -> float | None:
        """Return the share of received messages of a topic; None if none was received.

        Counted from the first report on, because discovery takes time.
        """
        if topic not in self._last:
            return None
        first, last = self._first[topic], self._last[topic]
        received, sent = last[0] - first[0], last[1] - first[1]
        return min(1.0, received / sent) if sent else 1.0

    def wait_for_discovery(self) -> None:
        """Wait until it has received a latched message, with a time limit."""
        with self._reported:
            self._reported.wait_for(lambda: self._has_started, STARTING_TIME)
            for _ in range(SETTLING_REPORTS):
                if self._last or not self._reported.wait(SETTLING_TIME):
                    return

    def settle(self) -> None:
        """Wait until it has received all messages published before, or receives no more."""
        sent = self._published()
        with self._reported:
            for _ in range(SETTLING_REPORTS):
                before = missing_messages(self._first, self._last, sent)
                if not before or not self._reported.wait(SETTLING_TIME):
                    return
                if missing_messages(self._first, self._last, sent) == before:
                    return

    def missed(self) -> list[str]:
        """Return one line for each topic of which too few messages were received."""
        missing = []
        for topic, count in self._published().items():
            share = self.share(topic)
            if count and (share is None or share < MIN_SHARE):
                received = "none" if share is None else f"only {share:.0%}"
                missing.append(f"{topic}: {received} of {count} messages received")
        return missing

    def close(self) -> None:
        """End the process."""
        from subprocess import TimeoutExpired

        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(timeout=5.0)
        except TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._thread.join()

    def _read(self) -> None:
        assert self._process.stdout is not None
        before: Mapping[str, int] = {}
        for line in self._process.stdout:
            report: dict[str, int] = json.loads(line)
            published = self._published()
            with self._reported:
                for topic, received in report.items():
                    if received:
                        first = self._first.setdefault(topic, (received, published.get(topic, 0)))
                        # What was published since the report before may still be on its way.
                        self._last[topic] = received, max(first[1], before.get(topic, 0))
                self._has_started = True
                self._reported.notify_all()
            before = published
        with self._reported:
            self._has_started = True
            self._reported.notify_all()
