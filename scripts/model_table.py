#!/usr/bin/env python3
"""Measure models: whether they load, their diagnostics, and the time to load.

python scripts/model_table.py FOLDER [--list LIST.md] [--verify] [-o docs/data]

The list is Markdown. Rows of its tables whose first cell is a model in FOLDER are the models;
rows whose first cell is a folder in FOLDER, named OWNER__REPOSITORY, give in their second cell
the commit of that repository. Without a list every model file in FOLDER counts. With --verify
each model is converted to a URDF, which independent libraries compare with the model. With -o
the tables models.csv, warnings.csv and sources.csv are written, else printed.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from data_tables import Table, model_name, print_tables, write_tables

from hrp_model import load_body
from hrp_model.diagnostics import Diagnostics, ModelError, Severity
from hrp_model.urdf import convert
from hrp_model.verify import LIBRARIES, Outcome, Report, verify
from hrp_model.verify.report import ABSENT

SUFFIXES = (".wrl", ".body", ".yaml", ".yml")
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
        cells = [name, loads, *numbers, _counted(self.warnings), _milliseconds(self.seconds)]
        return [*cells, *self.verified.values()]


def read_list(text: str, folder: Path) -> tuple[list[str], dict[str, str]]:
    """Return the models, and the commits by folder, that the tables of a text name."""
    models: list[str] = []
    commits: dict[str, str] = {}
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if not line.lstrip().startswith("|") or not cells[0]:
            continue
        path = folder / cells[0]
        if path.suffix.lower() in SUFFIXES and path.is_file():
            models.append(cells[0])
        elif path.is_dir() and len(cells) > 1:
            commits[cells[0]] = cells[1]
    return models, commits


def find_models(folder: Path) -> list[str]:
    """Return every file in a folder that may be a model."""
    found = (p for p in folder.rglob("*") if p.suffix.lower() in SUFFIXES and p.is_file())
    return sorted(path.relative_to(folder).as_posix() for path in found)


def measure(model: str, folder: Path, repeats: int) -> Row:
    """Load a model and return the result."""
    row = Row(model)
    times = []
    for _ in range(repeats + 1):
        found = Diagnostics(listener=lambda _: None)
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
    silent = Diagnostics(listener=lambda _: None)
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
    passed = sum(not any(map(_is_failure, row.verified.values())) for row in loaded)
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


def main(argv: Sequence[str] | None = None) -> int:
    """Run the script and return its exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="folder of the models")
    parser.add_argument(
        "--list", type=Path, metavar="LIST.md", help="list of models and their sources"
    )
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FOLDER", help="default: standard output"
    )
    parser.add_argument("--repeats", type=int, default=3, help="loads per model; default: 3")
    parser.add_argument("--verify", action="store_true", help="also compare URDFs with the models")
    parser.add_argument(
        "--jobs", type=int, default=2, help="models compared in parallel; default: 2"
    )
    options = parser.parse_args(argv)
    if options.list is None:
        models, commits = find_models(options.folder), dict[str, str]()
    else:
        models, commits = read_list(options.list.read_text(encoding="utf-8"), options.folder)
    if not models:
        parser.error(f"no models in {options.folder}")
    rows = [measure(model, options.folder, max(1, options.repeats)) for model in models]
    if options.verify:
        _verify_all(rows, options.folder, options.jobs)
    print(summary(rows))
    if options.output is None:
        print_tables(tables(rows, commits))
    else:
        write_tables(tables(rows, commits), options.output)
    return 0


def _verify_all(rows: Sequence[Row], folder: Path, jobs: int) -> None:
    models = [row.model for row in rows]
    if jobs <= 1:
        found = [verified(model, folder) for model in models]
    else:
        with ProcessPoolExecutor(jobs) as pool:
            found = list(pool.map(partial(verified, folder=folder), models))
    for row, cells in zip(rows, found, strict=True):
        row.verified = cells


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


def _is_failure(cell: str) -> bool:
    return Outcome.FAILED.value in cell


def _counted(codes: Counter[str]) -> str:
    return ", ".join(f"{code} {n}" if n > 1 else code for code, n in sorted(codes.items()))


def _milliseconds(seconds: float) -> str:
    """Return a time with two significant digits."""
    return f"{float(f'{1e3 * seconds:.2g}'):g}"


if __name__ == "__main__":
    sys.exit(main())
