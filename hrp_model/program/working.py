"""Spinner of computations whose length is unknown, and progress bar of others."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.text import Text

from ..printable import printable
from .console import message_console

_DELAY = 1.0  # [s] before the spinner is shown


@contextmanager
def working(title: str) -> Iterator[None]:
    """Show a spinner on standard error while a block takes longer than a second.

    Only on a terminal. The block must not print.

    Args:
        title: Description of the computation, such as "reading robot.wrl".
    """
    console = message_console()
    if not console.is_terminal:
        yield
        return
    spinner = console.status(Text(f"{printable(title)} ...", overflow="ellipsis", no_wrap=True))
    timer = threading.Timer(_DELAY, spinner.start)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        spinner.stop()


@contextmanager
def progress(title: str, total: int | None) -> Iterator[Callable[[], None]]:
    """Show a progress bar on standard error, only on a terminal.

    Args:
        title: Description of the work, such as "filming robot.wrl".
        total: Number of its parts; None if it is unknown.

    Yields:
        A function to call after each part.
    """
    console = message_console()
    if not console.is_terminal:
        yield lambda: None
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = TextColumn("{task.description}", markup=False), BarColumn(), TimeRemainingColumn()
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(printable(title), total=total)
        yield lambda: bar.advance(task)
