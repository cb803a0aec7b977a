"""All diagnostic codes of a model, with meaning and hint.

The source of hints, SARIF rules and ``hrp-model check --list-codes``.
"""

from __future__ import annotations

from typing import NamedTuple

from . import bodies, files, parts

__all__ = ["CODES", "Rule"]


class Rule(NamedTuple):
    """Meaning and hint of a code, each a line without a full stop.

    Attributes:
        meaning: The problem.
        hint: How to fix it.
    """

    meaning: str
    hint: str


CODES = {
    code: Rule(*lines)
    for table in (files.CODES, parts.CODES, bodies.CODES)
    for code, lines in sorted(table.items())
}
