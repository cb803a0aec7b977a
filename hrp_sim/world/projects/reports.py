"""Reports on what cannot be taken over from a project, in the same words for all formats."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from hrp_model import Diagnostics
from hrp_model.diagnostics import Span, counted

from .options import ProjectOptions


def report_foreign_items(
    items: Iterable[tuple[str, Span]],
    diagnostics: Diagnostics,
    *,
    served: Mapping[str, str],
    reasons: Mapping[str, str],
) -> None:
    """Report items without effect, once for each class.

    Args:
        items: The class and the place of each.
        diagnostics: Receives warnings and notes.
        served: By class, how its purpose is served without it: these are notes.
        reasons: By class, why it has no effect.
    """
    by_kind: dict[str, list[Span]] = {}
    for kind, at in items:
        by_kind.setdefault(kind, []).append(at)
    for kind, found in by_kind.items():
        count = f" ({counted(len(found), 'item')})" if len(found) > 1 else ""
        if kind in served:
            message = f"{kind} is not needed here{count}: {served[kind]}"
            diagnostics.note("foreign-item", message, found[0])
        else:
            reason = f": {reasons[kind]}" if kind in reasons else ""
            diagnostics.warn("foreign-item", f"{kind} has no effect here{count}{reason}", found[0])


def report_program(
    shown: str,
    body: str,
    without: str,
    at: Span,
    *,
    diagnostics: Diagnostics,
    options: ProjectOptions,
) -> None:
    """Report a controller that is a program of another simulator.

    Args:
        shown: The controller in words, with the name of its body.
        body: Name of the body.
        without: What its joints do without it.
        at: Place of the controller.
        diagnostics: Receives a warning, or a note if the user gives a controller.
        options: How the project is read.
    """
    if body in options.controlled:
        diagnostics.note("foreign-controller", f"{shown} is replaced by the given one", at)
        return
    message = (
        f"{shown} cannot run here, so its joints {without}; a Python class can replace it: "
        f"--controller '{body}=MODULE:CLASS'"
    )
    diagnostics.warn("foreign-controller", message, at)
