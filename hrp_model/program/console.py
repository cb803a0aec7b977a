"""Everything that the programs print: the only module that writes to the standard streams.

Names, paths and texts come from files that nobody has checked. Here they lose the characters
that steer a terminal (see ``printable``), and are never taken for markup of rich.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import IO, NoReturn, TextIO, cast

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.style import Style
from rich.text import Text

from ..printable import printable, printable_lines

# Columns of what is no terminal; rich makes nothing as wide as this by itself.
_UNFOLDED = 1_000_000


class OutputError(OSError):
    """The standard output cannot be written, though its reader is there."""


class PlainConsole(Console):
    """A rich console for untrusted text.

    Styles and tables are rich's. Strings are never parsed as markup, as emoji or by the
    highlighter, and no character steers the terminal. Lines are folded only on a terminal; in
    a file or a pipe they do not end with blanks either.

    Args:
        stderr: Whether it writes to the standard error instead of the standard output.
        file: Where it writes instead of a standard stream.
        width: Columns [characters]; by default those of the terminal.
    """

    def __init__(
        self, *, stderr: bool = False, file: IO[str] | None = None, width: int | None = None
    ) -> None:
        super().__init__(stderr=stderr, file=file, markup=False, highlight=False, emoji=False)
        self._is_folded = self.file.isatty() or width is not None
        if width is not None or not self._is_folded:
            self.width = width or _UNFOLDED

    def render_str(self, text: str, **options: object) -> Text:
        """Return rich's text of a string; rich itself would drop some unsafe characters."""
        return super().render_str(printable_lines(text), **options)  # type: ignore[arg-type]

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Yield rich's segments of an object, without characters that steer the terminal."""
        for segment in super().render(renderable, options):
            if segment.control or segment.text.isprintable():
                yield segment
            else:
                yield Segment(printable_lines(segment.text), segment.style)

    def print(self, *objects: object, **options: object) -> None:
        """Print as rich does; without blanks at the ends of lines if nothing is folded.

        Raises:
            OutputError, BrokenPipeError: The standard output cannot be written. Errors of
                the standard error are ignored, as they could not be reported.
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
        """Let the program end in its own way; rich would do it with status 1."""
        raise  # the BrokenPipeError that rich is handling


def output_console() -> PlainConsole:
    """Return a console on the standard output, for tables and trees."""
    return PlainConsole()


def message_console() -> PlainConsole:
    """Return a console on the standard error, for messages and progress."""
    return PlainConsole(stderr=True)


def print_message(text: str, style: str | Style = "") -> None:
    """Print lines on the standard error; a terminal folds them itself."""
    message_console().print(text, style=style, soft_wrap=True)


def print_text(text: str, style: str | Style = "") -> None:
    """Print lines on the standard output; a terminal folds them itself."""
    output_console().print(text, style=style, soft_wrap=True)


def print_data(text: str) -> None:
    """Print data, such as a URDF, on the standard output: all of it, as it is.

    Only on a terminal, where it is for eyes, unsafe characters are replaced as in a message.

    Raises:
        OutputError, BrokenPipeError: The standard output cannot be written.
    """
    with _errors_of(sys.stdout):
        sys.stdout.write(printable_lines(text) if sys.stdout.isatty() else text)
        sys.stdout.flush()


def flush_output() -> None:
    """Flush the standard output, such as the help of argparse.

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
    r"""Make the standard streams exist and take every text.

    A terminal keeps its encoding, files and pipes get UTF-8; what an encoding lacks, and bytes
    of file names that are no text, become escapes as ``\udcff``. A stream that was closed is
    opened again, for otherwise the next file that is opened takes its place: the standard
    output so that writing fails, the standard error so that messages are dropped.
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
    # The lowest number that is free, so that of the stream; child processes need it, too.
    number = os.open(os.devnull, flags)
    os.set_inheritable(number, True)
    return cast(TextIO, open(number, mode, encoding="utf-8"))


def print_note(text: str) -> None:
    """Print on the standard error what is no problem but good to know."""
    print_message(printable(text), "dim")
