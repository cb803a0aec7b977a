"""The tables of a comparison for docs/data."""

from __future__ import annotations

from collections.abc import Sequence

from .machine import Machine
from .report import PEERS, cells, headings
from .rows import Row

Table = tuple[list[str], list[list[str]]]  # headings and rows


def tables(rows: Sequence[Row], machine: Machine, duration: float, runs: int) -> dict[str, Table]:
    """Return the times, the targets and the machine, by the names of their tables."""
    of_machine = [
        ["processor", f"{machine.processor}, {machine.cores} cores"],
        ["system", machine.system],
        ["ODE", machine.ode],
        ["compiler of the plain C program", machine.compiler],
        ["Python, numpy", f"{machine.python}, {machine.numpy}"],
        ["runs", f"{runs} of {duration:g} simulated seconds or more for each scene and solver"],
    ]
    targets = [
        [row.scene, _solver(row), row.measured.value, str(target), verdict]
        for row in rows
        for target, verdict in row.verdicts()
    ]
    named = ["scene", "contents", "solver", "measured"]
    quantities = [*headings([])[1:-1], *PEERS.values()]
    return {
        "speed": ([*named, *quantities], [_times(row, quantities) for row in rows]),
        "speed_targets": (["scene", "solver", "measured", "target", "result"], targets),
        "speed_machine": (["of the machine", "value"], of_machine),
    }


def _times(row: Row, quantities: Sequence[str]) -> list[str]:
    """Return a row of the table of times; quantities that it does not have are empty."""
    found = dict(zip(headings([row]), cells(row, [row]), strict=True))
    contents = f"{row.description[0].upper()}{row.description[1:]}"
    named = [row.scene, contents, _solver(row), row.measured.value]
    return [*named, *(found.get(quantity, "") for quantity in quantities)]


def _solver(row: Row) -> str:
    return row.solver.value if row.solver else ""
