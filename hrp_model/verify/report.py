"""Results of a verification: its rows, and their table for a terminal of 80 columns or more."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from enum import Enum
from math import inf, isinf, isnan
from typing import NamedTuple

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ..late_dataclass import dataclass
from ..printable import printable
from ..rigid import Array
from .library import SUBJECTS, Quantity

# In place of a library, for rows about the file or the model itself.
URDF, MODEL = "URDF", "model"
NOTHING = "there is nothing to compare"
LOADS = "loads"  # the quantity "the library reads the file"
_MAX_LENGTH = 60
_FAILED = "bold white on red"
_NO_ROW = "-"
_ORDER = [LOADS, *(quantity.value for quantity in Quantity)]


class ErrorKind(NamedTuple):
    """A kind of error.

    Attributes:
        name: A word or two.
        reason: What in the model causes it.
    """

    name: str
    reason: str


# By regular expressions of MuJoCo's messages.
ERROR_KINDS = {
    r"A \+ B >= C|positive eigenvalues": ErrorKind(
        "impossible inertia", "no rigid body has such an inertia"
    ),
    r"coplanar|qhull|at least 4 vertices|volume is too small": ErrorKind(
        "flat mesh", "a mesh encloses no volume"
    ),
    r"inconsistent orientation|number of faces": ErrorKind(
        "unfit mesh", "a mesh has faces of both orientations, or too many or too few"
    ),
    r"must be positive": ErrorKind("flat shape", "a box, sphere or cylinder has a size of zero"),
    r"free joint": ErrorKind("floating link", "a link floats below another one"),
    r"mass and inertia": ErrorKind("massless link", "a link moves without mass or inertia"),
}


def short_reason(message: str) -> str:
    """Return the name of an error's kind, or else MuJoCo's own message, shortened."""
    for pattern, kind in ERROR_KINDS.items():
        if re.search(pattern, message):
            return kind.name
    return message if len(message) <= _MAX_LENGTH else f"{message[: _MAX_LENGTH - 1]}…"


class Outcome(Enum):
    """Result of one comparison."""

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
        library: The library that read the URDF.
        quantity: The compared quantity.
        outcome: The result.
        difference: Largest difference; infinite if something is missing or of another kind.
        tolerance: Its limit; both in the unit that ``quantity`` names, or relative.
        largest_at: Link or joint with the largest difference, and the posture.
        count: Number of compared items.
        reason: Why the row is not applicable, or a note.
        short: The reason in a word or two, for a headline.
        first_at: The first place beyond the tolerance, parents before children: the likely cause.
    """

    library: str
    quantity: str
    outcome: Outcome
    difference: float | None = None
    tolerance: float | None = None
    largest_at: str = ""
    count: int = 0
    reason: str = ""
    short: str = ""
    first_at: str = ""

    @property
    def where(self) -> str:
        """Both places as one text."""
        if self.first_at in ("", self.largest_at):
            return self.largest_at
        return f"{self.largest_at}; first beyond the tolerance: {self.first_at}"

    def __str__(self) -> str:
        text = f"{self.library}: {self.quantity}: {self.outcome.value}"
        if self.difference is not None:
            text += f", {self.difference:.3g} (tolerance {self.tolerance:g})"
        where = self.where and f"at {self.where}"
        return ", ".join(part for part in (text, where, self.reason) if part)


@dataclass(frozen=True)
class Report:
    """All rows of a verification.

    Attributes:
        rows: Library by library.
    """

    rows: tuple[Row, ...]

    @property
    def passed(self) -> bool:
        """Whether no row failed and something was compared."""
        return not self.failures and self.is_meaningful

    @property
    def is_meaningful(self) -> bool:
        """Whether something was compared."""
        return any(self.subjects(library) for library in self.libraries)

    @property
    def libraries(self) -> tuple[str, ...]:
        """The requested libraries, installed or not."""
        libraries = dict.fromkeys(row.library for row in self.rows)
        return tuple(library for library in libraries if library not in (URDF, MODEL))

    def subjects(self, library: str) -> tuple[str, ...]:
        """Return the subjects that were compared with a library: "tree", "kinematics", ..."""
        compared = {row.quantity for row in self.rows_of(library) if row.difference is not None}
        return tuple(
            subject
            for subject, quantities in SUBJECTS.items()
            if not compared.isdisjoint(quantity.value for quantity in quantities)
        )

    @property
    def verdict(self) -> str:
        """The result in one line: whether it passed, with which libraries, and refusals."""
        refused = [row for row in self.rows if row.outcome is Outcome.REFUSED]
        notes = (f"{row.library} refuses the file as it is: {row.short}" for row in refused)
        return "; ".join([self._outcome(), *notes])

    def _outcome(self) -> str:
        if self.failures:
            return Outcome.FAILED.value
        if self.is_meaningful:
            return self._passed()
        missing = [row.reason for row in self.rows if row.outcome is Outcome.NOT_INSTALLED]
        unusable = [
            f"{row.library} {row.reason}" for row in self.rows if row.outcome is Outcome.UNUSABLE
        ]
        return ": ".join(["nothing was compared", *(missing + unusable)[:1]])

    def _passed(self) -> str:
        """Return the libraries that it passed with, and those that are missing."""
        passed = [x for x in self.libraries if set(self.subjects(x)) - {"tree"}]
        without = [row.library for row in self.rows if row.outcome in ABSENT]
        text = f"{Outcome.PASSED.value} with {', '.join(passed)}"
        trees = [x for x in self.libraries if set(self.subjects(x)) == {"tree"}]
        if trees:
            text += f" ({', '.join(trees)}: tree only)"
        return f"{text}; without {', '.join(without)}" if without else text

    @property
    def failures(self) -> tuple[Row, ...]:
        """The rows that failed."""
        return tuple(row for row in self.rows if row.outcome is Outcome.FAILED)

    def rows_of(self, library: str) -> tuple[Row, ...]:
        """Return the rows of one library."""
        return tuple(row for row in self.rows if row.library == library)

    def largest(self, library: str) -> Row | None:
        """Return the row of a library with the largest difference relative to its tolerance.

        None if the library compared nothing.
        """
        compared = [row for row in self.rows_of(library) if row.difference is not None]
        return max(compared, key=_relative_difference, default=None)

    def __str__(self) -> str:
        return "\n".join(map(str, self.rows))


