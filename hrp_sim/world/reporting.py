"""Diagnostic codes of worlds, and how their diagnostics are printed: as by ``hrp-model``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from hrp_model import Diagnostic, Diagnostics, Severity
from hrp_model.program.console import print_message
from hrp_model.program.report import SHOWN_NOTES, Codes, by_place, print_diagnostics, text_reports

# Codes of worlds, sensors and advice, listed by ``hrp-sim run --list-codes``.
CODES = Codes(
    "worlds", "controllers", "materials", "sensors", "advice", "scenarios", "expectations"
)
_ALL_CODES = Codes()
# The file of a controller, printed after the programs that need one.
OUTLINE = """\
from hrp_sim import Controller


class MyController(Controller):
    def initialize(self, io):
        self.io = io
        io.drive("effort")  # torques and forces, without servos
        self.goal = io.q.copy()

    def control(self):  # in each step
        io = self.io
        io.effort_target = 200.0 * (self.goal - io.q) - 20.0 * io.dq
        return True
"""
_CHECK_ALL = "'hrp-sim check --all' shows them"


@contextmanager
def printed_warnings(world: str, *, strict: bool = False) -> Iterator[Diagnostics]:
    """Collect the diagnostics of a block, and print the warnings at its end.

    Errors are printed where the exception is handled; of the notes only ``SHOWN_NOTES``. What is
    reported after the block, during a run, is printed at once.

    Args:
        world: The world as the user gave it.
        strict: Treat warnings as errors.
    """
    is_running = False

    def listen(diagnostic: Diagnostic) -> None:
        if is_running:
            print_severity(world, [diagnostic], diagnostic.severity)

    diagnostics = Diagnostics(strict=strict, listener=listen)
    try:
        yield diagnostics
    finally:
        notes = [note for note in diagnostics.found if note.code in SHOWN_NOTES]
        print_severity(world, notes, Severity.NOTE)
        print_severity(world, diagnostics.found, Severity.WARNING)
        is_running = True


def print_severity(world: str, found: Iterable[Diagnostic], severity: Severity) -> None:
    """Print the diagnostics of one severity with their source lines and hints.

    Args:
        world: The world as the user gave it.
        found: All diagnostics, in order.
        severity: Severity to print.
    """
    shown = [diagnostic for diagnostic in found if diagnostic.severity is severity]
    print_diagnostics(world, shown, with_notes=True, advice=_CHECK_ALL, codes=_ALL_CODES)
    _print_outline(shown)


def print_all(world: str, found: Iterable[Diagnostic], *, every: bool) -> None:
    """Print all diagnostics of a world, including notes.

    Args:
        world: The world as the user gave it.
        found: All diagnostics, in order.
        every: Print every diagnostic of a code, not only the first few.
    """
    print_diagnostics(
        world, found, with_notes=True, every=every, advice=_CHECK_ALL, codes=_ALL_CODES
    )
    _print_outline(found)


def _print_outline(found: Iterable[Diagnostic]) -> None:
    """Print the outline of a controller if a program needs one."""
    if any(x.code == "foreign-controller" and x.severity is not Severity.NOTE for x in found):
        lines = OUTLINE.replace("\n", "\n    ").rstrip()
        title = "for example, for --controller BODY=my_controller.py:MyController, this file:"
        print_message(f"  {title}\n    {lines}", "dim")


def paragraphs(
    found: Iterable[Diagnostic], folder: Path | None
) -> list[tuple[Severity | None, str]]:
    """Return the report of all diagnostics of a world as paragraphs; see ``text_reports``.

    Args:
        found: All diagnostics, in order.
        folder: Paths of files in this folder are shown relative to it.
    """
    return text_reports(by_place(found), every=True, folder=folder, codes=_ALL_CODES)
