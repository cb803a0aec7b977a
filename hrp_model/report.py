"""Diagnostics for people and for programs: text with the line in question, JSON, SARIF."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from .codes import CODES
from .diagnostics import Diagnostic, Severity, Source, Span

# A model, as the user named it, and what was found in it.
Checked = tuple[str, Iterable[Diagnostic]]

_SHOWN_COLUMNS = 100


def by_place(found: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Return diagnostics file by file, in the order of first mention, each from top to bottom."""
    files: dict[Source | None, list[Diagnostic]] = {}
    for diagnostic in found:
        source = None if diagnostic.at is None else diagnostic.at.source
        files.setdefault(source, []).append(diagnostic)
    return [
        diagnostic
        for of_file in files.values()
        for diagnostic in sorted(of_file, key=lambda d: 0 if d.at is None else d.at.start)
    ]


def text_report(diagnostic: Diagnostic, *, with_hint: bool = True) -> str:
    """Return a diagnostic with the line that it is about and what to do.

    Notes ask for nothing, and some messages say themselves what to write.
    """
    lines = [str(diagnostic)]
    if diagnostic.at is not None:
        lines += _excerpt(diagnostic)
    helps = diagnostic.severity is not Severity.NOTE and "Did you mean" not in diagnostic.message
    if with_hint and helps and diagnostic.code in CODES:
        lines.append(f"  hint: {CODES[diagnostic.code].hint}")
    return "\n".join(lines)


def json_report(checked: Iterable[Checked]) -> list[dict[str, Any]]:
    """Return the diagnostics of models as JSON objects; a place not known is null."""
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
    """Return the diagnostics of models as a SARIF 2.1.0 log (OASIS).

    Code hosts and editors show it. What has no place is told of the model's file.
    """
    found = [(name, diagnostic) for name, of_model in checked for diagnostic in of_model]
    codes = sorted({diagnostic.code for _, diagnostic in found})
    driver: dict[str, Any] = {"name": "hrp-model", "rules": [_sarif_rule(code) for code in codes]}
    with suppress(PackageNotFoundError):  # run from a source tree
        driver["version"] = version("hrp_ros")
    results = [
        {
            "ruleId": diagnostic.code,
            "ruleIndex": codes.index(diagnostic.code),
            "level": diagnostic.severity.value,
            "message": {"text": diagnostic.message},
            "locations": [{"physicalLocation": _sarif_place(name, diagnostic.at)}],
        }
        for name, diagnostic in found
    ]
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


def code_list() -> str:
    """Return all codes with what they mean and what to do, a paragraph for each."""
    return "\n".join(f"{code}\n    {rule.meaning}\n    {rule.hint}" for code, rule in CODES.items())


def summary(name: str, found: Iterable[Diagnostic]) -> str:
    """Return one line on a checked file: what was found in it, or that all is well."""
    counts = dict.fromkeys((Severity.ERROR, Severity.WARNING, Severity.NOTE), 0)
    for diagnostic in found:
        counts[diagnostic.severity] += 1
    parts = [f"{n} {s.value}{'s' if n > 1 else ''}" for s, n in counts.items() if n]
    return f"{name}: {', '.join(parts) or 'no problems'}"


def _excerpt(diagnostic: Diagnostic) -> list[str]:
    """Return the source line and carets below it, or nothing for a line too long to read."""
    at = diagnostic.at
    assert at is not None
    line, column = at.source.line_column(at.start)
    source = at.source.text
    begin = at.start - (column - 1)
    end = source.find("\n", at.start)
    text = source[begin : len(source) if end < 0 else end].rstrip("\r")
    if not text.strip() or len(text) > _SHOWN_COLUMNS or column > len(text):
        return []
    width = max(1, min(at.end - at.start, len(text) - column + 1))
    indent = "".join("\t" if c == "\t" else " " for c in text[: column - 1])
    gutter = f"{line:5} | "
    return [gutter + text, " " * (len(gutter) - 2) + "| " + indent + "^" * width]


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
