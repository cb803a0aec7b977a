"""The report of a study: a page in one file, with its plots and its failures."""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hrp_model.diagnostics import counted, needs_extra
from hrp_model.printable import printable
from hrp_model.rigid import Array

from ...engine.engine import AnyArray
from ..sweeps import SweepResult
from ..sweeps.case import json_text
from .metrics import MetricKind
from .study import END_TIME, PASSED, Study
from .variables import Kind, Variable

if TYPE_CHECKING:
    from .plots import Axis, Picture

_MAX_FAILURES = 200  # rows
_MAX_PICTURES = 60
_MAX_SCATTERS = 4  # of one quantity
_PAGE = """<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>
  :root {{ color-scheme: light dark; }}
  body {{ margin: 1.5em auto; max-width: 1400px; padding: 0 1em; font-family: sans-serif;
    line-height: 1.45; background: white; color: #1b1b1b; }}
  h1 {{ font-size: 1.5em; }} h2 {{ font-size: 1.15em; margin: 2em 0 0.5em; }}
  .plots {{ display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 34em), 1fr));
    gap: 1.5em; }}
  figure {{ margin: 0; }} figcaption {{ font-weight: bold; overflow-wrap: anywhere; }}
  figcaption small {{ font-weight: normal; display: block; }}
  svg {{ display: block; width: 100%; height: auto; }}
  table {{ border-collapse: collapse; font-variant-numeric: tabular-nums; }}
  th, td {{ text-align: left; vertical-align: top; padding: 0.2em 1.2em 0.2em 0;
    border-bottom: 1px solid #8884; overflow-wrap: anywhere; }}
  .wide {{ overflow-x: auto; }}
  pre {{ padding: 0.8em; background: #8881; overflow-x: auto; }}
  @media (prefers-color-scheme: dark) {{ body {{ background: #16181b; color: #e6e6e6; }} }}
</style>
<h1>{title}</h1>
<p>{summary}</p>
{parts}
</html>
"""


def report(study: Study, result: SweepResult) -> bytes:
    """Return the report of a study as a page.

    Args:
        study: The study.
        result: Of all its cases.

    Raises:
        MissingLibraryError: matplotlib is not installed.
    """
    failures = len(result.failures)
    cases = counted(len(result.cases), "case")
    summary = f"{cases}, {failures or 'none'} of which failed."
    parts = [
        _variables(study.variables),
        _pictures(study, result),
        _failures(study, result),
        f"<h2>Study</h2><pre>{_text(study.text)}</pre>",
        _fingerprints(result),
    ]
    page = _PAGE.format(title=_text(study.name), summary=summary, parts="\n".join(parts))
    return page.encode()


def picture_of(study: Study, result: SweepResult, kept: str) -> bytes:
    """Return the first plot of a kept quantity as PNG.

    Raises:
        KeyError: It is not kept, or has no plot.
        MissingLibraryError: matplotlib is not installed.
    """
    for name, _, picture in _plots(study, result):
        if name == kept:
            content: bytes = picture.png()
            return content
    raise KeyError(kept)


def _pictures(study: Study, result: SweepResult) -> str:
    figures: list[str] = []
    for name, note, picture in _plots(study, result):
        if len(figures) == _MAX_PICTURES:
            break
        small = f"<small>{_text(note)}</small>" if note else ""
        caption = f"<figcaption>{_text(name)}{small}</figcaption>"
        figures.append(f"<figure>{caption}{picture.svg()}</figure>")
    if not figures:
        return ""
    return f'<h2>Results</h2><div class="plots">{"".join(figures)}</div>'


def _plots(study: Study, result: SweepResult) -> Iterator[tuple[str, str, Picture]]:
    """Yield pictures with the name of what they show and a note."""
    with needs_extra("sweep"):
        from . import plots  # imports matplotlib
    for name, label, values in _scalars(study, result):
        yield from _scalar_plots(study, result, name, label, values)
    for metric in study.metrics:
        if metric.kind is MetricKind.SERIES and metric.name in result.values:
            values = np.asarray(result.values[metric.name], dtype=np.float64)
            times = np.arange(metric.samples) / metric.rate
            shown = "" if len(values) <= plots.MAX_LINES else f"{plots.MAX_LINES} of the cases"
            label = _with_unit(metric.quantity, metric.unit)
            yield metric.name, shown, plots.lines(label, times, values)


def _scalars(study: Study, result: SweepResult) -> Iterator[tuple[str, str, Array]]:
    """Yield name, label and values of all that is kept as one number a case."""
    for metric in study.metrics:
        if metric.kind is not MetricKind.SERIES and metric.name in result.values:
            yield metric.name, _with_unit(metric.name, metric.unit), _numbers(result, metric.name)
    for name, unit in ((PASSED, ""), (END_TIME, "s")):
        if name in result.values:
            values = _numbers(result, name)
            if len(np.unique(values[np.isfinite(values)])) > 1:  # else there is nothing to see
                yield name, _with_unit(name, unit), values


