"""How far a long computation is, for whoever waits at a terminal."""

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

from ..collision.decompose import Progress as Told
from ..program.console import PlainConsole, message_console

_ONLY = TaskID(0)
_PATIENCE = 1.0  # [s]; what is done by then needs no words


class ProgressBar:
    """A bar on the standard error that appears after a second; one line if that is no terminal.

    Args:
        what: Is being done.
    """

    def __init__(self, what: str) -> None:
        self._what = what
        self._console = message_console()
        self._begun = time.monotonic()
        self._bar: Progress | None = None
        self._is_announced = False

    def update(self, done: int, total: int) -> None:
        """Show how much of how many is done."""
        if self._bar is not None:
            self._bar.update(_ONLY, completed=done, refresh=True)
        elif time.monotonic() - self._begun < _PATIENCE:
            return
        elif self._console.is_terminal:
            self._bar = _started_bar(self._what, done, total, self._console)
        elif not self._is_announced:
            self._console.print(f"{self._what}: {total} ...", soft_wrap=True)
            self._is_announced = True

    def hide(self) -> None:
        """Remove the bar, before other lines or in the end; the next update shows it again."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


@contextmanager
def progress(what: str) -> Iterator[Told]:
    """Give a function to be called with how much of how many is done, now and then.

    After a second it shows a bar as ``ProgressBar`` does, which goes when the block ends.

    Args:
        what: Is being done.
    """
    bar = ProgressBar(what)
    try:
        yield bar.update
    finally:
        bar.hide()


def _started_bar(what: str, done: int, total: int, console: PlainConsole) -> Progress:
    count = TextColumn("{task.completed:.0f}/{task.total:.0f}")
    columns = TextColumn(what, markup=False), BarColumn(), count, TimeElapsedColumn()
    bar = Progress(*columns, console=console, auto_refresh=False, transient=True)
    bar.add_task(what, completed=done, total=total)
    bar.start()
    return bar
