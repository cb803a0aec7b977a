"""Every code a diagnostic of a model can have: what it means, and what to do about it.

The one table behind hints, SARIF rules and ``hrp-model check --list-codes``.
"""

from __future__ import annotations

from typing import NamedTuple

from . import bodies, files, parts

__all__ = ["CODES", "Rule"]


class Rule(NamedTuple):
    """What a code stands for: a line for people, without an end stop.

    Attributes:
        meaning: What is wrong.
        hint: What to do about it.
    """

    meaning: str
    hint: str


CODES = {
    code: Rule(*lines)
    for table in (files.CODES, parts.CODES, bodies.CODES)
    for code, lines in sorted(table.items())
}
