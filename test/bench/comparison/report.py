"""Results as tables for the terminal and for docs/data, and as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict

from rich import box
from rich.table import Table

from hrp_model.printable import printable
from hrp_model.program.tables import PlainConsole
from scripts.data_tables import Table as MeasuredTable
from scripts.data_tables import this_machine

from .measure import Ratio
from .rows import Row
from .targets import Quantity, Target

LIBRARIES = ("mujoco", "pybullet", "drake")  # their packages
PEERS = {
    Quantity.TO_MUJOCO: "to MuJoCo",
    Quantity.TO_BULLET: "to Bullet",
    Quantity.TO_DRAKE: "to Drake",
}
_SHORT = {**PEERS, Quantity.SPEED: "real-time", Quantity.TIME: "us"}
SCHEMA = 5  # incremented when a field changes its meaning or is removed


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
    contacts = ["contacts", "depth [mm]"] if any(row.depth is not None for row in rows) else []
    return ["", "us", "real-time", "ratio", "quartiles", *peers, *contacts, "target"]


def cells(row: Row, rows: Sequence[Row]) -> list[str]:
    """Return a row as text, below the ``headings`` of all rows."""
    ratio = row.ratio
    contacts = ["", ""] if row.depth is None else [f"{row.contacts:g}", f"{row.depth * 1e3:.2f}"]
    return [
        row.measured.value,
        f"{row.us:.1f}",
        "" if row.real_time_factor is None else f"{row.real_time_factor:.2f}",
        _ratio(ratio),
        f"{ratio.low:.3f}-{ratio.high:.3f}" if ratio else "",
        *(_ratio(row.to_peers.get(quantity)) for quantity in _peers(rows)),
        *(contacts if any(x.depth is not None for x in rows) else []),
        "; ".join(_verdict(target, verdict) for target, verdict in row.verdicts()),
    ]


def tables(rows: Sequence[Row]) -> dict[str, MeasuredTable]:
    """Return the times and the targets, by the names of their tables."""
    targets = [
        [row.scene, _solver(row), row.measured.value, str(target), verdict]
        for row in rows
        for target, verdict in row.verdicts()
    ]
    named = ["scene", "contents", "solver", "measured"]
    quantities = [*headings([])[1:-1], *PEERS.values(), "contacts", "depth [mm]"]
    return {
        "speed": ([*named, *quantities], [_times(row, quantities) for row in rows]),
        "speed_targets": (["scene", "solver", "measured", "target", "result"], targets),
    }


def _times(row: Row, quantities: Sequence[str]) -> list[str]:
    """Return a row of the table of times; quantities that it does not have are empty."""
    found = dict(zip(headings([row]), cells(row, [row]), strict=True))
    contents = f"{row.description[0].upper()}{row.description[1:]}"
    named = [row.scene, contents, _solver(row), row.measured.value]
    return [*named, *(found.get(quantity, "") for quantity in quantities)]


def _solver(row: Row) -> str:
    return row.solver.value if row.solver else ""


def to_json(rows: Sequence[Row], duration: float, runs: int) -> str:
    """Return everything as JSON; ``schema`` is the version of its form."""
    content = {
        "schema": SCHEMA,
        "machine": this_machine(LIBRARIES),
        "duration_s": duration,
        "runs": runs,
        "rows": [_plain(row) for row in rows],
    }
    return json.dumps(content, indent=2) + "\n"


def _plain(row: Row) -> dict[str, object]:
    return {
        "scene": row.scene,
        "description": row.description,
        "solver": _solver(row) or None,
        "measured": row.measured.value,
        "us": row.us,
        "real_time_factor": row.real_time_factor,
        "ratio": _as_dict(row.ratio),
        **{
            f"ratio_{name.lower().replace(' ', '_')}": _as_dict(row.to_peers.get(quantity))
            for quantity, name in PEERS.items()
        },
        "contacts": row.contacts,
        "depth_m": row.depth,
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
