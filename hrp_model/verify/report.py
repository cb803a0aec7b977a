"""What a verification found: a row for each library and quantity."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from math import inf, isnan

from rich.console import Group

from ..rigid import Array
from .reading import SUBJECTS

# What is not told by a library.
URDF, MODEL = "URDF", "model"
NOTHING = "there is nothing to compare"
LOADS = "loads"  # the quantity of whether a library reads the file at all


class Outcome(Enum):
    """How a row ended."""

    PASSED = "passed"
    FAILED = "FAILED"
    NOT_APPLICABLE = "not applicable"
    REFUSED = "refused"
    NOT_INSTALLED = "not installed"
    UNUSABLE = "unusable"


ABSENT = (Outcome.NOT_INSTALLED, Outcome.UNUSABLE)


@dataclass(frozen=True)
class Row:
    """One quantity as one library reads it, compared with the Body.

    Attributes:
        library: Who read the URDF.
        quantity: What was compared.
        outcome: How that ended.
        difference: The largest one; infinite where something is missing or of another kind.
        tolerance: What it may be; both in the unit that ``quantity`` names, or relative.
        of: Which link or joint has the largest difference, and in which posture; then the
            first one beyond the tolerance, parents before children: the likely culprit.
        count: How many things were compared.
        reason: Why a row is not applicable, or what else there is to know.
        short: The same in a word or two, for a headline.
    """

    library: str
    quantity: str
    outcome: Outcome
    difference: float | None = None
    tolerance: float | None = None
    of: str = ""
    count: int = 0
    reason: str = ""
    short: str = ""

    def __str__(self) -> str:
        text = f"{self.library}: {self.quantity}: {self.outcome.value}"
        if self.difference is not None:
            text += f", {self.difference:.3g} (tolerance {self.tolerance:g})"
        return ", ".join(part for part in (text, self.of and f"at {self.of}", self.reason) if part)


@dataclass(frozen=True)
class Report:
    """All rows of a verification.

    Attributes:
        rows: Library by library.
    """

    rows: tuple[Row, ...]

    @property
    def passed(self) -> bool:
        """Whether no row failed and more than the tree of links was compared."""
        return not self.failures and self.proves

    @property
    def proves(self) -> bool:
        """Whether more than the tree of links was compared."""
        return any(set(self.subjects(library)) - {"tree"} for library in self.libraries)

    @property
    def libraries(self) -> tuple[str, ...]:
        """Those that were asked, whether they are there or not."""
        found = dict.fromkeys(row.library for row in self.rows)
        return tuple(library for library in found if library not in (URDF, MODEL))

    def subjects(self, library: str) -> tuple[str, ...]:
        """Return what a library compared, in a word each: "tree", "kinematics", ..."""
        compared = {row.quantity for row in self.of(library) if row.difference is not None}
        return tuple(
            subject
            for subject, quantities in SUBJECTS.items()
            if not compared.isdisjoint(quantity.value for quantity in quantities)
        )

    @property
    def verdict(self) -> str:
        """The outcome in one line: whether it passed, and what that leaves to be desired."""
        refused = [row for row in self.rows if row.outcome is Outcome.REFUSED]
        notes = (f"{row.library} refuses the file as it is: {row.short}" for row in refused)
        return "; ".join([self._outcome(), *notes])

    def _outcome(self) -> str:
        if self.failures:
            return Outcome.FAILED.value
        if self.proves:
            return self._passed()
        tree = any(self.subjects(library) for library in self.libraries)
        words = "only the tree of links was compared" if tree else "nothing was compared"
        missing = [row.reason for row in self.rows if row.outcome is Outcome.NOT_INSTALLED]
        unusable = [
            f"{row.library} {row.reason}" for row in self.rows if row.outcome is Outcome.UNUSABLE
        ]
        return ": ".join([words, *(missing + unusable)[:1]])

    def _passed(self) -> str:
        """Return with which libraries it passed, and which were not there."""
        by = [x for x in self.libraries if set(self.subjects(x)) - {"tree"}]
        without = [row.library for row in self.rows if row.outcome in ABSENT]
        words = f"{Outcome.PASSED.value} with {', '.join(by)}"
        trees = [x for x in self.libraries if set(self.subjects(x)) == {"tree"}]
        if trees:
            words += f" ({', '.join(trees)}: tree only)"
        return f"{words}; without {', '.join(without)}" if without else words

    @property
    def failures(self) -> tuple[Row, ...]:
        """The rows that failed."""
        return tuple(row for row in self.rows if row.outcome is Outcome.FAILED)

    def of(self, library: str) -> tuple[Row, ...]:
        """Return the rows of one library."""
        return tuple(row for row in self.rows if row.library == library)

    def largest(self, library: str) -> Row | None:
        """Return the compared row of a library that comes closest to its tolerance or exceeds it.

        None where the library compared nothing.
        """
        compared = [row for row in self.of(library) if row.difference is not None]
        return max(compared, key=_share, default=None)

    def table(self) -> Group:
        """Return the report for a terminal of any width from 80 columns."""
        from .table import report_table  # which needs this module

        return report_table(self)

    def __str__(self) -> str:
        return "\n".join(map(str, self.rows))


class Differences:
    """Keeps the largest of the differences of one quantity.

    Args:
        library, quantity, tolerance: Of the row that ``row`` returns.
    """

    def __init__(self, library: str, quantity: str, tolerance: float) -> None:
        self._library = library
        self._quantity = quantity
        self._tolerance = tolerance
        self._largest = -1.0
        self._of = ""
        self._first = ""
        self._count = 0

    def add(self, difference: float, of: str) -> None:
        """Note the difference of one thing; what is no number counts as infinite."""
        difference = inf if isnan(difference) else abs(float(difference))
        self._count += 1
        if difference > self._tolerance and not self._first:
            self._first = of
        if difference > self._largest:
            self._largest, self._of = difference, of

    def compare(self, seen: float, expected: float, of: str) -> None:
        """Note how far a number is off, relative to the expected one where that exceeds 1."""
        self.add((seen - expected) / max(1.0, abs(expected)), of)

    def arrays(self, seen: Array, expected: Array, scale: float, of: str) -> None:
        """Note the largest difference of two arrays, divided by a scale."""
        error = 0.0 if not expected.size else float(abs(seen - expected).max()) / scale
        self.add(error, of)

    def names(self, seen: Iterable[str], expected: Iterable[str], what: str) -> None:
        """Note what is missing and what is too much."""
        seen, expected = set(seen), set(expected)
        for name in sorted(expected - seen):
            self.add(inf, f"{what} '{name}' is missing")
        for name in sorted(seen - expected):
            self.add(inf, f"{what} '{name}' is not in the model")
        self._count += len(expected & seen)
        self._largest = max(self._largest, 0.0)

    def row(self, reason: str = "", nothing: str = NOTHING) -> Row:
        """Return the row, not applicable because of ``nothing`` where nothing was compared."""
        if not self._count:
            outcome = Outcome.NOT_APPLICABLE
            return Row(self._library, self._quantity, outcome, reason=reason or nothing)
        good = self._largest <= self._tolerance
        of = self._of if self._largest > 0.0 else ""
        if self._first not in ("", of):
            of = f"{of}; first beyond the tolerance: {self._first}"
        return Row(
            self._library,
            self._quantity,
            Outcome.PASSED if good else Outcome.FAILED,
            self._largest,
            self._tolerance,
            of,
            self._count,
            reason,
        )


def not_applicable(library: str, quantity: str, reason: str) -> Row:
    """Return a row for what cannot be compared, and why."""
    return Row(library, quantity, Outcome.NOT_APPLICABLE, reason=reason)


def failure(library: str, quantity: str, reason: str) -> Row:
    """Return a row for what could not even be read."""
    return Row(library, quantity, Outcome.FAILED, inf, 0.0, reason=reason)


def _share(row: Row) -> float:
    assert row.difference is not None
    if row.tolerance:
        return row.difference / row.tolerance
    return inf if row.difference > 0.0 else 0.0
