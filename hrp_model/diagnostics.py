"""Located notes, warnings and errors, shared by every reader."""

from __future__ import annotations

import difflib
import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import Enum
from itertools import islice
from pathlib import Path

_log = logging.getLogger("hrp_model")
_MAX_MESSAGE = 2000
# A file may have a fault in every other character; nobody reads on after so many of one kind.
MAX_PER_CODE = 10_000
_BLOCK = 4096  # characters
# To compare names takes time that grows with their number and length.
_MANY_NAMES = 200
_LONG_NAME = 80
_LISTED = 50  # names in one message


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """The text of one file, the name shown for it, and where it lies.

    Attributes:
        name: What messages call the file, usually the path as the user gave it.
        text: The decoded text.
        path: The file itself, for references relative to it; None for text from memory.
    """

    name: str
    text: str = field(repr=False)
    path: Path | None = None
    _blocks: list[tuple[int, int]] = field(default_factory=list, init=False, repr=False)

    def line_column(self, offset: int) -> tuple[int, int]:
        """Return the 1-based line and column of a character offset."""
        if not self._blocks:
            self._blocks[:] = _line_blocks(self.text)
        block = min(offset // _BLOCK, len(self._blocks) - 1)
        lines, last_end = self._blocks[block]
        lines += self.text.count("\n", block * _BLOCK, offset)
        last_end = max(last_end, self.text.rfind("\n", block * _BLOCK, offset))
        return 1 + lines, offset - last_end


def _line_blocks(text: str) -> list[tuple[int, int]]:
    """Return how many lines end before each block of a text, and where the last of them ends.

    With them the place of an offset takes the same short time however long the text or its
    lines are, and in whatever order places are asked for.
    """
    blocks = [(0, -1)]
    for start in range(0, len(text) - _BLOCK, _BLOCK):
        count, last_end = blocks[-1]
        found = text.rfind("\n", start, start + _BLOCK)
        count += text.count("\n", start, start + _BLOCK)
        blocks.append((count, max(last_end, found)))
    return blocks


@dataclass(frozen=True, slots=True)
class Span:
    """A half-open range of characters; it knows which file it belongs to."""

    source: Source
    start: int
    end: int

    def __str__(self) -> str:
        line, column = self.source.line_column(self.start)
        return f"{self.source.name}:{line}:{column}"


class Severity(Enum):
    """How much a diagnostic matters: notes are never promoted to errors."""

    NOTE = "note"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One thing found in a file.

    ``code`` is a stable slug ("unknown-field") for tests and filters;
    ``message`` is a sentence for people and may be reworded freely.
    """

    severity: Severity
    code: str
    message: str
    at: Span | None = None

    def __str__(self) -> str:
        where = f"{self.at}: " if self.at else ""
        return f"{where}{self.severity.value}: {self.message} [{self.code}]"


class MissingLibraryError(ImportError):
    """A library that is needed for what was asked is not installed; the message names it."""


class ModelError(ValueError):
    """A model or world file could not be read. Carries everything that was found."""

    def __init__(self, found: Iterable[Diagnostic]) -> None:
        self.diagnostics = tuple(found)
        super().__init__("\n".join(map(str, self.diagnostics)))


_LOG_LEVELS = {
    Severity.NOTE: logging.INFO,
    Severity.WARNING: logging.WARNING,
    Severity.ERROR: logging.ERROR,
}


def _log_diagnostic(diagnostic: Diagnostic) -> None:
    _log.log(_LOG_LEVELS[diagnostic.severity], "%s", diagnostic)


class Diagnostics:
    """Collects problems, so that one run reports all of them.

    Args:
        strict: Treat warnings as errors.
        listener: Called with each diagnostic as it arrives; logs by default.
    """

    def __init__(
        self,
        *,
        strict: bool = False,
        listener: Callable[[Diagnostic], None] | None = None,
    ) -> None:
        self.found: list[Diagnostic] = []
        self._counts: Counter[tuple[Severity, str]] = Counter()
        self._strict = strict
        self._forgiven: frozenset[str] = frozenset()
        self._listener = listener or _log_diagnostic

    def note(self, code: str, message: str, at: Span | None = None) -> None:
        """Record something a reader left out on purpose."""
        self.add(Diagnostic(Severity.NOTE, code, message, at))

    def warn(self, code: str, message: str, at: Span | None = None) -> None:
        """Record a warning, or an error in strict mode."""
        self.add(Diagnostic(Severity.WARNING, code, message, at))

    def error(self, code: str, message: str, at: Span | None = None) -> None:
        """Record an error and return: the caller goes on, or gives up quietly."""
        self.add(Diagnostic(Severity.ERROR, code, message, at))

    @contextmanager
    def as_warnings(self, *codes: str) -> Iterator[None]:
        """Record errors with these codes as warnings for the time of a ``with`` block.

        For values a model can do without, such as colours: the caller uses its defaults.
        """
        before, self._forgiven = self._forgiven, frozenset(codes)
        try:
            yield
        finally:
            self._forgiven = before

    def add(self, diagnostic: Diagnostic) -> None:
        """Record a diagnostic, such as one that another collection heard of first.

        In strict mode a warning becomes an error. Endless messages are cut, and those of one
        code and severity after ``MAX_PER_CODE``; the last says that there are more.
        """
        if len(diagnostic.message) > _MAX_MESSAGE:
            diagnostic = replace(diagnostic, message=f"{diagnostic.message[:_MAX_MESSAGE]} ...")
        if diagnostic.code in self._forgiven and diagnostic.severity is Severity.ERROR:
            message = f"{diagnostic.message}; the default is used"
            diagnostic = replace(diagnostic, severity=Severity.WARNING, message=message)
        if self._strict and diagnostic.severity is Severity.WARNING:
            diagnostic = replace(diagnostic, severity=Severity.ERROR)
        kind = diagnostic.severity, diagnostic.code
        self._counts[kind] += 1
        if self._counts[kind] > MAX_PER_CODE:
            return
        if self._counts[kind] == MAX_PER_CODE:
            message = f"{diagnostic.message} (further ones like this are not reported)"
            diagnostic = replace(diagnostic, message=message)
        self.found.append(diagnostic)
        self._listener(diagnostic)

    @property
    def has_errors(self) -> bool:
        """Whether any error was recorded so far."""
        return any(d.severity is Severity.ERROR for d in self.found)

    def raise_errors(self) -> None:
        """Mark the end of a stage: nothing downstream sees a broken result.

        Raises:
            ModelError: At least one error was recorded; it carries all of them.
        """
        errors = [d for d in self.found if d.severity is Severity.ERROR]
        if errors:
            raise ModelError(errors)


def counted(count: int, what: str) -> str:
    """Return a number and what it counts: "1 link", "2 links", "no links"."""
    return f"{count or 'no'} {what}{'' if count == 1 else 's'}"


def nearest_name(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that a near miss is nearest to, else None.

    Of very many known names only some are considered, and of very long ones none.
    """
    if len(name) > _LONG_NAME:
        return None
    names = [k for k in islice(known, _MANY_NAMES * 10) if len(k) <= _LONG_NAME]
    if len(names) > _MANY_NAMES:
        names = [k for k in names if k[:1].lower() == name[:1].lower()][:_MANY_NAMES]
    close = difflib.get_close_matches(name, names, n=1)
    return close[0] if close else None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return " Did you mean 'x'?" for a near miss, else nothing; see ``nearest_name``."""
    nearest = nearest_name(name, known)
    return "" if nearest is None else f" Did you mean '{nearest}'?"


def names_with_hint(name: str, known: Iterable[str]) -> str:
    """Return "x, y. Did you mean 'x'?": the names there are, for one that is not among them.

    Of very many names only the first are listed.
    """
    names = list(known)
    hint = did_you_mean(name, names)
    return f"{_listed(names, _LISTED) or 'none'}{'.' if hint else ''}{hint}"


def did_you_mean_or_all(name: str, known: Iterable[str], at_most: int = _LISTED) -> str:
    """Return " Did you mean 'x'?" for a near miss, else " It is one of x, y.".

    Of very many names only the first ``at_most`` are listed.
    """
    names = list(known)
    if not names:
        return " There is none."
    return did_you_mean(name, names) or f" It is one of {_listed(names, at_most)}."


def _listed(names: list[str], at_most: int) -> str:
    more = f" and {len(names) - at_most} more" if len(names) > at_most else ""
    return f"{', '.join(names[:at_most])}{more}"
