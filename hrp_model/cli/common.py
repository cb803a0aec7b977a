"""Load models in the commands of ``hrp-model``, and show the progress of long computations."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.progress import (
    BarColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)

from ..body import Body
from ..collision.decompose import Progress as ProgressCallback
from ..diagnostics import Diagnostic, Diagnostics
from ..load import load_body
from ..program.console import PlainConsole, message_console, working
from ..program.report import print_diagnostics

CHECK_ALL = "'hrp-model check --all' shows them"
MODEL = "a model: .wrl, .body, .yaml, .urdf, .xacro, .sdf, .dae or MJCF file, or its package:// URI"
_TASK = TaskID(0)
_DELAY = 1.0  # [s] before progress is shown


def load_and_report(name: str, *, strict: bool = False) -> tuple[Body, list[Diagnostic]]:
    """Read a model and print its problems; return the body and its diagnostics.

    Raises:
        ModelError: The model is invalid, or there is a warning and ``strict`` is set.
    """
    diagnostics = Diagnostics.silent(strict=strict)
    try:
        with working(f"reading {name}"):
            return load_body(name, diagnostics), diagnostics.found
    finally:
        print_diagnostics(name, diagnostics.found, advice=CHECK_ALL)


class ProgressBar:
    """A progress bar on standard error, shown after a second; one line without a terminal.

    Args:
        title: Description of the computation.
    """

    def __init__(self, title: str) -> None:
        self._title = title
        self._console = message_console()
        self._started = time.monotonic()
        self._bar: Progress | None = None
        self._is_announced = False

    def update(self, done: int, total: int) -> None:
        """Show that ``done`` of ``total`` items are finished."""
        if self._bar is not None:
            self._bar.update(_TASK, completed=done, refresh=True)
        elif time.monotonic() - self._started < _DELAY:
            return
        elif self._console.is_terminal:
            self._bar = _started_bar(self._title, done, total, self._console)
        elif not self._is_announced:
            self._console.print(f"{self._title}: {total} ...", soft_wrap=True)
            self._is_announced = True

    def hide(self) -> None:
        """Remove the bar before other output; the next update shows it again."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


@contextmanager
def progress(title: str) -> Iterator[ProgressCallback]:
    """Show a progress bar for a block; yield a function that updates it.

    Args:
        title: Description of the computation.
    """
    bar = ProgressBar(title)
    try:
        yield bar.update
    finally:
        bar.hide()


def _started_bar(title: str, done: int, total: int, console: PlainConsole) -> Progress:
    count = TextColumn("{task.completed:.0f}/{task.total:.0f}")
    columns = TextColumn(title, markup=False), BarColumn(), count, TimeElapsedColumn()
    bar = Progress(*columns, console=console, auto_refresh=False, transient=True)
    bar.add_task(title, completed=done, total=total)
    bar.start()
    return bar
