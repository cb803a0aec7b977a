"""Notes, warnings and errors with their place in a file, shared by every reader."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field, replace
from enum import Enum
from itertools import islice
from math import inf, isfinite
from pathlib import Path

from hrp_msgs.sanitize import shortened

from .late_dataclass import dataclass

_log = logging.getLogger("hrp_model")
_MAX_MESSAGE = 2000  # characters
# A broken file may have a problem in every other character.
MAX_PER_CODE = 10_000
_BLOCK = 4096  # characters
# Limits of the search for similar names, whose time grows with their number and length.
_MAX_COMPARED_NAMES = 200
_MAX_DIGITS = 15  # of a number in decimal notation that every float keeps
_PLAIN_DIGITS = 9  # of a number without exponent
_MAX_NAME_LENGTH = 80
_MAX_LISTED_NAMES = 50  # in one message


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """The text of a file, with its path and the name shown in messages.

    Attributes:
        name: Shown in messages, usually the path as the user gave it.
        text: The decoded text.
        path: The file, for references relative to it; None for text from memory.
        encoding: In which the file is written; "" for text from memory.
    """

    name: str
    text: str = field(repr=False)
    path: Path | None = None
    encoding: str = ""
    _blocks: list[tuple[int, int]] = field(default_factory=list, init=False, repr=False)

    @property
    def stem(self) -> str:
        """Name of the file without its suffix; of text from memory the whole name."""
        return self.path.stem if self.path else self.name

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
    """Return for each block of a text the number of lines that end before it, and the last end.

    This index makes ``line_column`` take constant time, whatever the length of text and lines.
    """
    blocks = [(0, -1)]
    for start in range(0, len(text) - _BLOCK, _BLOCK):
        count, last_end = blocks[-1]
        line_end = text.rfind("\n", start, start + _BLOCK)
        count += text.count("\n", start, start + _BLOCK)
        blocks.append((count, max(last_end, line_end)))
    return blocks


@dataclass(frozen=True, slots=True)
class Span:
    """A half-open range of characters in a source."""

    source: Source
    start: int
    end: int

    def __str__(self) -> str:
        line, column = self.source.line_column(self.start)
        return f"{self.source.name}:{line}:{column}"


class Severity(Enum):
    """Severity of a diagnostic; strict mode promotes warnings to errors, but never notes."""

    NOTE = "note"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One problem or note about a file.

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
    """An optional library that is needed is not installed; the message names it."""


@contextmanager
def needs_extra(extra: str) -> Iterator[None]:
    """Report a library that a block imports and that is not installed.

    Args:
        extra: The extra of this package that brings it, such as "record".

    Raises:
        MissingLibraryError: It names the library and the command that installs it.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        raise MissingLibraryError(
            f"{error.name} is not installed: pip install 'hrp_ros[{extra}]'"
        ) from None


class ModelError(ValueError):
    """A model or world file could not be read; ``diagnostics`` holds all its problems."""

    def __init__(self, found: Iterable[Diagnostic]) -> None:
        self.diagnostics = tuple(found)
        super().__init__("\n".join(map(str, self.diagnostics)))

    def __reduce__(self) -> tuple[object, ...]:
        """Let worker processes send it, whose text is not its argument."""
        return type(self), (self.diagnostics,)


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
        self._demoted: frozenset[str] = frozenset()
        self._listener = listener or _log_diagnostic

    @classmethod
    def silent(cls, *, strict: bool = False) -> Diagnostics:
        """Return diagnostics that are collected, but not logged."""
        return cls(strict=strict, listener=lambda _: None)

    def note(self, code: str, message: str, at: Span | None = None) -> None:
        """Record a note, such as on something that a reader ignores on purpose."""
        self.add(Diagnostic(Severity.NOTE, code, message, at))

    def warn(self, code: str, message: str, at: Span | None = None) -> None:
        """Record a warning, or an error in strict mode."""
        self.add(Diagnostic(Severity.WARNING, code, message, at))

    def error(self, code: str, message: str, at: Span | None = None) -> None:
        """Record an error; the caller decides whether to go on."""
        self.add(Diagnostic(Severity.ERROR, code, message, at))

    @contextmanager
    def as_warnings(self, *codes: str) -> Iterator[None]:
        """Record errors with these codes as warnings within a ``with`` block.

        For optional values, such as colours, whose defaults the caller uses instead.
        """
        before, self._demoted = self._demoted, frozenset(codes)
        try:
            yield
        finally:
            self._demoted = before

    def add(self, diagnostic: Diagnostic) -> None:
        """Record a diagnostic.

        In strict mode a warning becomes an error. Long messages lose their middle. Of one code and
        severity only ``MAX_PER_CODE`` are recorded; the last one states that there are more.
        """
        if len(diagnostic.message) > _MAX_MESSAGE:
            message = shortened(diagnostic.message, _MAX_MESSAGE)
            diagnostic = replace(diagnostic, message=message)
        if diagnostic.code in self._demoted and diagnostic.severity is Severity.ERROR:
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
        """Whether any error has been recorded."""
        return any(d.severity is Severity.ERROR for d in self.found)

    def raise_errors(self) -> None:
        """Raise if errors were recorded, so that no later stage sees a broken result.

        Raises:
            ModelError: At least one error was recorded; it carries all of them.
        """
        errors = [d for d in self.found if d.severity is Severity.ERROR]
        if errors:
            raise ModelError(errors)


