"""Tables of the results of a study: one row per case, and one row per case and time."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from pathlib import Path

import numpy as np

from hrp_model.files.writer import write_atomically

from ...engine.engine import AnyArray
from ..sweeps import SweepResult
from ..sweeps.case import json_text
from .metrics import Metric, MetricKind
from .study import Study

CASES, SERIES = "cases", "series"


@dataclass(frozen=True)
class Table:
    """Columns of equal length, by name."""

    columns: Mapping[str, AnyArray]

    def csv(self) -> bytes:
        """Return the table as CSV (RFC 4180, UTF-8); numbers that are missing are empty."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\r\n")
        writer.writerow(self.columns)
        writer.writerows(zip(*(map(_cell, c.tolist()) for c in self.columns.values()), strict=True))
        return text.getvalue().encode()

    def parquet(self) -> bytes | None:
        """Return the table as parquet; None if pyarrow is not installed."""
        try:
            import pyarrow
            import pyarrow.parquet
        except ModuleNotFoundError:
            return None
        output = pyarrow.BufferOutputStream()
        pyarrow.parquet.write_table(pyarrow.table(dict(self.columns)), output)
        content: bytes = output.getvalue().to_pybytes()
        return content


def tables(study: Study, result: SweepResult) -> dict[str, Table]:
    """Return the tables of a study by the names of their files, without suffix."""
    series = {metric.name: metric for metric in study.metrics if metric.kind is MetricKind.SERIES}
    columns: dict[str, AnyArray] = {"case": np.arange(len(result.cases))}
    columns |= {v.name: column(result.cases, v.name) for v in study.variables}
    columns |= {name: values for name, values in result.values.items() if name not in series}
    columns["error"] = np.array(result.errors)
    columns["state_hash"] = np.array(result.state_hashes)
    columns["fingerprint"] = np.array(result.fingerprints)
    found = {CASES: Table(columns)}
    if kept := [series[name] for name in series if name in result.values]:
        found[SERIES] = _series(kept, result)
    return found


def write_tables(folder: Path, found: Mapping[str, Table]) -> list[Path]:
    """Write tables as CSV, and as parquet if pyarrow is installed; return the files.

    Raises:
        OSError: A file cannot be written.
    """
    files = []
    for name, table in found.items():
        for suffix, content in ((".csv", table.csv()), (".parquet", table.parquet())):
            if content is not None:
                path = folder / f"{name}{suffix}"
                write_atomically(path, content)
                files.append(path)
    return files


def column(cases: Sequence[Mapping[str, object]], name: str) -> AnyArray:
    """Return the values of a variable in all cases; those that are no numbers, as text."""
    values = [case[name] for case in cases]
    if all(isinstance(value, int | float) for value in values):
        numbers = np.array(values)
        if numbers.dtype.kind != "O":  # of integers beyond 64 bits
            return numbers
    return np.array([value if isinstance(value, str) else json_text(value) for value in values])


def _series(series: Sequence[Metric], result: SweepResult) -> Table:
    """Return a row for each value of each series, without those after the ends of runs."""
    parts: dict[str, list[AnyArray]] = {"case": [], "quantity": [], "time": [], "value": []}
    for metric in series:
        values = result.values[metric.name]
        cases, samples = np.nonzero(~np.isnan(values))
        parts["case"].append(cases)
        parts["quantity"].append(np.full(len(cases), metric.quantity))
        parts["time"].append(samples / metric.rate)
        parts["value"].append(values[cases, samples])
    return Table({name: np.concatenate(arrays) for name, arrays in parts.items()})


def _cell(value: object) -> object:
    return "" if isinstance(value, float) and isnan(value) else value
