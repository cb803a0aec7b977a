"""The report of a verification as a table for a terminal of 80 columns or more."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import isinf

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ..printable import printable
from .library import Quantity
from .report import ABSENT, LOADS, MODEL, URDF, Outcome, Report, Row

_FAILED = "bold white on red"
_NO_ROW = "-"
_ORDER = [LOADS, *(quantity.value for quantity in Quantity)]


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
