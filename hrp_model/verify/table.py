"""A verification's report for a terminal, of 80 columns or more, or for a file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import isinf

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ..printable import printable
from .reading import Quantity
from .report import ABSENT, LOADS, MODEL, URDF, Outcome, Report, Row

_FAILED = "bold white on red"
_NO_ROW = "-"
_ORDER = [LOADS, *(quantity.value for quantity in Quantity)]


def report_table(report: Report) -> Group:
    """Return the verdict, the failures, a row for each quantity, and what else there is to know.

    The columns hold the largest difference that each library found; numbers in brackets refer
    to the notes below.
    """
    notes = _Notes()
    matrix = _matrix(report, notes)
    parts: list[RenderableType] = [_title(report)]
    if report.failures:
        parts += ["", _failures(report.failures)]
    if matrix.columns[1:]:
        parts += ["", matrix]
    parts += ["", _libraries(report)]
    if notes.texts:
        parts += ["", _list((f"[{i}]", text) for i, text in enumerate(notes.texts, start=1))]
    return Group(*parts)


class _Notes:
    """Numbers what there is to know; the same sentence has the same number everywhere."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def mark(self, text: str) -> str:
        """Return what refers to a note; nothing for none."""
        if not text:
            return ""
        if text not in self.texts:
            self.texts.append(text)
        return f" [{self.texts.index(text) + 1}]"


def _title(report: Report) -> Text:
    style = "bold green" if report.passed else "bold yellow"
    return Text(
        f"URDF against the model: {report.verdict}",
        _FAILED if report.failures else style,
        overflow="fold",
    )


def _failures(failures: Iterable[Row]) -> Table:
    """Return what failed, with the libraries that found the same in one place."""
    found: dict[tuple[str, str, str], list[Row]] = {}
    for row in failures:
        found.setdefault((row.quantity, row.of, row.reason), []).append(row)
    grid = _list(())
    for (quantity, of, reason), rows in found.items():
        where = "; ".join(part for part in (of, reason) if part)
        finders = ", ".join(_with_number(row) for row in rows)
        text = Text(printable(f"{quantity} ({finders}): {where}"), overflow="fold")
        grid.add_row(Text("FAILED", _FAILED), text)
    return grid


def _with_number(row: Row) -> str:
    return f"{row.library} {_number(row)}".rstrip()


def _number(row: Row) -> str:
    """Return how far something is off; nothing if it is missing or of another kind."""
    if row.difference is None or isinf(row.difference):
        return ""
    return _short(row.difference)


def _matrix(report: Report, notes: _Notes) -> Table:
    table = Table(box=SIMPLE_HEAD, padding=(0, 0), pad_edge=False, show_edge=False)
    table.add_column("largest difference in", overflow="fold")
    present = [x for x in report.libraries if not any(r.outcome in ABSENT for r in report.of(x))]
    for library in present:
        table.add_column(library, justify="right", no_wrap=True)
    table.add_column("tolerance", justify="right", no_wrap=True)
    cells = {(row.library, row.quantity): row for row in report.rows}
    quantities = {row.quantity for library in present for row in report.of(library)}
    for quantity in sorted(quantities, key=_place):
        rows = [cells.get((library, quantity)) for library in present]
        limits = {row.tolerance for row in rows if row is not None and row.tolerance}
        limit = ", ".join(map(_short, sorted(limits)))
        table.add_row(Text(quantity), *(_cell(row, notes) for row in rows), Text(limit))
    return table


def _place(quantity: str) -> int:
    return _ORDER.index(quantity) if quantity in _ORDER else len(_ORDER)


def _cell(row: Row | None, notes: _Notes) -> Text:
    words, style = (_NO_ROW, "dim") if row is None else _words(row, notes)
    return Text().append(words, style)  # its padding has no style


def _words(row: Row, notes: _Notes) -> tuple[str, str]:
    """Return what a cell says of a row, and in which style."""
    if row.outcome is Outcome.FAILED:
        return f"FAILED {_number(row)}".rstrip(), _FAILED
    mark = notes.mark(row.reason)
    if row.outcome is Outcome.NOT_APPLICABLE:
        return f"n/a{mark}", "dim"
    if row.outcome is Outcome.REFUSED:
        return f"refused{mark}", "yellow"
    return f"{'yes' if row.quantity == LOADS else _number(row)}{mark}", "green"


def _libraries(report: Report) -> Table:
    """Return what each library compared, and what is told of file and model themselves."""
    return _list(_about(report))


def _about(report: Report) -> Iterator[tuple[str, str]]:
    for library in report.libraries:
        absent = [row for row in report.of(library) if row.outcome in ABSENT]
        if absent:
            yield library, f"{absent[0].outcome.value}: {absent[0].reason}"
            continue
        nearest = report.largest(library)
        words = f"compared {_subjects(report.subjects(library))}"
        if nearest is not None and nearest.difference and nearest.outcome is Outcome.PASSED:
            number = _short(nearest.difference)
            words += f"; nearest to its tolerance: {nearest.quantity}, {number} at {nearest.of}"
        yield library, words
    for row in report.rows:
        if row.library == MODEL:
            yield "model", f"{row.quantity}: {row.reason}"
        elif row.library == URDF and row.outcome is Outcome.PASSED:
            yield "URDF", f"{row.quantity}: {row.count}, all there"
        elif row.library == URDF and row.outcome is Outcome.NOT_APPLICABLE:
            yield "URDF", f"{row.quantity}: {row.reason}"


def _subjects(subjects: tuple[str, ...]) -> str:
    if subjects == ("tree",):
        return "the tree of links only"
    return ", ".join(subjects) or "nothing"


def _list(rows: Iterable[tuple[str, str]]) -> Table:
    grid = Table.grid(padding=(0, 1, 0, 0))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for first, text in rows:
        grid.add_row(Text(printable(first)), Text(printable(text), overflow="fold"))
    return grid


def _short(number: float) -> str:
    """Return a number with two digits that count at most, as short as it can be."""
    if number == 0.0:
        return "0"
    if 0.01 <= number < 1e4:
        return f"{number:.2g}" if number < 10.0 else f"{number:.0f}"
    digit, exponent = f"{number:.0e}".split("e")
    return f"{digit}e{int(exponent)}"
