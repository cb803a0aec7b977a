"""Selection of the problems that count, and their summary over many models.

Baselines are files of known problems, so that only new ones are reported.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import field, replace
from pathlib import Path
from typing import NamedTuple

from ..diagnostics import Diagnostic, Diagnostics, Severity, counted
from ..files.file_watch import without_recording
from ..files.resources import read_file
from ..late_dataclass import dataclass
from .check_settings import Settings, SettingsError, SettingsFinder

_VERSION = 1
_DIGITS = 16
_MAX_SIZE = 64 << 20  # [bytes]
# Places in messages, such as "line 12" or "arm.body:12:3", which change when lines are added.
_PLACE = r"\bline \d+|:\d+(?::\d+)?\b"


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
        message = re.sub(_PLACE, "", diagnostic.message.replace(f"{self._folder}{os.sep}", ""))
        import hashlib  # OpenSSL, which only baselines need

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


@dataclass
class Summary:
    """Counts over the models of a check.

    Attributes:
        models: Number of checked models.
        without_problems: Number of models without problems that count.
        problems: Number of problems that count, by severity.
        ignored: Number of problems that the settings ignore.
        known: Number of problems in a baseline.
    """

    models: int = 0
    without_problems: int = 0
    problems: Counter[Severity] = field(default_factory=Counter)
    ignored: int = 0
    known: int = 0

    def add(self, found: Iterable[Diagnostic]) -> None:
        """Add a model and its problems that count."""
        counts = Counter(diagnostic.severity for diagnostic in found)
        self.models += 1
        self.without_problems += not counts
        self.problems += counts

    def numbers(self) -> dict[str, int]:
        """Return the counts by name, for programs."""
        return {
            "models": self.models,
            "models_without_problems": self.without_problems,
            **{f"{severity.value}s": self.problems[severity] for severity in reversed(Severity)},
            "ignored": self.ignored,
            "in_baseline": self.known,
        }

    def __str__(self) -> str:
        problems = [
            counted(self.problems[severity], severity.value)
            for severity in reversed(Severity)
            if self.problems[severity]
        ]
        parts = [f"{counted(self.models, 'model')}: {', '.join(problems) or 'no problems'}"]
        if self.ignored:
            parts.append(f"{counted(self.ignored, 'problem')} ignored")
        if self.known:
            parts.append(f"{counted(self.known, 'problem')} in the baseline")
        return "; ".join(parts)


class Judge:
    """Selects the problems that count, by settings and baselines.

    Args:
        settings: Settings of all folders.
        strict: Whether warnings that count become errors.
        written: A new baseline that receives all problems that are not ignored; None to compare
            with the baselines in the settings.
    """

    def __init__(
        self, settings: SettingsFinder, *, strict: bool, written: Baseline | None = None
    ) -> None:
        self.summary = Summary()
        self._settings = settings
        self._strict = strict
        self._written = written
        self._baselines: dict[Path, Baseline] = {}

    def counting(self, model: Path, found: Iterable[Diagnostic]) -> list[Diagnostic]:
        """Return the problems of a model that count, and add them to the summary.

        Raises:
            OSError, SettingsError, MissingLibraryError: The settings or the baseline are
                invalid.
        """
        settings = self._settings.of_folder(model.parent)
        remaining = []
        for diagnostic in found:
            if settings.is_ignored(model, diagnostic):
                self.summary.ignored += 1
            else:
                remaining.append(diagnostic)
        if self._written is not None:
            self._written.add(model, remaining)
            errors = [d for d in remaining if d.severity is Severity.ERROR]
            self.summary.known += len(remaining) - len(errors)
            remaining = errors
        elif settings.baseline is not None:
            baseline = self._baseline(settings, settings.baseline)
            new = [d for d in remaining if not baseline.take(model, d)]
            self.summary.known += len(remaining) - len(new)
            remaining = new
        if self._strict:
            remaining = [_strict(diagnostic) for diagnostic in remaining]
        self.summary.add(remaining)
        return remaining

    def _baseline(self, settings: Settings, path: Path) -> Baseline:
        if path not in self._baselines:
            try:
                self._baselines[path] = read_baseline(path)
            except (OSError, BaselineError) as error:
                reason = getattr(error, "strerror", None) or error
                diagnostics = Diagnostics.silent()
                message = f"the baseline '{path}' is invalid: {reason}"
                diagnostics.error("bad-baseline", message, settings.baseline_at)
                raise SettingsError(diagnostics.found) from None
        return self._baselines[path]


def _strict(diagnostic: Diagnostic) -> Diagnostic:
    if diagnostic.severity is Severity.WARNING:
        return replace(diagnostic, severity=Severity.ERROR)
    return diagnostic
