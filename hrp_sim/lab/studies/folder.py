"""The folder of a study: a copy of the study, finished cases, tables and the report."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

from hrp_model.files.writer import write_atomically
from hrp_model.program.command import UsageError

from ...control.controllers.source_files import read_sources
from ...world.config import WorldConfig
from ..sweeps import SweepResult
from .report import report
from .study import Study
from .table import tables, write_tables

STUDY, RECORD, CASES, REPORT = "study.yaml", "study.json", "cases", "report.html"
_MAX_RECORD = 1 << 26  # characters


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
        files = write_tables(self._path, tables(self._study, result))
        write_atomically(self.report, report(self._study, result))
        return [*files, self.report]


def _controller_hashes(world: WorldConfig) -> dict[str, str]:
    """Return the SHA-256 of the files of controllers, without which old cases would be kept."""
    return {
        name: hashlib.sha256(content).hexdigest()
        for entry in world.controllers
        for name, content in read_sources(entry).items()
    }
