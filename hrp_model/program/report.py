"""Reports of diagnostics: text with source excerpts, JSON and SARIF.

The table ``codes.csv`` has the meanings and hints of all codes, also for ``--list-codes`` and the
reference of codes.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from .. import __version__
from ..body import Body
from ..diagnostics import Diagnostic, Diagnostics, Severity, Source, Span, counted
from ..load import load_body
from ..printable import printable
from .console import print_message, working

_TABLE = Path(__file__).with_name("codes.csv")
# A model, by the name that the user gave, and its diagnostics.
Checked = tuple[str, Iterable[Diagnostic]]
# Notes on what a run does, which it shows or logs as well.
SHOWN_NOTES = frozenset(("sample-controller",))
_STYLES = {Severity.NOTE: "dim", Severity.WARNING: "yellow", Severity.ERROR: "red"}
CHECK_ALL = "'hrp-model check --all' shows them"
_MAX_EXCERPT = 100  # columns
_MAX_PER_CODE = 5  # diagnostics shown


class Rule(NamedTuple):
    """Meaning and hint of a code, each a line without a full stop.

    Attributes:
        meaning: The problem.
        hint: How to fix it.
    """

    meaning: str
    hint: str


class Codes(Mapping[str, Rule]):
    """The rules of some topics by code, in the order of the table; read at their first use.

    Args:
        topics: Values of the column "topic"; all if none is given.
    """

    def __init__(self, *topics: str) -> None:
        self._topics = frozenset(topics)

    @cached_property
    def _rules(self) -> dict[str, Rule]:
        import csv  # only once there is a problem

        with _TABLE.open(encoding="utf-8", newline="") as file:
            return {
                row["code"]: Rule(row["meaning"], row["hint"])
                for row in csv.DictReader(file)
                if not self._topics or row["topic"] in self._topics
            }

    def __getitem__(self, code: str) -> Rule:
        return self._rules[code]

    def __iter__(self) -> Iterator[str]:
        return iter(self._rules)

    def __len__(self) -> int:
        return len(self._rules)


# Of models: problems with files and their syntax, with parts of a format, with a Body.
CODES = Codes("files", "parts", "bodies")


def by_place(found: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Return diagnostics sorted by file, in order of first occurrence, and by place."""
    files: dict[Source | None, list[Diagnostic]] = {}
    for diagnostic in found:
        source = None if diagnostic.at is None else diagnostic.at.source
        files.setdefault(source, []).append(diagnostic)
    return [
        diagnostic
        for of_file in files.values()
        for diagnostic in sorted(of_file, key=lambda d: 0 if d.at is None else d.at.start)
    ]


def fold(found: Iterable[Diagnostic]) -> tuple[list[Diagnostic], Counter[str]]:
    """Return the first few diagnostics of each code, and the number of others by code."""
    shown, kinds, rest = [], Counter[tuple[str, Severity]](), Counter[str]()
    for diagnostic in found:
        kind = diagnostic.code, diagnostic.severity
        kinds[kind] += 1
        if kinds[kind] <= _MAX_PER_CODE:
            shown.append(diagnostic)
        else:
            rest[diagnostic.code] += 1
    return shown, rest


def text_reports(
    found: Iterable[Diagnostic],
    *,
    every: bool = False,
    folder: Path | None = None,
    advice: str = "",
    codes: Mapping[str, Rule] = CODES,
) -> list[tuple[Severity | None, str]]:
    """Return the report of a model as paragraphs, each with its severity.

    Equal diagnostics are shown once with their number, and a hint once for each code. The last
    paragraph may count those that are not shown; it has no severity.

    Args:
        found: Diagnostics in the order of printing.
        every: Whether to show all of them, instead of the first few of each code.
        folder: As in ``text_report``.
        advice: How to show all of them.
        codes: Hints by code.
    """
    times = Counter(found)
    shown, rest = (list(times), Counter()) if every else fold(times)
    explained: set[str] = set()
    paragraphs: list[tuple[Severity | None, str]] = []
    for diagnostic in shown:
        text = text_report(
            diagnostic,
            with_hint=diagnostic.code not in explained,
            times=times[diagnostic],
            folder=folder,
            codes=codes,
        )
        if "\n  hint: " in text:
            explained.add(diagnostic.code)
        paragraphs.append((diagnostic.severity, text))
    if rest:
        more = ", ".join(f"{count} more [{code}]" for code, count in rest.items())
        paragraphs.append((None, f"and {more}: {advice}" if advice else f"and {more}"))
    return paragraphs


