"""Progress of a sweep on a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from hrp_model.program.console import message_console

from .case import CaseResult


@contextmanager
def sweep_progress(cases: int) -> Iterator[Callable[[CaseResult], None]]:
    """Show finished and failed cases, rate and remaining time on standard error, if a terminal.

    Args:
        cases: Number of cases.

    Yields:
        A function to call with each result.
    """
    console = message_console()
    if not console.is_terminal:
        yield lambda _result: None
        return
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        ProgressColumn,
        Task,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )
    from rich.text import Text

    class Counts(ProgressColumn):
        """Failed cases and cases per second."""

        def render(self, task: Task) -> Text:
            speed = task.finished_speed or task.speed
            rate = f"{speed:.{0 if speed >= 10.0 else 2}f} cases/s" if speed else ""
            return Text(f"{task.fields['failed']} failed  {rate} ")

    failed = 0
    columns = (
        TextColumn("sweep"),
        BarColumn(),
        MofNCompleteColumn(),
        Counts(),
        TimeElapsedColumn(),
        TextColumn("remaining"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=cases, failed=0)

        def show(result: CaseResult) -> None:
            nonlocal failed
            failed += bool(result.error)
            bar.update(task, advance=1, failed=failed)

        yield show
