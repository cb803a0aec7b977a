"""Measure models: whether they load, their diagnostics, and the time to load.

With --verify each model is converted to a URDF, which independent libraries compare with the model.
With -o the tables models.csv, warnings.csv and sources.csv are written, else printed.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from hrp_model import load_body
from hrp_model.diagnostics import Diagnostics, ModelError, Severity
from hrp_model.urdf import convert
from hrp_model.verify import LIBRARIES, Outcome, Report, verify
from hrp_model.verify.report import ABSENT
from scripts.data_tables import Table, model_name, print_tables, write_tables
from scripts.program import add_models, listed_models

COLUMNS = ["model", "loads", "links", "joints", "devices", "warnings", "ms"]
EXACT = 1e-9


@dataclass
class Row:
    """The result of one model.

    Attributes:
        model: Its path in the folder.
        counts: Links, moving joints and devices; None if it does not load.
        errors, warnings: Number of diagnostics by code.
        seconds: Time to load.
        verified: Result of each library for its URDF.
    """

    model: str
    counts: tuple[int, int, int] | None = None
    errors: Counter[str] = field(default_factory=Counter)
    warnings: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0
    verified: dict[str, str] = field(default_factory=dict)

    @property
    def cells(self) -> list[str]:
        """The row of the table, below COLUMNS and the libraries."""
        loads = "yes" if self.counts else f"no: {_counted(self.errors)}"
        numbers = map(str, self.counts or ("", "", ""))
        name = model_name(self.model)
        cells = [name, loads, *numbers, _counted(self.warnings), milliseconds(self.seconds)]
        return [*cells, *self.verified.values()]


def measure(model: str, folder: Path, repeats: int) -> Row:
    """Load a model and return the result."""
    row = Row(model)
    times = []
    for _ in range(repeats + 1):
        found = Diagnostics.silent()
        start = time.perf_counter()
        try:
            body = load_body(folder / model, found)
        except ModelError:
            pass
        else:
            row.counts = len(body.links), len(body.moving_links), len(body.devices)
        times.append(time.perf_counter() - start)
    row.seconds = statistics.median(times[1:])
    row.errors = Counter(d.code for d in found.found if d.severity is Severity.ERROR)
    row.warnings = Counter(d.code for d in found.found if d.severity is Severity.WARNING)
    return row


def verified(model: str, folder: Path) -> dict[str, str]:
    """Convert a model to a URDF, and return the result of each library."""
    silent = Diagnostics.silent()
    try:
        body = load_body(folder / model, silent)
    except ModelError:
        return dict.fromkeys(LIBRARIES, "")
    with tempfile.TemporaryDirectory() as made:
        path = Path(made) / "robot.urdf"
        conversion = convert(body, Path(made) / "meshes", diagnostics=silent)
        path.write_text(conversion.urdf, encoding="utf-8")
        report = verify(conversion.body, path)
    return {library: _verdict(report, library) for library in LIBRARIES}


def summary(rows: Sequence[Row]) -> str:
    """Return how many models load, are free of warnings, and pass in all libraries."""
    loaded = [row for row in rows if row.counts]
    clean = sum(not row.warnings for row in loaded)
    text = f"{len(rows)} models: {len(loaded)} load, and {clean} of these without a warning"
    if not any(row.verified for row in loaded):
        return text
    failed = Outcome.FAILED.value
    passed = sum(not any(failed in cell for cell in row.verified.values()) for row in loaded)
    return f"{text}; {passed} of {len(loaded)} pass with all libraries"


def tables(rows: Sequence[Row], commits: Mapping[str, str]) -> dict[str, Table]:
    """Return the models, the sums of their warnings, and the commits of their repositories."""
    loaded = [row for row in rows if row.counts]
    found = [row.warnings for row in loaded]
    libraries = list(loaded[0].verified) if loaded else []
    sums = [
        [code, str(sum(code in counter for counter in found)), str(times)]
        for code, times in sorted(sum(found, Counter[str]()).items())
    ]
    repositories = dict.fromkeys(row.model.partition("/")[0] for row in rows)
    sources = [[model_name(top), commits[top]] for top in repositories if top in commits]
    return {
        "models": ([*COLUMNS, *libraries], [row.cells for row in rows]),
        "warnings": (["code", "models", "times"], sums),
        "sources": (["repository", "commit"], sources),
    }


def _verdict(report: Report, library: str) -> str:
    """Return the differences that a library finds, or its error, as a cell of a table."""
    rows = report.rows_of(library)
    wrong = [row for row in rows if row.outcome is Outcome.FAILED]
    if wrong or rows[0].outcome in ABSENT:
        return ", ".join(f"{row.outcome.value} {row.quantity}".strip() for row in wrong or rows)
    compared = [row for row in rows if row.difference is not None]
    exact = [row.difference for row in compared if (row.tolerance or 0.0) <= EXACT]
    single = [row.difference for row in compared if (row.tolerance or 0.0) > EXACT]
    cell = ", ".join(f"{max(kind):.0e}" if max(kind) else "0" for kind in (exact, single) if kind)
    refused = [row.short for row in rows if row.outcome is Outcome.REFUSED]
    return cell + (f" ({', '.join(refused)})" if refused else "")


def _counted(codes: Counter[str]) -> str:
    return ", ".join(f"{code} {n}" if n > 1 else code for code, n in sorted(codes.items()))


def milliseconds(seconds: float) -> str:
    """Return a time with two significant digits."""
    return f"{float(f'{1e3 * seconds:.2g}'):g}"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command line."""
    add_models(parser)
    parser.add_argument("-o", "--output", type=Path, help="folder of the tables; default: print")
    parser.add_argument("--repeats", type=int, default=3, help="loads per model; default: 3")
    parser.add_argument("--verify", action="store_true", help="also compare URDFs with the models")
    parser.add_argument(
        "--jobs", type=int, default=2, help="models compared in parallel; default: 2"
    )


def run(options: argparse.Namespace) -> int:
    """Measure all models, and write or print the tables."""
    models, commits = listed_models(options)
    rows = [measure(model, options.folder, max(1, options.repeats)) for model in models]
    if options.verify:
        compare = partial(verified, folder=options.folder)
        if options.jobs <= 1:
            found = list(map(compare, models))
        else:
            with ProcessPoolExecutor(options.jobs) as pool:
                found = list(pool.map(compare, models))
        for row, cells in zip(rows, found, strict=True):
            row.verified = cells
    print(summary(rows))
    if options.output is None:
        print_tables(tables(rows, commits))
    else:
        write_tables(tables(rows, commits), options.output)
    return 0
