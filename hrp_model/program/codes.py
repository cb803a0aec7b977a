"""All diagnostic codes, with meaning and hint: the table ``codes.csv``.

The source of hints, SARIF rules, ``--list-codes`` and the reference of codes.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

_TABLE = Path(__file__).with_name("codes.csv")


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
        topics: Values of the column "topic".
    """

    def __init__(self, *topics: str) -> None:
        self._topics = frozenset(topics)

    @cached_property
    def _rules(self) -> dict[str, Rule]:
        with _TABLE.open(encoding="utf-8", newline="") as file:
            return {
                row["code"]: Rule(row["meaning"], row["hint"])
                for row in csv.DictReader(file)
                if row["topic"] in self._topics
            }

    def __getitem__(self, code: str) -> Rule:
        return self._rules[code]

    def __iter__(self) -> Iterator[str]:
        return iter(self._rules)

    def __len__(self) -> int:
        return len(self._rules)


# Of models: problems with files and their syntax, with parts of a format, with a Body.
CODES = Codes("files", "parts", "bodies")
