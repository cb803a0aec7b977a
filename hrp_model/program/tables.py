"""Tables, trees and other objects of rich on the standard streams.

Names, paths and texts come from untrusted files: control characters are replaced (see
``printable``), and rich's markup is disabled. Lines need no rich, which takes long to import: they
are printed by ``console``.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import IO, NoReturn

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from ..printable import printable, printable_lines
from .console import errors_of

# Columns of files and pipes, wider than any content.
_UNLIMITED_WIDTH = 1_000_000


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
        with errors_of(self.file):
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


@contextmanager
def progress(title: str, total: int | None) -> Iterator[Callable[[], None]]:
    """Show at once a progress bar on standard error, only on a terminal.

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
