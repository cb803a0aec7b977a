"""Rules for a Body of any format, one function per rule.

Problems that make a model unusable are errors: numbers that are not finite, negative masses,
devices on links that do not exist. All others are warnings or notes.
"""

from __future__ import annotations

from weakref import WeakSet

from ..body import Body
from ..diagnostics import Diagnostics, Severity
from .links import RULES as LINK_RULES
from .links import limits_are_valid
from .structure import RULES as STRUCTURE_RULES

__all__ = ["RULES", "ensure_valid", "report_limits", "validate", "validated_as"]

RULES = (*LINK_RULES, *STRUCTURE_RULES)

_VALIDATED: WeakSet[Body] = WeakSet()  # bodies whose problems were reported
_SOUND: WeakSet[Body] = WeakSet()  # bodies without errors


def validate(body: Body, diagnostics: Diagnostics) -> None:
    """Check a body against all rules; ``diagnostics`` receives the problems."""
    known = len(diagnostics.found)
    for rule in RULES:
        rule(body, diagnostics)
    _VALIDATED.add(body)
    if all(found.severity is not Severity.ERROR for found in diagnostics.found[known:]):
        _SOUND.add(body)


def validated_as(body: Body, original: Body) -> Body:
    """Return ``body``, marked as validated if ``original`` is, so that limits warn only once."""
    for bodies in (_VALIDATED, _SOUND):
        if original in bodies:
            bodies.add(body)
    return body


def ensure_valid(body: Body, diagnostics: Diagnostics) -> None:
    """Check a body that ``validate`` has not found without errors, such as one of a program.

    Warns of its invalid limits; ``Joint.position_limits`` and its siblings are always valid.

    Raises:
        ModelError: A number is not finite, a mass is negative, or a reference leads nowhere.
    """
    report_limits(body, diagnostics)
    if body in _SOUND:
        return
    found = Diagnostics.silent()
    for rule in RULES:
        if rule is not limits_are_valid:
            rule(body, found)
    found.raise_errors()
    _SOUND.add(body)


def report_limits(body: Body, diagnostics: Diagnostics) -> None:
    """Warn of invalid limits, unless ``validate`` has done so."""
    if body not in _VALIDATED:
        with diagnostics.as_warnings("not-finite"):
            limits_are_valid(body, diagnostics)
