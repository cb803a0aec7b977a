"""Selection of the problems that count, and their summary over many models."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from ...diagnostics import Diagnostic, Diagnostics, Severity, counted
from .baseline import Baseline, BaselineError, read_baseline
from .settings import Settings, SettingsError, SettingsFinder


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
                diagnostics = Diagnostics(listener=lambda _: None)
                message = f"the baseline '{path}' is invalid: {reason}"
                diagnostics.error("bad-baseline", message, settings.baseline_at)
                raise SettingsError(diagnostics.found) from None
        return self._baselines[path]


def _strict(diagnostic: Diagnostic) -> Diagnostic:
    if diagnostic.severity is Severity.WARNING:
        return replace(diagnostic, severity=Severity.ERROR)
    return diagnostic
