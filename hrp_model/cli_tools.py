"""What the commands of ``hrp-model`` share: loading, printing of problems."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from . import report
from .body import Body
from .codes import CODES, Rule
from .console import message_console, print_message
from .diagnostics import Diagnostic, Diagnostics, Severity
from .files.writer import is_special
from .load import load_body
from .printable import printable
from .program import GOOD, PROBLEMS, WRONG_USE, UsageError

__all__ = [
    "CHECK_ALL",
    "GOOD",
    "MODEL",
    "PROBLEMS",
    "WRONG_USE",
    "UsageError",
    "load_and_report",
    "print_diagnostics",
    "report_written",
    "tell",
]

CHECK_ALL = "'hrp-model check --all' shows them"
MODEL = "a model: .wrl, .body, .yaml or .urdf file, or its package:// URI"
_STYLES = {Severity.NOTE: "dim", Severity.WARNING: "yellow", Severity.ERROR: "red"}


def tell(text: str) -> None:
    """Print on the standard error what is no problem but good to know."""
    print_message(printable(text), "dim")


def report_written(paths: Iterable[Path], more: Sequence[str] = ()) -> None:
    """Report the files that were written; nothing of pipes and terminals.

    Args:
        paths: The files.
        more: Descriptions of what else was written.
    """
    parts = [*(str(path) for path in paths if not is_special(path)), *more]
    if parts:
        tell(f"wrote {', '.join(parts)}")


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
    codes: Mapping[str, Rule] = CODES,
) -> None:
    """Print what was found in the model that the user called by a name.

    Args:
        name: What the user called the model.
        found: In the order of finding.
        with_notes: Whether to print notes too.
        every: As in ``report.text_reports``.
        advice: As in ``report.text_reports``.
        codes: As in ``report.text_reports``.
    """
    console = message_console()
    folder = None if "://" in name or os.path.isabs(name) else Path.cwd()
    shown = [d for d in report.by_place(found) if with_notes or d.severity is not Severity.NOTE]
    for severity, text in report.text_reports(
        shown, every=every, folder=folder, advice=advice, codes=codes
    ):
        first, *rest = text.split("\n")
        style = "dim" if severity is None else _STYLES[severity]
        console.print(first, style=style, soft_wrap=True)
        for line in rest:
            console.print(line, style="dim", soft_wrap=True)
