"""The problems of a model in HTML, and the links that they are about."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable

from ..body import Body
from ..diagnostics import Diagnostic, Severity, Span, counted
from ..program.codes import CODES
from ..program.report import by_place
from .html import clickable, escaped, link_attribute, padded

_COLORS = {Severity.ERROR: "#d32f2f", Severity.WARNING: "#e08700", Severity.NOTE: "#888"}
_QUOTED = re.compile(r"'([^']+)'")
_MAX_PROBLEMS = 500  # shown


def problem_list(
    found: Iterable[Diagnostic],
    link: Callable[[Diagnostic], str | None],
    notes: Iterable[str] = (),
) -> str:
    """Return problems with severity, message, code, place and hint.

    A click on one selects the link that it is about.

    Args:
        found: The diagnostics of the model; notes are left out.
        link: Returns what a click on a problem writes as the selected link; None for nothing.
        notes: Further sentences, about the page itself.
    """
    problems = [d for d in by_place(found) if d.severity is not Severity.NOTE]
    rows = [_row(problem, link(problem)) for problem in problems[:_MAX_PROBLEMS]]
    if len(problems) > _MAX_PROBLEMS:
        rows.append(escaped(f"... and {len(problems) - _MAX_PROBLEMS} more"))
    rows += [f'<div style="color: #888">{escaped(note)}</div>' for note in notes]
    return clickable(padded("".join(rows)))


def problem_count(found: Iterable[Diagnostic]) -> str:
    """Return the number of errors and warnings, such as "1 error, 2 warnings"."""
    counts = Counter(diagnostic.severity for diagnostic in found)
    parts = [counted(counts[s], s.value) for s in (Severity.ERROR, Severity.WARNING) if counts[s]]
    return ", ".join(parts) or "no problems"


def link_of(problem: Diagnostic, body: Body | None) -> str | None:
    """Return the link that a problem is about: the one that it names, else the one at its place."""
    if body is None:
        return None
    named = {device.name: device.link for device in body.devices}
    named |= {link.joint.name: link.name for link in body.links}
    named |= {link.name: link.name for link in body.links}
    for name in _QUOTED.findall(problem.message):
        if name in named:
            return named[name]
    if problem.at is None:
        return None
    return _link_at(problem.at, body)


def is_within(problem: Diagnostic, body: Body) -> bool:
    """Return whether the place of a problem is in a file that defines links of a body."""
    at = problem.at
    return at is not None and any(
        link.at is not None and link.at.source is at.source for link in body.links
    )


def _link_at(at: Span, body: Body) -> str | None:
    """Return the link or its device whose definition contains a place, or begins nearest before."""
    parts = [(link.at, link.name) for link in body.links]
    parts += [(device.at, device.link) for device in body.devices]
    before = [
        (span.end > at.start, span.start, name)
        for span, name in parts
        if span is not None and span.source is at.source and span.start <= at.start
    ]
    return max(before)[2] if before else None


def _row(problem: Diagnostic, link: str | None) -> str:
    color = _COLORS[problem.severity]
    place = "" if problem.at is None else f"{problem.at} "
    hint = CODES[problem.code].hint if problem.code in CODES else ""
    if "Did you mean" in problem.message:
        hint = ""
    return (
        f'<div{link_attribute(link)} style="margin-bottom: 0.6em; overflow-wrap: anywhere">'
        f'<b style="color: {color}">{escaped(problem.severity.value)}</b> '
        f"{escaped(problem.message)} "
        f'<span style="color: #888">[{escaped(problem.code)}]</span>'
        f'<div style="color: #888">{escaped(place)}</div>'
        + (f'<div style="color: #888">hint: {escaped(hint)}</div>' if hint else "")
        + "</div>"
    )
