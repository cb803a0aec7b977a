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
from .masses import RULES as OF_MASSES
from .names import RULES as OF_NAMES
from .structure import RULES as OF_STRUCTURE

__all__ = ["RULES", "is_validated", "validate"]

RULES = (*OF_JOINTS, *OF_MASSES, *OF_STRUCTURE, *OF_DEVICES, *OF_NAMES)

_VALIDATED: WeakSet[Body] = WeakSet()


def validate(body: Body, diagnostics: Diagnostics) -> None:
    """Check a body against every rule; what is wrong goes to ``diagnostics``."""
    for rule in RULES:
        rule(body, diagnostics)
    _VALIDATED.add(body)


def is_validated(body: Body) -> bool:
    """Tell whether a body was checked already: what is wrong with it needs no second warning."""
    return body in _VALIDATED
