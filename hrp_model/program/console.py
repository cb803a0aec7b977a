"""Lines of the programs: the only module that writes to the standard streams.

Names, paths and texts come from untrusted files: control characters are replaced (see
``printable``). Long computations have a spinner or a progress bar. Rich, which takes long to
import, is imported for these on a terminal only; tables are in ``tables``.
"""

from __future__ import annotations

import io
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import IO, TYPE_CHECKING, TextIO, cast

from ..printable import printable, printable_lines

if TYPE_CHECKING:
    from rich.progress import Progress

_DELAY = 1.0  # [s] before a spinner or a bar is shown
# Parameters of "select graphic rendition" (ECMA-48, 8.3.117).
_STYLES = {"": "", "dim": "2", "red": "31", "yellow": "33"}


class OutputError(OSError):
    """The standard output cannot be written, for another reason than a closed pipe."""


def print_message(text: str, style: str = "") -> None:
    """Print lines on standard error, folded by the terminal only.

    Args:
        text: The lines.
        style: "dim", "red" or "yellow", for terminals with styles.
    """
    _print_lines(sys.stderr, text, style)


def print_text(text: str) -> None:
    """Print lines on standard output, folded by the terminal only.

    Raises:
        OutputError, BrokenPipeError: The standard output cannot be written.
    """
    _print_lines(sys.stdout, text, "")


def _print_lines(stream: TextIO, text: str, style: str) -> None:
    lines = [line.rstrip(" ") for line in printable_lines(text).split("\n")]
    if style and is_terminal(stream) and "NO_COLOR" not in os.environ:
        lines = [f"\x1b[{_STYLES[style]}m{line}\x1b[0m" if line else line for line in lines]
    with errors_of(stream):
        stream.write("\n".join((*lines, "")))
        stream.flush()


def is_terminal(stream: IO[str]) -> bool:
    """Return whether a stream is a terminal that understands control sequences."""
    return stream.isatty() and os.environ.get("TERM", "").lower() not in ("dumb", "unknown")


def print_data(text: str) -> None:
    """Print data, such as a URDF, unchanged on standard output.

    Only on a terminal, unsafe characters are replaced as in a message.

    Raises:
        OutputError, BrokenPipeError: The standard output cannot be written.
    """
    with errors_of(sys.stdout):
        sys.stdout.write(printable_lines(text) if sys.stdout.isatty() else text)
        sys.stdout.flush()


def flush_output() -> None:
    """Flush standard output, such as the help of argparse.

    Raises:
        OutputError, BrokenPipeError: It cannot be written.
    """
    with errors_of(sys.stdout):
        sys.stdout.flush()


def discard_output() -> None:
    """Discard unwritten output, which Python would otherwise report at exit."""
    _discard(sys.stdout)


@contextmanager
def errors_of(stream: IO[str]) -> Iterator[None]:
    """Distinguish errors of writing to a stream in a ``with`` block.

    Raises:
        OutputError, BrokenPipeError: The stream cannot be written. Errors of standard error are
            ignored, as they cannot be reported.
    """
    try:
        yield
    except OSError as error:
        if stream is sys.stderr:
            _discard(stream)
        elif isinstance(error, BrokenPipeError):
            raise
        else:
            raise OutputError(error.errno, error.strerror) from None


def _discard(stream: IO[str]) -> None:
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, stream.fileno())
    os.close(null)


def configure_streams() -> None:
    r"""Make sure that the standard streams exist and can encode every text.

    A terminal keeps its encoding, files and pipes use UTF-8; characters that cannot be encoded,
    and undecodable bytes of file names, become escapes as ``\udcff``. A closed stream is opened
    again, since otherwise the next opened file would take its number: writing to such a standard
    output fails, and messages to such a standard error are dropped.
    """
    if sys.stdin is None:
        sys.stdin = _null_stream(os.O_RDONLY, "r")
    if sys.stdout is None:
        sys.stdout = _null_stream(os.O_RDONLY, "w")
    if sys.stderr is None:
        sys.stderr = _null_stream(os.O_WRONLY, "w")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            encoding = stream.encoding if stream.isatty() else "utf-8"
            stream.reconfigure(encoding=encoding, errors="backslashreplace")


def _null_stream(flags: int, mode: str) -> TextIO:
    # The lowest free number, which is that of the stream; child processes inherit it.
    number = os.open(os.devnull, flags)
    os.set_inheritable(number, True)
    return cast(TextIO, open(number, mode, encoding="utf-8"))


def print_note(text: str) -> None:
    """Print an informational message on standard error."""
    print_message(printable(text), "dim")


@contextmanager
def working(title: str) -> Iterator[None]:
    """Show a spinner on standard error while a block takes longer than a second.

    Only on a terminal. The block must not print.

    Args:
        title: Description of the computation, such as "reading robot.wrl".
    """
    if not is_terminal(sys.stderr):
        yield
        return
    spinner = ExitStack()
    timer = threading.Timer(_DELAY, lambda: spinner.enter_context(_spinner(title)))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        spinner.close()


def _spinner(title: str) -> AbstractContextManager[object]:
    from rich.console import Console  # which takes longer to import than many computations
    from rich.text import Text

    text = Text(f"{printable(title)} ...", overflow="ellipsis", no_wrap=True)
    return Console(stderr=True).status(text)


class ProgressBar:
    """A progress bar on standard error, shown after a second; one line without a terminal.

    Args:
        title: Description of the computation.
    """

    def __init__(self, title: str) -> None:
        self._title = title
        self._started = time.monotonic()
        self._bar: Progress | None = None
        self._is_announced = False

    def update(self, done: int, total: int) -> None:
        """Show that ``done`` of ``total`` items are finished."""
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], completed=done, refresh=True)
        elif time.monotonic() - self._started < _DELAY:
            return
        elif is_terminal(sys.stderr):
            self._bar = _started_bar(self._title, done, total)
        elif not self._is_announced:
            print_message(f"{self._title}: {total} ...")
            self._is_announced = True

    def hide(self) -> None:
        """Remove the bar before other output; the next update shows it again."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


@contextmanager
def progress_bar(title: str) -> Iterator[Callable[[int, int], None]]:
    """Show a ``ProgressBar`` for a block; yield a function that updates it.

    Args:
        title: Description of the computation.
    """
    bar = ProgressBar(title)
    try:
        yield bar.update
    finally:
        bar.hide()


def _started_bar(title: str, done: int, total: int) -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    count = TextColumn("{task.completed:.0f}/{task.total:.0f}")
    columns = TextColumn(title, markup=False), BarColumn(), count, TimeElapsedColumn()
    bar = Progress(*columns, console=Console(stderr=True), auto_refresh=False, transient=True)
    bar.add_task(title, completed=done, total=total)
    bar.start()
    return bar
