"""The folder of a study: a copy of the study, finished cases, tables and the report.

The tables have a row for each case, and a row for each case and time.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
from collections.abc import Mapping, Sequence
from math import isnan
from pathlib import Path
from typing import TypeAlias

import numpy as np

from hrp_model.files.writer import write_atomically
from hrp_model.program.command import UsageError

from ...control.controllers.classes import read_sources
from ...engine.engine import AnyArray
from ...world.config import WorldConfig
from ..sweeps import SweepResult
from .metrics import Metric, MetricKind
from .report import column, report
from .study import Study

STUDY, RECORD, CASES, REPORT = "study.yaml", "study.json", "cases", "report.html"
_MAX_RECORD = 1 << 26  # characters
# Columns of equal length, by name.
Table: TypeAlias = Mapping[str, AnyArray]


class StudyFolder:
    """The folder of a study.

    Args:
        path: The folder.
        study: The study.
    """

    def __init__(self, path: Path, study: Study) -> None:
        self._path, self._study = path, study
        self.cases = path / CASES
        self.report = path / REPORT
        self._record = {
            "version": 1,
            **study.document,
            "vary": {v.name: [v.kind.value, *v.values] for v in study.variables},
            "keep": [[metric.name, metric.rate] for metric in study.metrics],
            "files of controllers": _controller_hashes(study.scenario.world),
        }

    def check(self) -> None:
        """Check that the folder is new, empty, or that of this study.

        Raises:
            OSError: It cannot be read.
            UsageError: It contains something else.
        """
        if not self._path.exists():
            return
        if not self._path.is_dir():
            raise UsageError(f"--out {self._path}: it is a file; name a folder")
        path = self._path / RECORD
        try:
            with path.open(encoding="utf-8", errors="replace") as file:
                text = file.read(_MAX_RECORD)
        except FileNotFoundError:
            if any(os.scandir(self._path)):
                raise UsageError(
                    f"--out {self._path}: the folder is not empty and not that of a study; name "
                    "another one"
                ) from None
            return
        try:
            before = json.loads(text)
        except (ValueError, RecursionError):
            before = None
        if not isinstance(before, dict):
            raise UsageError(f"--out {self._path}: {RECORD} in it is broken; name another folder")
        now = json.loads(json.dumps(self._record))
        changed = [key for key in {**now, **before} if before.get(key) != now.get(key)]
        if changed:
            raise UsageError(
                f"--out {self._path}: the folder is that of a study that differs in "
                f"{', '.join(changed)}; name another folder, or remove this one"
            )

    def begin(self) -> None:
        """Create the folder with a copy of the study, or what it lacks of these.

        Raises:
            OSError: It cannot be written.
        """
        self._path.mkdir(parents=True, exist_ok=True)
        # The record is first: with it, ``check`` knows a folder that could not be completed.
        record = json.dumps(self._record, indent=1)
        for name, text in ((RECORD, record), (STUDY, self._study.text)):
            if not (self._path / name).exists():
                write_atomically(self._path / name, text.encode())
        self.cases.mkdir(exist_ok=True)

    def write(self, result: SweepResult) -> list[Path]:
        """Write the tables and the report; return their files.

        Raises:
            MissingLibraryError: matplotlib is not installed.
            OSError: A file cannot be written.
        """
        files = []
        for name, table in tables(self._study, result).items():
            for suffix, content in ((".csv", csv_of(table)), (".parquet", parquet_of(table))):
                if content is not None:
                    path = self._path / f"{name}{suffix}"
                    write_atomically(path, content)
                    files.append(path)
        write_atomically(self.report, report(self._study, result))
        return [*files, self.report]


def _controller_hashes(world: WorldConfig) -> dict[str, str]:
    """Return the SHA-256 of the files of controllers, without which old cases would be kept."""
    return {
        name: hashlib.sha256(content).hexdigest()
        for entry in world.controllers
        for name, content in read_sources(entry).items()
    }


def tables(study: Study, result: SweepResult) -> dict[str, Table]:
    """Return the tables of a study by the names of their files, without suffix."""
    series = {metric.name: metric for metric in study.metrics if metric.kind is MetricKind.SERIES}
    columns: dict[str, AnyArray] = {"case": np.arange(len(result.cases))}
    columns |= {v.name: column(result, v.name) for v in study.variables}
    columns |= {name: values for name, values in result.values.items() if name not in series}
    columns["error"] = np.array(result.errors)
    columns["state_hash"] = np.array(result.state_hashes)
    columns["fingerprint"] = np.array(result.fingerprints)
    found: dict[str, Table] = {"cases": columns}
    if kept := [series[name] for name in series if name in result.values]:
        found["series"] = _series(kept, result)
    return found


def csv_of(table: Table) -> bytes:
    """Return a table as CSV (RFC 4180, UTF-8); numbers that are missing are empty."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(table)
    writer.writerows(zip(*(map(_cell, c.tolist()) for c in table.values()), strict=True))
    return text.getvalue().encode()


def parquet_of(table: Table) -> bytes | None:
    """Return a table as parquet; None if pyarrow is not installed."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ModuleNotFoundError:
        return None
    output = pyarrow.BufferOutputStream()
    pyarrow.parquet.write_table(pyarrow.table(dict(table)), output)
    content: bytes = output.getvalue().to_pybytes()
    return content


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
    return {name: np.concatenate(arrays) for name, arrays in parts.items()}


def _cell(value: object) -> object:
    return "" if isinstance(value, float) and isnan(value) else value