def text_report(
    diagnostic: Diagnostic,
    *,
    with_hint: bool = True,
    times: int = 1,
    folder: Path | None = None,
    codes: Mapping[str, Rule] = CODES,
) -> str:
    """Return a diagnostic with its source line and a hint.

    Notes, and messages with a suggestion, have no hint.

    Args:
        diagnostic: The diagnostic.
        with_hint: Whether to add the hint.
        times: How often it was found.
        folder: Paths of files in this folder are shown relative to it.
        codes: Hints by code.
    """
    first = str(diagnostic)
    if diagnostic.at is not None and folder is not None:
        name = diagnostic.at.source.name
        if Path(name).is_relative_to(folder):
            first = str(Path(name).relative_to(folder)) + first.removeprefix(name)
    lines = [printable(first) + (f" ({times} times)" if times > 1 else "")]
    if diagnostic.at is not None:
        lines += _excerpt(diagnostic.at)
    helps = diagnostic.severity is not Severity.NOTE and "Did you mean" not in diagnostic.message
    if with_hint and helps and diagnostic.code in codes:
        lines.append(f"  hint: {codes[diagnostic.code].hint}")
    return "\n".join(lines)


def json_report(checked: Iterable[Checked]) -> list[dict[str, Any]]:
    """Return the diagnostics of models as JSON objects; an unknown place is null."""
    return [
        {
            "model": name,
            **_place(diagnostic),
            "severity": diagnostic.severity.value,
            "code": diagnostic.code,
            "message": diagnostic.message,
            "hint": CODES[diagnostic.code].hint if diagnostic.code in CODES else None,
        }
        for name, found in checked
        for diagnostic in found
    ]


def sarif_report(checked: Iterable[Checked]) -> dict[str, Any]:
    """Return the diagnostics of models as a SARIF 2.1.0 log (OASIS) for code hosts and editors.

    Diagnostics without a place refer to the model's file.
    """
    results: list[dict[str, Any]] = [
        {
            "ruleId": diagnostic.code,
            "level": diagnostic.severity.value,
            "message": {"text": diagnostic.message},
            "locations": [{"physicalLocation": _sarif_place(name, diagnostic.at)}],
        }
        for name, found in checked
        for diagnostic in found
    ]
    codes = sorted({result["ruleId"] for result in results})
    numbers = {code: number for number, code in enumerate(codes)}
    for result in results:
        result["ruleIndex"] = numbers[result["ruleId"]]
    rules = [_sarif_rule(code) for code in codes]
    driver = {"name": "hrp-model", "version": __version__, "rules": rules}
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": driver},
                "columnKind": "unicodeCodePoints",
                "results": results,
            }
        ],
    }


def code_list(codes: Mapping[str, Rule] = CODES) -> str:
    """Return codes with meanings and hints, a paragraph for each."""
    return "\n".join(f"{code}\n    {rule.meaning}\n    {rule.hint}" for code, rule in codes.items())


def summary(name: str, found: Iterable[Diagnostic]) -> str:
    """Return one line about a checked file: the number of its problems by severity."""
    counts = dict.fromkeys((Severity.ERROR, Severity.WARNING, Severity.NOTE), 0)
    for diagnostic in found:
        counts[diagnostic.severity] += 1
    parts = [counted(n, s.value) for s, n in counts.items() if n]
    return f"{name}: {', '.join(parts) or 'no problems'}"