class Differences:
    """Collects the differences of one quantity.

    Args:
        library, quantity, tolerance: Those of the row that ``row`` returns.
    """

    def __init__(self, library: str, quantity: str, tolerance: float) -> None:
        self._library = library
        self._quantity = quantity
        self._tolerance = tolerance
        self._largest = -1.0
        self._where = ""
        self._first = ""
        self._count = 0

    def add(self, difference: float, where: str) -> None:
        """Add a difference; NaN counts as infinite."""
        difference = inf if isnan(difference) else abs(float(difference))
        self._count += 1
        if difference > self._tolerance and not self._first:
            self._first = where
        if difference > self._largest:
            self._largest, self._where = difference, where

    def compare(self, seen: float, expected: float, where: str) -> None:
        """Add the difference of two numbers, relative to the expected one if that exceeds 1."""
        self.add((seen - expected) / max(1.0, abs(expected)), where)

    def arrays(self, seen: Array, expected: Array, scale: float, where: str) -> None:
        """Add the largest difference of two arrays, divided by a scale."""
        error = 0.0 if not expected.size else float(abs(seen - expected).max()) / scale
        self.add(error, where)

    def names(self, seen: Iterable[str], expected: Iterable[str], kind: str) -> None:
        """Add an infinite difference for each missing and each unexpected name."""
        seen, expected = set(seen), set(expected)
        for name in sorted(expected - seen):
            self.add(inf, f"{kind} '{name}' is missing")
        for name in sorted(seen - expected):
            self.add(inf, f"{kind} '{name}' is not in the model")
        self._count += len(expected & seen)
        self._largest = max(self._largest, 0.0)

    def row(self, reason: str = "", nothing: str = NOTHING) -> Row:
        """Return the row, not applicable because of ``nothing`` where nothing was compared."""
        if not self._count:
            outcome = Outcome.NOT_APPLICABLE
            return Row(self._library, self._quantity, outcome, reason=reason or nothing)
        passed = self._largest <= self._tolerance
        return Row(
            self._library,
            self._quantity,
            Outcome.PASSED if passed else Outcome.FAILED,
            self._largest,
            self._tolerance,
            self._where if self._largest > 0.0 else "",
            self._count,
            reason,
            first_at=self._first,
        )


def not_applicable(library: str, quantity: str, reason: str) -> Row:
    """Return a row for a quantity that cannot be compared."""
    return Row(library, quantity, Outcome.NOT_APPLICABLE, reason=reason)


def failure(library: str, quantity: str, reason: str) -> Row:
    """Return a row for a quantity that could not be read."""
    return Row(library, quantity, Outcome.FAILED, inf, 0.0, reason=reason)


def _relative_difference(row: Row) -> float:
    assert row.difference is not None
    if row.tolerance:
        return row.difference / row.tolerance
    return inf if row.difference > 0.0 else 0.0


def report_table(report: Report, title: str = "") -> Group:
    """Return the verdict, the failures, a row for each quantity, and notes.

    The columns have the largest difference for each library; numbers in brackets refer to the
    notes below.

    Args:
        report: The rows.
        title: The first line, in place of the verdict on the URDF.
    """
    notes = _Notes()
    matrix = _matrix(report, notes)
    parts: list[RenderableType] = [_title(report, title)]
    if report.failures:
        parts += ["", _failures(report.failures)]
    if matrix.columns[1:]:
        parts += ["", matrix]
    parts += ["", _libraries(report)]
    if notes.texts:
        parts += ["", _list((f"[{i}]", text) for i, text in enumerate(notes.texts, start=1))]
    return Group(*parts)


