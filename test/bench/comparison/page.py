"""The generated section of docs/performance.md."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from hrp_sim.physics.engine import Solver

from .machine import Machine
from .report import cells, headings
from .rows import Row

BEGIN = "<!-- Comparison: made by test/bench/compare.py -->"
END = "<!-- end of Comparison -->"

_MACHINE = """\
| | |
| --- | --- |
| processor | {processor}, {cores} cores |
| system | {system} |
| ODE | {ode} |
| compiler of the plain C program | {compiler} |
| Python, numpy | {python}, {numpy} |
| runs | {runs} of {duration:g} simulated seconds or more for each scene and solver |
"""


def section(rows: Sequence[Row], machine: Machine, duration: float, runs: int) -> str:
    """Return the section as Markdown."""
    values = {name: getattr(machine, name) for name in Machine.__dataclass_fields__}
    parts = [_MACHINE.format(**values, runs=runs, duration=duration), *_summary(rows)]
    for _, group in groupby(rows, key=lambda row: (row.scene, row.solver)):
        parts += _scene(list(group))
    return "\n".join(parts).rstrip()


def _summary(rows: Sequence[Row]) -> Iterator[str]:
    yield "### Targets\n"
    yield "| scene | solver | measured | target | |\n| --- | --- | --- | --- | --- |"
    for row in rows:
        for target, verdict in row.verdicts():
            shown = f"**{verdict}**" if verdict == "missed" else verdict
            subject = f"{row.scene} | {_solver(row.solver)} | {row.measured.value}"
            yield f"| {subject} | {target} | {shown} |"
    yield ""


def _scene(rows: list[Row]) -> Iterator[str]:
    first = rows[0]
    solver = f", {first.solver.value} solver" if first.solver else ""
    yield f"### {first.scene}{solver}\n"
    yield f"{first.description[0].upper()}{first.description[1:]}.\n"
    columns = headings(rows)[:-1]  # targets have a table of their own
    yield "| " + " | ".join(columns) + " |"
    yield "| --- |" + " ---: |" * (len(columns) - 1)
    for row in rows:
        yield "| " + " | ".join(cells(row, rows)[:-1]) + " |"
    yield ""


def _solver(solver: Solver | None) -> str:
    return solver.value if solver else ""
