"""How far a long computation is, for whoever waits at a terminal."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)

from .collision.decompose import Progress as Told
from .console import PlainConsole, message_console

_ONLY = TaskID(0)
_PATIENCE = 1.0  # [s]; what is done by then needs no words


@contextmanager
def progress(what: str) -> Iterator[Told]:
    """Give a function to be called with how much of how many is done, now and then.

    After a second it shows a bar on the standard error, which goes when the block ends, or
    one line if that is no terminal.

    Args:
        what: Is being done.
    """
    console = message_console()
    begun = time.monotonic()
    bar: Progress | None = None
    is_told = False

    def tell(done: int, total: int) -> None:
        nonlocal bar, is_told
        if bar is not None:
            bar.update(_ONLY, completed=done, refresh=True)
        elif is_told or time.monotonic() - begun < _PATIENCE:
            return
        elif console.is_terminal:
            bar = _started_bar(what, done, total, console)
        else:
            console.print(f"{what}: {total} ...", soft_wrap=True)
        is_told = True

    try:
        yield tell
    finally:
        if bar is not None:
            bar.stop()


def _started_bar(what: str, done: int, total: int, console: PlainConsole) -> Progress:
    columns = TextColumn(what, markup=False), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    bar = Progress(*columns, console=console, auto_refresh=False, transient=True)
    bar.add_task(what, completed=done, total=total)
    bar.start()
    return bar
