"""A mapping whose KeyError lists the known names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NoReturn, TypeVar

from hrp_model.diagnostics import names_with_hint

_V = TypeVar("_V")


class ByName(dict[str, _V]):
    """Mapping of objects of one kind by name.

    Args:
        kind: Noun for the error message, such as "body".
        items: The objects.

    Raises:
        KeyError: On ``[name]`` with an unknown name; the message lists the known ones.
    """

    def __init__(self, kind: str, items: Mapping[str, _V]) -> None:
        super().__init__(items)
        self._kind = kind

    def __missing__(self, name: str) -> NoReturn:
        raise KeyError(f"no {self._kind} '{name}'; there is {names_with_hint(name, self)}")
