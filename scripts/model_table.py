#!/usr/bin/env python3
"""Write a table of models: whether they load, their diagnostics, and the time to load.

python scripts/model_table.py FOLDER [--list LIST.md] [--verify] [-o docs/models.md]

The list is Markdown. Rows of its tables whose first cell is a model in FOLDER are the models;
rows whose first cell is a folder in FOLDER, named OWNER__REPOSITORY, give in their second cell
the commit of that repository. Without a list every model file in FOLDER counts. With --verify
each model is converted to a URDF, which independent libraries compare with the model.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from hrp_model import load_body
from hrp_model.diagnostics import Diagnostics, ModelError, Severity
from hrp_model.urdf import convert
from hrp_model.verify import LIBRARIES, Outcome, Report, verify
from hrp_model.verify.report import ABSENT, ERROR_KINDS

SUFFIXES = (".wrl", ".body", ".yaml", ".yml")
HEADER = """\
# Models

Results of `hrp_model` for {count} published models: {loaded} load, and {clean} of these
without a warning. `hrp-model check --list-codes` explains the codes.

Made by `scripts/model_table.py` from copies of the repositories below. A time is the median of
{repeats} loads, with all referenced files, in a process that has loaded the model before; it is
rounded, and depends on the machine.
"""
VERIFIED = """\
The last columns compare the URDF of each model, with meshes, as read by independent libraries, with
the model: {passed} of {count} pass with all of them. The first number is the largest difference in
kinematics, dynamics, limits and primitives, at most 1e-9; the second that of meshes and colours,
which are written in single precision, relative to their size, at most 1e-6. Causes for
which MuJoCo rejects a model are in brackets; the rest of the model is compared.

{reasons}
"""
COLUMNS = ["model", "loads", "links", "joints", "devices", "warnings", "ms"]
EXACT = 1e-9
NUMBERS = {"links", "joints", "devices", "ms"}


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

    def __str__(self) -> str:
        inside = self.model.partition("/")[2] or self.model
        loads = "yes" if self.counts else f"no: {_counted(self.errors)}"
        numbers = self.counts or ("", "", "")
        cells = [inside, loads, *numbers, _counted(self.warnings), _milliseconds(self.seconds)]
        cells += self.verified.values()
        return f"| {' | '.join(map(str, cells))} |"


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


def page(rows: Sequence[Row], commits: Mapping[str, str], repeats: int) -> Iterator[str]:
    """Yield the lines of the page: a table for each repository, and their sums."""
    loaded = [row for row in rows if row.counts]
    clean = sum(not row.warnings for row in loaded)
    yield HEADER.format(count=len(rows), loaded=len(loaded), clean=clean, repeats=repeats)
    libraries = list(loaded[0].verified) if loaded else []
    if libraries:
        passed = sum(not any(map(_is_failure, row.verified.values())) for row in loaded)
        cells = "\n".join(cell for row in loaded for cell in row.verified.values())
        kinds = [kind for kind in ERROR_KINDS.values() if kind.name in cells]
        reasons = "\n".join(f"* {kind.name}: {kind.reason}" for kind in kinds)
        yield VERIFIED.format(count=len(loaded), passed=passed, reasons=reasons)
    yield from _sums("Warnings", [row.warnings for row in loaded])
    for top in dict.fromkeys(row.model.partition("/")[0] for row in rows):
        owner, found, repository = top.partition("__")
        if found:
            name = f"{owner}/{repository}"
            yield f"## [{name}](https://github.com/{name})\n"
            if top in commits:
                yield f"Commit {commits[top]}.\n"
        else:
            yield f"## {top}\n"
        yield _heading([*COLUMNS, *libraries])
        yield from (str(row) for row in rows if row.model.partition("/")[0] == top)
        yield ""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the script and return its exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="folder of the models")
    parser.add_argument(
        "--list", type=Path, metavar="LIST.md", help="list of models and their sources"
    )
    parser.add_argument(
        "-o", "--output", type=Path, metavar="OUT.md", help="default: standard output"
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
    text = "\n".join(page(rows, commits, max(1, options.repeats)))
    if options.output is None:
        print(text)
    else:
        options.output.write_text(text, encoding="utf-8")
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


def _sums(title: str, found: Sequence[Counter[str]]) -> Iterator[str]:
    """Yield a table of the number of diagnostics and of models by code."""
    total = sum(found, Counter())
    if not total:
        return
    yield f"## {title}\n\n| code | models | times |\n| --- | ---: | ---: |\n" + "\n".join(
        f"| {code} | {sum(code in counter for counter in found)} | {times} |"
        for code, times in sorted(total.items())
    )
    yield ""


def _heading(columns: Sequence[str]) -> str:
    rules = ("---:" if column in NUMBERS else "---" for column in columns)
    return f"| {' | '.join(columns)} |\n| {' | '.join(rules)} |"


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
