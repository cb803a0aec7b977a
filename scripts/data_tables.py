"""Generated tables: CSV files in docs/data, which pages of the site show."""

from __future__ import annotations

import csv
import os
import platform
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from .program import ROOT

DATA = ROOT / "docs" / "data"
MEASURED_ON = "measured_on"
_MEASURED_ON_HEADER = ["table", "rounds", "commit", "processor", "programs"]

Table = tuple[Sequence[str], Sequence[Sequence[str]]]  # headings, and rows of as many cells


def write_tables(
    tables: Mapping[str, Table],
    folder: Path = DATA,
    *,
    rounds: str = "",
    beside: Sequence[str] = (),
) -> None:
    """Write each table as NAME.csv into a folder.

    Args:
        tables: The tables by name.
        folder: The folder.
        rounds: For tables of times: how often what was measured. It is written with the commit and
            the machine into ``MEASURED_ON``, from which the pages take it.
        beside: Packages that were measured, too, if they are installed.
    """
    for name, (header, rows) in tables.items():
        _write(folder / f"{name}.csv", [header, *rows])
    if rounds:
        path, about = folder / f"{MEASURED_ON}.csv", list(this_machine(beside).values())
        others = []
        with suppress(FileNotFoundError), path.open(encoding="utf-8", newline="") as file:
            others = [row for row in list(csv.reader(file))[1:] if row[0] not in tables]
        new = [[name, rounds, _commit(), *about] for name in tables]
        _write(path, [_MEASURED_ON_HEADER, *sorted(others + new)])


def _write(path: Path, rows: Sequence[Sequence[str]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)


def this_machine(beside: Sequence[str] = ()) -> dict[str, str]:
    """Describe this machine and its programs, without date and host name."""
    programs = [f"Python {platform.python_version()}"]
    for name in ("numpy", *beside):
        with suppress(PackageNotFoundError):
            programs.append(f"{name} {version(name)}")
    return {
        "processor": f"{_processor()}, {os.cpu_count() or 1} cores",
        "programs": ", ".join(programs),
    }


def _processor() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        text = ""
    values: dict[str, str] = {}
    for line in text.splitlines():
        key, _, value = line.partition(":")
        values.setdefault(key.strip(), value.strip())
    name = values.get("model name") or platform.processor() or platform.machine()
    if {"cpu family", "model"} <= values.keys():  # model names of virtual machines are vague
        name += f", family {values['cpu family']} model {values['model']}"
    return name


def _commit() -> str:
    """Return the commit of the sources, marked if what is measured differs from it."""

    def git(*words: str) -> str:
        done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    try:
        is_changed = git("status", "--porcelain", "--", ".", ":!docs")
        return git("rev-parse", "--short=8", "HEAD") + (" with changes" if is_changed else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def print_tables(tables: Mapping[str, Table]) -> None:
    """Print each table as Markdown."""
    for name, (header, rows) in tables.items():
        print(f"\n{name}\n")
        for line in (header, ["---"] * len(header), *rows):
            print(f"| {' | '.join(line)} |")


def output_tables(
    tables: Mapping[str, Table], *, page: bool, rounds: str, beside: Sequence[str] = ()
) -> None:
    """Write tables of times into the documentation, see ``write_tables``, or print them."""
    if page:
        write_tables(tables, rounds=rounds, beside=beside)
    else:
        print_tables(tables)


def model_name(path: str) -> str:
    """Return the name of a model in a folder of repositories, OWNER__REPOSITORY/FILE."""
    return path.replace("__", "/", 1)