class _Notes:
    """Numbered notes; the same text has the same number everywhere."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def mark(self, text: str) -> str:
        """Return the reference to a note; empty for an empty note."""
        if not text:
            return ""
        if text not in self.texts:
            self.texts.append(text)
        return f" [{self.texts.index(text) + 1}]"


def _title(report: Report, title: str) -> Text:
    style = "bold green" if report.passed else "bold yellow"
    text = printable(title) or f"URDF against the model: {report.verdict}"
    return Text(text, _FAILED if report.failures else style, overflow="fold")


def _failures(failures: Iterable[Row]) -> Table:
    """Return the failures; libraries with the same one are listed together."""
    groups: dict[tuple[str, str, str], list[Row]] = {}
    for row in failures:
        groups.setdefault((row.quantity, row.where, row.reason), []).append(row)
    grid = _list(())
    for (quantity, where, reason), rows in groups.items():
        details = "; ".join(part for part in (where, reason) if part)
        libraries = ", ".join(_with_number(row) for row in rows)
        text = Text(printable(f"{quantity} ({libraries}): {details}"), overflow="fold")
        grid.add_row(Text("FAILED", _FAILED), text)
    return grid


def _with_number(row: Row) -> str:
    return f"{row.library} {_number(row)}".rstrip()


def _number(row: Row) -> str:
    """Return the difference as text; empty if something is missing or of another kind."""
    if row.difference is None or isinf(row.difference):
        return ""
    return _short(row.difference)


def _matrix(report: Report, notes: _Notes) -> Table:
    table = Table(box=SIMPLE_HEAD, padding=(0, 0), pad_edge=False, show_edge=False)
    table.add_column("largest difference in", overflow="fold")
    present = [
        x for x in report.libraries if not any(r.outcome in ABSENT for r in report.rows_of(x))
    ]
    for library in present:
        table.add_column(library, justify="right", no_wrap=True)
    table.add_column("tolerance", justify="right", no_wrap=True)
    cells = {(row.library, row.quantity): row for row in report.rows}
    quantities = {row.quantity for library in present for row in report.rows_of(library)}
    for quantity in sorted(quantities, key=_place):
        rows = [cells.get((library, quantity)) for library in present]
        limits = {row.tolerance for row in rows if row is not None and row.tolerance}
        limit = ", ".join(map(_short, sorted(limits)))
        table.add_row(Text(quantity), *(_cell(row, notes) for row in rows), Text(limit))
    return table


def _place(quantity: str) -> int:
    return _ORDER.index(quantity) if quantity in _ORDER else len(_ORDER)


def _cell(row: Row | None, notes: _Notes) -> Text:
    text, style = (_NO_ROW, "dim") if row is None else _cell_text(row, notes)
    return Text().append(text, style)  # its padding has no style


def _cell_text(row: Row, notes: _Notes) -> tuple[str, str]:
    """Return the text and the style of a row's cell."""
    if row.outcome is Outcome.FAILED:
        return f"FAILED {_number(row)}".rstrip(), _FAILED
    mark = notes.mark(row.reason)
    if row.outcome is Outcome.NOT_APPLICABLE:
        return f"n/a{mark}", "dim"
    if row.outcome is Outcome.REFUSED:
        return f"refused{mark}", "yellow"
    return f"{'yes' if row.quantity == LOADS else _number(row)}{mark}", "green"


def _libraries(report: Report) -> Table:
    """Return what each library compared, and rows about the file and the model."""
    return _list(_library_lines(report))


def _library_lines(report: Report) -> Iterator[tuple[str, str]]:
    for library in report.libraries:
        absent = [row for row in report.rows_of(library) if row.outcome in ABSENT]
        if absent:
            yield library, f"{absent[0].outcome.value}: {absent[0].reason}"
            continue
        nearest = report.largest(library)
        text = f"compared {_subjects(report.subjects(library))}"
        if nearest is not None and nearest.difference and nearest.outcome is Outcome.PASSED:
            number = _short(nearest.difference)
            text += f"; nearest to its tolerance: {nearest.quantity}, {number} at {nearest.where}"
        yield library, text
    for row in report.rows:
        if row.library == MODEL:
            yield "model", f"{row.quantity}: {row.reason}"
        elif row.library == URDF and row.outcome is Outcome.PASSED:
            yield "URDF", f"{row.quantity}: {row.count}, all readable"
        elif row.library == URDF and row.outcome is Outcome.NOT_APPLICABLE:
            yield "URDF", f"{row.quantity}: {row.reason}"


def _subjects(subjects: tuple[str, ...]) -> str:
    return ", ".join(subjects) or "nothing"


def _list(rows: Iterable[tuple[str, str]]) -> Table:
    grid = Table.grid(padding=(0, 1, 0, 0))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for first, text in rows:
        grid.add_row(Text(printable(first)), Text(printable(text), overflow="fold"))
    return grid


def _short(number: float) -> str:
    """Return a number with at most two significant digits, as short as possible."""
    if number == 0.0:
        return "0"
    if 0.01 <= number < 1e4:
        return f"{number:.2g}" if number < 10.0 else f"{number:.0f}"
    digit, exponent = f"{number:.0e}".split("e")
    return f"{digit}e{int(exponent)}"
