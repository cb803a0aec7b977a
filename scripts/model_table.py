#!/usr/bin/env python3
"""Write a table of what becomes of models: what loads, what is warned about, how long it takes.

python scripts/model_table.py FOLDER [--list LIST.md] [-o docs/models.md]

The list is Markdown. Rows of its tables whose first cell is a model in FOLDER are the models;
rows whose first cell is a folder in FOLDER, named OWNER__REPOSITORY, give in their second cell
the commit of that repository. Without a list every model file in FOLDER counts.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from hrp_model import load_body
from hrp_model.diagnostics import Diagnostics, ModelError, Severity

SUFFIXES = (".wrl", ".body", ".yaml", ".yml")
HEADER = """\
# Models

What `hrp_model` makes of {count} published models: {loaded} load, and {clean} of these
without a warning. What the codes mean: `hrp-model check --list-codes`.

Made by `scripts/model_table.py` from copies of the repositories below. A time is the median of
{repeats} loads in a process that has loaded the model before, all files that it draws in
included; it is rounded, and depends on the machine.
"""
COLUMNS = "| model | loads | links | joints | devices | warnings | ms |\n"
RULE = "| --- | --- | ---: | ---: | ---: | --- | ---: |\n"


@dataclass
class Row:
    """What became of one model.

    Attributes:
        model: Its path in the folder.
        counts: Links, moving joints and devices; None if it does not load.
        errors, warnings: How often each code was given.
        seconds: Time to load.
    """

    model: str
    counts: tuple[int, int, int] | None = None
    errors: Counter[str] = field(default_factory=Counter)
    warnings: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0

    def __str__(self) -> str:
        inside = self.model.partition("/")[2] or self.model
        loads = "yes" if self.counts else f"no: {_counted(self.errors)}"
        numbers = self.counts or ("", "", "")
        cells = (inside, loads, *numbers, _counted(self.warnings), _milliseconds(self.seconds))
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
    """Load a model and return what became of it."""
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


def page(rows: Sequence[Row], commits: Mapping[str, str], repeats: int) -> Iterator[str]:
    """Yield the lines of the page: a table for each repository, and their sums."""
    loaded = [row for row in rows if row.counts]
    clean = sum(not row.warnings for row in loaded)
    yield HEADER.format(count=len(rows), loaded=len(loaded), clean=clean, repeats=repeats)
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
        yield (
            COLUMNS
            + RULE
            + "\n".join(str(row) for row in rows if row.model.partition("/")[0] == top)
        )
        yield ""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the script and return its exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="where the models are")
    parser.add_argument("--list", type=Path, metavar="LIST.md", help="which of them, and whence")
    parser.add_argument("-o", "--output", type=Path, metavar="OUT.md", help="default: stdout")
    parser.add_argument("--repeats", type=int, default=3, help="loads per model; default: 3")
    options = parser.parse_args(argv)
    if options.list is None:
        models, commits = find_models(options.folder), dict[str, str]()
    else:
        models, commits = read_list(options.list.read_text(encoding="utf-8"), options.folder)
    if not models:
        parser.error(f"no models in {options.folder}")
    rows = [measure(model, options.folder, max(1, options.repeats)) for model in models]
    text = "\n".join(page(rows, commits, max(1, options.repeats)))
    if options.output is None:
        print(text)
    else:
        options.output.write_text(text, encoding="utf-8")
    return 0


def _sums(title: str, found: Sequence[Counter[str]]) -> Iterator[str]:
    """Yield a table of how often each code is given, and in how many models."""
    total = sum(found, Counter())
    if not total:
        return
    yield f"## {title}\n\n| code | models | times |\n| --- | ---: | ---: |\n" + "\n".join(
        f"| {code} | {sum(code in counter for counter in found)} | {times} |"
        for code, times in sorted(total.items())
    )
    yield ""


def _counted(codes: Counter[str]) -> str:
    return ", ".join(f"{code} {n}" if n > 1 else code for code, n in sorted(codes.items()))


def _milliseconds(seconds: float) -> str:
    """Return a time with two digits that count."""
    return f"{float(f'{1e3 * seconds:.2g}'):g}"


if __name__ == "__main__":
    sys.exit(main())
