"""Prints what was found in a world, as ``hrp-model`` prints what it finds in a model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from hrp_model import Diagnostic, Diagnostics, Severity
from hrp_model.program.codes import CODES as MODEL_CODES
from hrp_model.program.report import print_diagnostics

from .codes import CODES

_ALL_CODES = {**MODEL_CODES, **CODES}
_CHECK_ALL = "'hrp-sim check --all' shows them"


@contextmanager
def reported(world: str, *, strict: bool = False) -> Iterator[Diagnostics]:
    """Collect what a block finds in a world; print its warnings at the end of the block.

    Errors are printed where they end the command; see ``print_found``. Notes matter to few.

    Args:
        world: What the user called the world.
        strict: Whether warnings are errors.
    """
    diagnostics = Diagnostics(strict=strict, listener=lambda _: None)
    try:
        yield diagnostics
    finally:
        print_found(world, diagnostics.found, Severity.WARNING)


def print_found(world: str, found: Iterable[Diagnostic], severity: Severity) -> None:
    """Print all of one severity with the lines in question and what to do.

    Args:
        world: What the user called the world.
        found: In the order of finding.
        severity: Of those that are printed.
    """
    shown = [diagnostic for diagnostic in found if diagnostic.severity is severity]
    print_diagnostics(world, shown, with_notes=True, advice=_CHECK_ALL, codes=_ALL_CODES)


def print_all(world: str, found: Iterable[Diagnostic], *, every: bool) -> None:
    """Print what was found in a world, notes too.

    Args:
        world: What the user called the world.
        found: In the order of finding.
        every: Whether to print all of a kind, and not only the first few.
    """
    print_diagnostics(
        world, found, with_notes=True, every=every, advice=_CHECK_ALL, codes=_ALL_CODES
    )
