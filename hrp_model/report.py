"""Diagnostics for people and for programs: text with the line in question, JSON, SARIF."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from .diagnostics import Diagnostic, Severity, Source

# What to do about it, where the message itself does not say.
HINTS = {
    "asymmetric-inertia": "write each product of inertia on both sides of the diagonal",
    "default-inertia": "write the inertia of everything that moves, in kg m^2",
    "default-mass": "write mass, centre of mass and inertia of everything that moves",
    "duplicate-device-name": "topics and frames are named after devices: give each its own name",
    "duplicate-joint-id": "number the joints 0, 1, 2, ...; leave the id out for joints not driven",
    "empty-range": "leave the range out if the joint is free to move, or make the joint fixed",
    "inertia-not-positive": "check the units (kg m^2) and the signs of the products of inertia",
    "inertia-triangle": "check the units (kg m^2), and that it is about the centre of mass",
    "inverted-range": "write the lower limit first",
    "joint-id-gap": "number the joints 0, 1, 2, ... without leaving one out",
    "massless-link": "a simulation needs the mass of everything that it accelerates",
    "missing-resource": "paths are relative to the folder of the file that names them",
    "moving-root": "put a fixed or free link above it",
    "no-inertia": "a simulation needs the inertia of everything that it turns",
    "shape-without-mesh": "hrp-model urdf writes mesh files with -o or --mesh-dir",
}
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


def text_report(diagnostic: Diagnostic) -> str:
    """Return a diagnostic with the line that it is about and, where there is one, a hint."""
    lines = [str(diagnostic)]
    if diagnostic.at is not None:
        lines += _excerpt(diagnostic)
    if diagnostic.code in HINTS:
        lines.append(f"  hint: {HINTS[diagnostic.code]}")
    return "\n".join(lines)


def json_report(found: Iterable[Diagnostic]) -> list[dict[str, Any]]:
    """Return diagnostics as JSON objects; a place not known is null."""
    return [
        {
            **_place(diagnostic),
            "severity": diagnostic.severity.value,
            "code": diagnostic.code,
            "message": diagnostic.message,
            "hint": HINTS.get(diagnostic.code),
        }
        for diagnostic in found
    ]


def sarif_report(found: Iterable[Diagnostic]) -> dict[str, Any]:
    """Return diagnostics as a SARIF 2.1.0 log (OASIS), which code hosts and editors show."""
    found = list(found)
    codes = sorted({diagnostic.code for diagnostic in found})
    driver: dict[str, Any] = {
        "name": "hrp-model",
        "rules": [
            {"id": code} | ({"help": {"text": HINTS[code]}} if code in HINTS else {})
            for code in codes
        ],
    }
    with suppress(PackageNotFoundError):  # run from a source tree
        driver["version"] = version("hrp_ros")
    results = [
        {
            "ruleId": diagnostic.code,
            "ruleIndex": codes.index(diagnostic.code),
            "level": diagnostic.severity.value,
            "message": {"text": diagnostic.message},
            "locations": _sarif_locations(diagnostic),
        }
        for diagnostic in found
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


def _sarif_locations(diagnostic: Diagnostic) -> list[dict[str, Any]]:
    at = diagnostic.at
    if at is None:
        return []
    line, column = at.source.line_column(at.start)
    end_line, end_column = at.source.line_column(at.end)
    region = {
        "startLine": line,
        "startColumn": column,
        "endLine": end_line,
        "endColumn": end_column,
    }
    uri = at.source.path.as_uri() if at.source.path else at.source.name
    return [{"physicalLocation": {"artifactLocation": {"uri": uri}, "region": region}}]
