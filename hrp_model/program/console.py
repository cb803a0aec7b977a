"""Output of the programs: the only module that writes to the standard streams.

Names, paths and texts come from untrusted files. Control characters are replaced (see
``printable``), and rich's markup is disabled. Long computations have a spinner or a progress bar.
"""

from __future__ import annotations

import io
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import IO, NoReturn, TextIO, cast

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.style import Style
from rich.text import Text

from ..printable import printable, printable_lines

# Columns of files and pipes, wider than any content.
_UNLIMITED_WIDTH = 1_000_000
_DELAY = 1.0  # [s] before the spinner is shown


class OutputError(OSError):
    """The standard output cannot be written, for another reason than a closed pipe."""


class PlainConsole(Console):
    """A rich console for untrusted text.

    Styles and tables are supported. Strings are never parsed as markup or emoji nor highlighted,
    and control characters are replaced. Lines are folded only on a terminal; in a file or a pipe
    trailing blanks are removed.

    Args:
        stderr: Whether to write to standard error instead of standard output.
        file: Stream to write to instead of a standard stream.
        width: Columns [characters]; by default those of the terminal.
    """

    def __init__(
        self, *, stderr: bool = False, file: IO[str] | None = None, width: int | None = None
    ) -> None:
        super().__init__(stderr=stderr, file=file, markup=False, highlight=False, emoji=False)
        self._is_folded = self.file.isatty() or width is not None
        if width is not None or not self._is_folded:
            self.width = width or _UNLIMITED_WIDTH

    def render_str(self, text: str, **options: object) -> Text:
        """Return a string as rich text, with unsafe characters replaced instead of dropped."""
        return super().render_str(printable_lines(text), **options)  # type: ignore[arg-type]

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Yield the segments of an object, with control characters replaced."""
        for segment in super().render(renderable, options):
            if segment.control or segment.text.isprintable():
                yield segment
            else:
                yield Segment(printable_lines(segment.text), segment.style)

    def print(self, *objects: object, **options: object) -> None:
        """Print objects; without trailing blanks if lines are not folded.

        Raises:
            OutputError, BrokenPipeError: The standard output cannot be written. Errors of
                standard error are ignored, as they cannot be reported.
        """
        with _errors_of(self.file):
            if self._is_folded:
                super().print(*objects, **options)  # type: ignore[arg-type]
                return
            with self.capture() as captured:
                super().print(*objects, **options)  # type: ignore[arg-type]
            self.file.write("\n".join(line.rstrip(" ") for line in captured.get().split("\n")))
            self.file.flush()

    def on_broken_pipe(self) -> NoReturn:
        """Raise the error to the program; rich would exit with status 1."""
        raise  # the BrokenPipeError that rich is handling


def output_console() -> PlainConsole:
    """Return a console on standard output, for tables and trees."""
    return PlainConsole()


def html_page(content: RenderableType) -> str:
    """Return a page with what a terminal of 120 columns shows of an object; it loads nothing."""
    console = PlainConsole(file=io.StringIO(), width=120)
    console.record = True
    console.print(content)
    return console.export_html()


def message_console() -> PlainConsole:
    """Return a console on standard error, for messages and progress."""
    return PlainConsole(stderr=True)


def print_message(text: str, style: str | Style = "") -> None:
    """Print lines on standard error, folded by the terminal only."""
    message_console().print(text, style=style, soft_wrap=True)


def print_text(text: str) -> None:
    """Print lines on standard output, folded by the terminal only."""
    output_console().print(text, soft_wrap=True)


def print_data(text: str) -> None:
    """Print data, such as a URDF, unchanged on standard output.

    Only on a terminal, unsafe characters are replaced as in a message.

    Raises:
        OutputError, BrokenPipeError: The standard output cannot be written.
    """
    with _errors_of(sys.stdout):
        sys.stdout.write(printable_lines(text) if sys.stdout.isatty() else text)
        sys.stdout.flush()


def flush_output() -> None:
    """Flush standard output, such as the help of argparse.

    Raises:
        OutputError, BrokenPipeError: It cannot be written.
    """
    with _errors_of(sys.stdout):
        sys.stdout.flush()


def discard_output() -> None:
    """Discard unwritten output, which Python would otherwise report at exit."""
    _discard(sys.stdout)


@contextmanager
def _errors_of(stream: IO[str]) -> Iterator[None]:
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