def number_text(value: float, digits: int = 3, *, bound: float | None = None) -> str:
    """Return a number as people read it: 4,210 rather than 4210.3847 or 4.21e+03.

    Numbers from 1e-4 to 1e9 have no exponent.

    Args:
        value: The number.
        digits: Significant digits.
        bound: A number with which the value is compared: if rounding would bring the value onto it
            or over it, there are more digits.
    """
    rounded = float(f"{value:.{digits}g}")
    while bound is not None and digits < _MAX_DIGITS and isfinite(value):
        if (rounded > bound) == (value > bound) and (rounded < bound) == (value < bound):
            break
        digits += 1
        rounded = float(f"{value:.{digits}g}")
    return f"{rounded:,.{max(digits, _PLAIN_DIGITS)}g}"


def out_of_range(value: float, low: float, high: float, unit: str = "") -> str:
    """Return what a number must be: "must be from 0 to 1,000,000 m, not 1,000,000.4 m".

    Args:
        value: The number, which is not within the range.
        low: Least value.
        high: Largest one; inf for none.
        unit: Of all of them.
    """
    unit = f" {unit}" if unit else ""
    least, most = (number_text(bound, 10) for bound in (low, high))
    wanted = f"at least {least}" if high == inf else f"from {least} to {most}"
    shown = number_text(value, 6, bound=low if value < low else high)
    return f"must be {wanted}{unit}, not {shown}{unit}"


def counted(count: int, noun: str) -> str:
    """Return a count with its noun in singular or plural: "1 link", "2 links", "no links"."""
    return f"{count or 'no'} {noun}{'' if count == 1 else 's'}"


def nearest_name(name: str, known: Iterable[str]) -> str | None:
    """Return the known name most similar to a misspelt one, or None if none is similar.

    Only a limited number of known names is compared, and no very long ones.
    """
    if len(name) > _MAX_NAME_LENGTH:
        return None
    names = [k for k in islice(known, _MAX_COMPARED_NAMES * 10) if len(k) <= _MAX_NAME_LENGTH]
    if len(names) > _MAX_COMPARED_NAMES:
        names = [k for k in names if k[:1].lower() == name[:1].lower()][:_MAX_COMPARED_NAMES]
    import difflib  # only once there is a problem

    close = difflib.get_close_matches(name, names, n=1)
    return close[0] if close else None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return " Did you mean 'x'?" if a known name is similar, else ""; see ``nearest_name``."""
    nearest = nearest_name(name, known)
    return "" if nearest is None else f" Did you mean '{nearest}'?"


def names_with_hint(name: str, known: Iterable[str]) -> str:
    """Return "x, y. Did you mean 'x'?": the first known names, with a hint for an unknown one."""
    names = list(known)
    hint = did_you_mean(name, names)
    return f"{listed(names, _MAX_LISTED_NAMES) or 'none'}{'.' if hint else ''}{hint}"


def did_you_mean_or_all(name: str, known: Iterable[str], limit: int = _MAX_LISTED_NAMES) -> str:
    """Return " Did you mean 'x'?" if a known name is similar, else " It is one of x, y.".

    At most ``limit`` names are listed.
    """
    names = list(known)
    if not names:
        return " There is none."
    return did_you_mean(name, names) or f" It is one of {listed(names, limit)}."


def listed(names: Sequence[str], limit: int) -> str:
    """Return "x, y and 3 more": the first names, and the number of the others."""
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return f"{', '.join(names[:limit])}{more}"
