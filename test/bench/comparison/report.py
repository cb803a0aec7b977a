"""Results as tables for the terminal, and as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict

from rich import box
from rich.table import Table

from hrp_model.printable import printable
from hrp_model.program.console import PlainConsole

from .machine import Machine
from .measure import Ratio
from .rows import Row
from .targets import Quantity, Target

PEERS = {
    Quantity.TO_ORIGINAL: "original",
    Quantity.TO_DENSE: "to dense",
    Quantity.TO_MUJOCO: "to MuJoCo",
}
_SHORT = {**PEERS, Quantity.SPEED: "real-time", Quantity.TIME: "us"}
SCHEMA = 2  # incremented when a field changes its meaning or is removed


def print_rows(rows: Sequence[Row], console: PlainConsole) -> None:
    """Print the rows of one scene and solver as a table."""
    first = rows[0]
    solver = f", {first.solver.value} solver" if first.solver else ""
    table = Table(
        title=printable(f"{first.scene}{solver}: {first.description}"),
        title_justify="left",
        box=box.SIMPLE,
        padding=(0, 1, 0, 0),
    )
    for heading in headings(rows):
        is_text = heading in ("", "target")
        table.add_column(heading, justify="left" if is_text else "right", no_wrap=heading == "")
    for row in rows:
        table.add_row(*cells(row, rows))
    console.print(table)


def headings(rows: Sequence[Row]) -> list[str]:
    """Return the headings of a table of rows of one scene."""
    peers = [PEERS[quantity] for quantity in _peers(rows)]
    return ["", "us", "real-time", "ratio", "quartiles", *peers, "target"]


def cells(row: Row, rows: Sequence[Row]) -> list[str]:
    """Return a row as text, below the ``headings`` of all rows."""
    ratio = row.ratio
    return [
        row.measured.value,
        f"{row.us:.1f}",
        "" if row.real_time_factor is None else f"{row.real_time_factor:.2f}",
        _ratio(ratio),
        f"{ratio.low:.3f}-{ratio.high:.3f}" if ratio else "",
        *(_ratio(row.to_peers.get(quantity)) for quantity in _peers(rows)),
        "; ".join(_verdict(target, verdict) for target, verdict in row.verdicts()),
    ]


def to_json(rows: Sequence[Row], machine: Machine, duration: float, runs: int) -> str:
    """Return everything as JSON; ``schema`` is the version of its form."""
    content = {
        "schema": SCHEMA,
        "machine": asdict(machine),
        "duration_s": duration,
        "runs": runs,
        "rows": [_plain(row) for row in rows],
    }
    return json.dumps(content, indent=2) + "\n"


def _plain(row: Row) -> dict[str, object]:
    return {
        "scene": row.scene,
        "description": row.description,
        "solver": row.solver.value if row.solver else None,
        "measured": row.measured.value,
        "us": row.us,
        "real_time_factor": row.real_time_factor,
        "ratio": _as_dict(row.ratio),
        "ratio_to_original": _as_dict(row.to_peers.get(Quantity.TO_ORIGINAL)),
        "ratio_to_dense": _as_dict(row.to_peers.get(Quantity.TO_DENSE)),
        "ratio_to_mujoco": _as_dict(row.to_peers.get(Quantity.TO_MUJOCO)),
        "targets": [
            {
                "quantity": target.quantity.value,
                "good": target.good,
                "very_good": target.very_good,
                "verdict": verdict,
            }
            for target, verdict in row.verdicts()
        ],
    }


def _verdict(target: Target, verdict: str) -> str:
    """Return the verdict; in parentheses the bound of "very good", where it is not reached."""
    is_only = target.quantity is Quantity.RATIO
    shown = verdict if is_only else f"{_SHORT[target.quantity]} {verdict}"
    return shown if verdict == "very good" else f"{shown} ({target.very_good:g})"


def _peers(rows: Sequence[Row]) -> list[Quantity]:
    """Return the further ratios that any of the rows has."""
    return [quantity for quantity in PEERS if any(quantity in row.to_peers for row in rows)]


def _as_dict(ratio: Ratio | None) -> dict[str, float] | None:
    return asdict(ratio) if ratio else None


def _ratio(ratio: Ratio | None) -> str:
    return f"{ratio.median:.3f}" if ratio else ""
