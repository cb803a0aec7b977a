"""What the commands of ``hrp-model`` share: exit status, loading, printing of problems."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console

from . import report
from .body import Body
from .diagnostics import Diagnostic, Diagnostics, Severity
from .load import load_body

GOOD, PROBLEMS, WRONG_USE, INTERRUPTED = 0, 1, 2, 130

CHECK_ALL = "'hrp-model check --all' shows them"
MODEL = "a model: .wrl, .body, .yaml or .urdf file, or its package:// URI"
_STYLES = {Severity.NOTE: "dim", Severity.WARNING: "yellow", Severity.ERROR: "red"}


class UsageError(Exception):
    """The command was used wrongly; the message says how."""


@contextmanager
def standard_output() -> Iterator[None]:
    """Have what a block prints arrive, or tell that it does not.

    Raises:
        UsageError: The standard output cannot be written.
        BrokenPipeError: Its reader has seen enough.
    """
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        discard_output()
        raise UsageError(f"cannot write the standard output: {error.strerror}") from None


def discard_output() -> None:
    """Drop what could not be printed: Python must not complain of it at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def tell(text: str) -> None:
    """Print on the standard error what is no problem but good to know."""
    console = Console(stderr=True, highlight=False, markup=False, emoji=False)
    console.print(report.printable(text), style="dim", soft_wrap=True)


def load_and_report(name: str, *, strict: bool = False) -> tuple[Body, list[Diagnostic]]:
    """Read a model and print its problems; return also what was found.

    Raises:
        ModelError: The model cannot be used, or ``strict`` and there is a warning.
    """
    diagnostics = Diagnostics(strict=strict, listener=lambda _: None)
    try:
        return load_body(name, diagnostics), diagnostics.found
    finally:
        print_diagnostics(name, diagnostics.found, advice=CHECK_ALL)


def print_diagnostics(
    name: str,
    found: Iterable[Diagnostic],
    *,
    with_notes: bool = False,
    every: bool = False,
    advice: str = "",
) -> None:
    """Print what was found in the model that the user called by a name.

    Args:
        name: What the user called the model.
        found: In the order of finding.
        with_notes: Whether to print notes too.
        every: As in ``report.text_reports``.
        advice: As in ``report.text_reports``.
    """
    console = Console(stderr=True, highlight=False, markup=False, emoji=False)
    folder = None if "://" in name or os.path.isabs(name) else Path.cwd()
    shown = [d for d in report.by_place(found) if with_notes or d.severity is not Severity.NOTE]
    for severity, text in report.text_reports(shown, every=every, folder=folder, advice=advice):
        first, *rest = text.split("\n")
        style = "dim" if severity is None else _STYLES[severity]
        console.print(first, style=style, soft_wrap=True)
        for line in rest:
            console.print(line, style="dim", soft_wrap=True)
