"""Baselines: files of known problems, so that only new ones are reported."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from ...diagnostics import Diagnostic, Severity
from ...files.file_watch import without_recording
from ...files.resources import read_file

_VERSION = 1
_DIGITS = 16
_MAX_SIZE = 64 << 20  # [bytes]
# Places in messages, such as "line 12" or "arm.body:12:3", which change when lines are added.
_PLACE = re.compile(r"\bline \d+|:\d+(?::\d+)?\b")


class BaselineError(ValueError):
    """A file is not a baseline; the message has the reason."""


class Entry(NamedTuple):
    """Key of equal problems of a file.

    Attributes:
        file: Path relative to the folder of the baseline.
        code: Code of the diagnostics.
        message: Digest of their message without places.
    """

    file: str
    code: str
    message: str


class Baseline:
    """Counts of known problems.

    Errors are never in a baseline, as the model is invalid.

    Args:
        path: The file of the baseline; paths are relative to its folder.
        known: Counts by problem.
    """

    def __init__(self, path: Path, known: Counter[Entry] | None = None) -> None:
        self._folder = Path(os.path.realpath(path.parent))
        self._known: Counter[Entry] = Counter() if known is None else known

    @property
    def total(self) -> int:
        """The number of problems."""
        return self._known.total()

    def add(self, model: Path, found: Iterable[Diagnostic]) -> None:
        """Add the problems of a model, except errors."""
        self._known.update(self._entry(model, d) for d in found if d.severity is not Severity.ERROR)

    def take(self, model: Path, diagnostic: Diagnostic) -> bool:
        """Return whether a problem is known, and decrement its count."""
        if diagnostic.severity is Severity.ERROR:
            return False
        entry = self._entry(model, diagnostic)
        if not self._known[entry]:
            return False
        self._known[entry] -= 1
        return True

    def text(self) -> str:
        """Return the baseline as JSON, one line for each problem."""
        problems = [{**entry._asdict(), "count": n} for entry, n in sorted(self._known.items())]
        lines = ",\n".join(f"  {json.dumps(p)}" for p in problems)
        listed = f"[\n{lines}\n ]" if lines else "[]"
        return f'{{\n "version": {_VERSION},\n "problems": {listed}\n}}\n'

    def _entry(self, model: Path, diagnostic: Diagnostic) -> Entry:
        source = None if diagnostic.at is None else diagnostic.at.source
        path = model if source is None or source.path is None else source.path
        file = Path(os.path.relpath(os.path.realpath(path), self._folder)).as_posix()
        message = _PLACE.sub("", diagnostic.message.replace(f"{self._folder}{os.sep}", ""))
        digest = hashlib.sha256(message.encode(errors="surrogatepass")).hexdigest()
        return Entry(file, diagnostic.code, digest[:_DIGITS])


def read_baseline(path: Path) -> Baseline:
    """Read a baseline.

    Raises:
        OSError: The file cannot be read.
        BaselineError: It is not a baseline.
    """
    with without_recording():  # --write-baseline may replace it
        data = read_file(path, _MAX_SIZE)
    known: Counter[Entry] = Counter()
    try:
        content = json.loads(data)
        if content["version"] != _VERSION:
            raise BaselineError(f"its version is not {_VERSION}")
        for problem in content["problems"]:
            entry = Entry(*(str(problem[name]) for name in Entry._fields))
            known[entry] += int(problem["count"])
    except BaselineError:
        raise
    except (KeyError, TypeError, ValueError, RecursionError, OverflowError):
        raise BaselineError("it is not in the format of --write-baseline") from None
    return Baseline(path, known)