def _excerpt(at: Span) -> list[str]:
    """Return the source line with carets below it, or nothing if the line is empty.

    A long line is shortened to the part around the place.
    """
    line, column = at.source.line_column(at.start)
    source = at.source.text
    begin, end = at.start - (column - 1), source.find("\n", at.start)
    end = len(source) if end < 0 else end
    left, right = begin, end
    if end - begin > _MAX_EXCERPT:
        left = max(begin, min(at.start - _MAX_EXCERPT // 4, end - _MAX_EXCERPT))
        right = left + _MAX_EXCERPT
    text = printable(source[left:right].rstrip("\r"))
    before = text[: at.start - left]
    pointed = text[at.start - left : max(at.end, at.start + 1) - left]
    if not text.strip() or not pointed:
        return []
    marks = "... " if left > begin else "", " ..." if right < end else ""
    indent = "".join("\t" if c == "\t" else " " * _columns(c) for c in marks[0] + before)
    gutter = f"{line:5} | "
    return [
        gutter + marks[0] + text + marks[1],
        " " * (len(gutter) - 2) + "| " + indent + "^" * max(1, _columns(pointed)),
    ]


def _columns(text: str) -> int:
    """Return the width of a text on a terminal, in columns."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len  # a table of all characters

    return cell_len(text)


def _place(diagnostic: Diagnostic) -> dict[str, Any]:
    if diagnostic.at is None:
        return {"file": None, "line": None, "column": None}
    line, column = diagnostic.at.source.line_column(diagnostic.at.start)
    return {"file": diagnostic.at.source.name, "line": line, "column": column}


def _sarif_rule(code: str) -> dict[str, Any]:
    rule = CODES.get(code)
    if rule is None:
        return {"id": code}
    return {
        "id": code,
        "shortDescription": {"text": rule.meaning},
        "help": {"text": rule.hint},
    }


def _sarif_place(model: str, at: Span | None) -> dict[str, Any]:
    if at is None:
        return {"artifactLocation": {"uri": _uri(model)}}
    line, column = at.source.line_column(at.start)
    end_line, end_column = at.source.line_column(at.end)
    return {
        "artifactLocation": {"uri": _uri(at.source.path or at.source.name)},
        "region": {
            "startLine": line,
            "startColumn": column,
            "endLine": end_line,
            "endColumn": end_column,
        },
    }


def _uri(name: str | Path) -> str:
    if isinstance(name, str) and "://" in name:
        return name
    return Path(os.path.abspath(name)).as_uri()


def print_diagnostics(
    name: str,
    found: Iterable[Diagnostic],
    *,
    with_notes: bool = False,
    every: bool = False,
    advice: str = "",
    codes: Mapping[str, Rule] = CODES,
) -> None:
    """Print the diagnostics of a model on standard error.

    Args:
        name: Name of the model, as given by the user.
        found: Its diagnostics, in any order.
        with_notes: Whether to print notes too.
        every: As in ``text_reports``.
        advice: As in ``text_reports``.
        codes: As in ``text_reports``.
    """
    folder = None if "://" in name or os.path.isabs(name) else Path.cwd()
    shown = [d for d in by_place(found) if with_notes or d.severity is not Severity.NOTE]
    for severity, text in text_reports(
        shown, every=every, folder=folder, advice=advice, codes=codes
    ):
        first, *rest = text.split("\n")
        style = "dim" if severity is None else _STYLES[severity]
        print_message(first, style)
        for line in rest:
            print_message(line, "dim")


def load_and_report(name: str, *, strict: bool = False) -> tuple[Body, list[Diagnostic]]:
    """Read a model and print its problems; return the body and its diagnostics.

    Raises:
        ModelError: The model is invalid, or there is a warning and ``strict`` is set.
    """
    diagnostics = Diagnostics.silent(strict=strict)
    try:
        with working(f"reading {name}"):
            return load_body(name, diagnostics), diagnostics.found
    finally:
        print_diagnostics(name, diagnostics.found, advice=CHECK_ALL)
