"""Generated tables: CSV files in docs/data, which pages of the site show."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path

DATA = Path(__file__).resolve().parents[1] / "docs" / "data"

Table = tuple[Sequence[str], Sequence[Sequence[str]]]  # headings, and rows of as many cells


def write_tables(tables: Mapping[str, Table], folder: Path = DATA) -> None:
    """Write each table as NAME.csv into a folder."""
    for name, (header, rows) in tables.items():
        with (folder / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([header, *rows])


def print_tables(tables: Mapping[str, Table]) -> None:
    """Print each table as Markdown."""
    for name, (header, rows) in tables.items():
        print(f"\n{name}\n")
        for line in (header, ["---"] * len(header), *rows):
            print(f"| {' | '.join(line)} |")


def model_name(path: str) -> str:
    """Return the name of a model in a folder of repositories, OWNER__REPOSITORY/FILE."""
    return path.replace("__", "/", 1)
