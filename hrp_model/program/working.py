"""Spinner of computations whose length is unknown."""

from __future__ import annotations

import threading
from collections.abc import Iterator
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
