"""What must hold for a Body of any format: one function per rule.

Errors are what nothing downstream can work with: numbers that are not finite, negative
masses, devices on links that do not exist. All else is a warning.
"""

from __future__ import annotations

from weakref import WeakSet

from ..body import Body
from ..diagnostics import Diagnostics
from .devices import RULES as OF_DEVICES
from .joints import RULES as OF_JOINTS
from .joints import limits_leave_room
from .masses import RULES as OF_MASSES
from .names import RULES as OF_NAMES
from .structure import RULES as OF_STRUCTURE

__all__ = ["RULES", "report_limits", "validate", "validated_as"]

RULES = (*OF_JOINTS, *OF_MASSES, *OF_STRUCTURE, *OF_DEVICES, *OF_NAMES)

_VALIDATED: WeakSet[Body] = WeakSet()


def validate(body: Body, diagnostics: Diagnostics) -> None:
    """Check a body against every rule; what is wrong goes to ``diagnostics``."""
    for rule in RULES:
        rule(body, diagnostics)
    _VALIDATED.add(body)


def validated_as(body: Body, original: Body) -> Body:
    """Return a body whose limits need no second warning if those of the original had one."""
    if original in _VALIDATED:
        _VALIDATED.add(body)
    return body


def report_limits(body: Body, diagnostics: Diagnostics) -> None:
    """Warn of limits that do not mean what they state, unless ``validate`` has done so."""
    if body not in _VALIDATED:
        with diagnostics.as_warnings("not-finite"):
            limits_leave_room(body, diagnostics)