def _numbers(result: SweepResult, name: str) -> Array:
    return np.asarray(result.values[name], dtype=np.float64)


def _scalar_plots(
    study: Study, result: SweepResult, name: str, label: str, values: Array
) -> Iterator[tuple[str, str, Picture]]:
    from . import plots

    grid = [v for v in study.variables if v.kind is Kind.GRID and len(v.values) > 1]
    others = [v for v in study.variables if v.kind is not Kind.GRID]
    shown = sorted(sorted(grid, key=lambda v: -len(v.values))[:2], key=grid.index)
    hidden = [v.name for v in (*grid, *others) if v not in shown]
    note = f"mean over {', '.join(hidden)}" if hidden and shown else ""
    if len(shown) == 2:
        (y, rows), (x, columns) = (_axis(v, result) for v in shown)
        means = _grouped(values, rows * len(x.values) + columns, len(y.values) * len(x.values))[1]
        shape = len(y.values), len(x.values)
        yield name, note, plots.heat_map(x, y, label, means.reshape(shape))
    elif len(shown) == 1:
        x, columns = _axis(shown[0], result)
        note = note and f"{note}, with the lowest and highest values"
        yield name, note, plots.curve(x, label, *_grouped(values, columns, len(x.values)))
    if others:
        yield name, "distribution", plots.histogram(label, values)
    for variable in others[:_MAX_SCATTERS]:
        x, index = _axis(variable, result)
        yield name, f"over {variable.name}", plots.scatter(x, index, label, values)


def _axis(variable: Variable, result: SweepResult) -> tuple[Axis, NDArray[np.int64]]:
    """Return the axis of a variable, and the index of the value of each case in it."""
    from .plots import Axis

    values = column(result, variable.name)
    unique, index = np.unique(values, return_inverse=True)
    if values.dtype.kind == "b":
        unique = unique.astype(str)
    return Axis(_with_unit(variable.name, variable.unit), unique.tolist()), index.reshape(-1)


def _grouped(values: Array, group: NDArray[np.int64], count: int) -> tuple[Array, Array, Array]:
    """Return the lowest, the mean and the highest value of each group; nan without values."""
    there = np.isfinite(values)
    values, group = values[there], group[there]
    low, high = np.full(count, np.inf), np.full(count, -np.inf)
    np.minimum.at(low, group, values)
    np.maximum.at(high, group, values)
    counts = np.bincount(group, minlength=count)
    with np.errstate(invalid="ignore"):
        mean = np.bincount(group, values, minlength=count) / counts
    low[counts == 0] = high[counts == 0] = np.nan
    return low, mean, high


def _variables(variables: Sequence[Variable]) -> str:
    rows = []
    for variable in variables:
        values = variable.values
        numeric = f"{min(values):.6g} to {max(values):.6g}" if variable.is_numeric else ""
        listed = ", ".join(map(str, values[:8])) + (" ..." if len(values) > 8 else "")
        cells = variable.name, variable.unit, variable.kind.value, len(values), numeric or listed
        rows.append(_row(cells))
    if not rows:
        return ""
    head = _row(("varied", "unit", "kind", "values", "range"), "th")
    return f'<div class="wide"><table>{head}{"".join(rows)}</table></div>'


def _failures(study: Study, result: SweepResult) -> str:
    failures = list(result.failures.items())
    if not failures:
        return ""
    names = [variable.name for variable in study.variables]
    rows = [
        _row((index, *(result.cases[index][name] for name in names), error))
        for index, error in failures[:_MAX_FAILURES]
    ]
    rest = len(failures) - len(rows)
    more = f"<p>and {rest} more, which cases.csv lists</p>" if rest else ""
    table = f"<table>{_row(('case', *names, 'error'), 'th')}{''.join(rows)}</table>"
    return f'<h2>Failures</h2><div class="wide">{table}</div>{more}'


def _fingerprints(result: SweepResult) -> str:
    found = sorted({text for text in result.fingerprints if text})
    return f"<h2>Run on</h2><pre>{_text(chr(10).join(found))}</pre>" if found else ""


def _row(cells: Iterable[object], tag: str = "td") -> str:
    inner = "".join(f"<{tag}>{_text(_shown(cell))}</{tag}>" for cell in cells)
    return f"<tr>{inner}</tr>"


def _shown(cell: object) -> str:
    return f"{cell:.6g}" if isinstance(cell, float) else str(cell)


def _with_unit(name: str, unit: str) -> str:
    return f"{name} [{unit}]" if unit else name


def _text(text: str) -> str:
    return html.escape("\n".join(printable(line) for line in text.splitlines()))


def column(result: SweepResult, name: str) -> AnyArray:
    """Return the values of a variable in all cases; those that are no numbers, as text."""
    values = result.case_values(name)
    return values if values.ndim == 1 else np.array([json_text(row) for row in values])
