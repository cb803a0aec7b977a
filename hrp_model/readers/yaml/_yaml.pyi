"""Events of libyaml, see tree.py."""

from collections.abc import Callable

from .nodes import Context, Scalar, Sequence
from .tree import Event

class Events:
    def __new__(
        cls,
        text: str,
        shift: int,
        error: Callable[[str | None, str | None, int, int], Exception],
        context: Context,
        scalar: type[Scalar],
        sequence: type[Sequence],
    ) -> Events: ...
    def __iter__(self) -> Events: ...
    def __next__(self) -> Event: ...
