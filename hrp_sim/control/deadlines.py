"""When each joint was commanded last, and which have been left alone for too long."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..physics.schedule import EARLIEST_NS
from .settings import CommandTimeout

_NEVER = -1
_FOREVER = 2**63 - 1


class Deadlines:
    """Times of commands to the joints and tracks of a body.

    Args:
        count: How many there are.

    Attributes:
        commanded_ns: When each was commanded last, in [ns], -1 for never; shape (count,). Less
            is before zero of a clock that was put back.
    """

    def __init__(self, count: int) -> None:
        self.commanded_ns: NDArray[np.int64] = np.full(count, _NEVER, dtype=np.int64)
        self._timeout: CommandTimeout | None = None
        self._next_ns = _FOREVER  # no joint is left alone for too long before

    @property
    def timeout(self) -> CommandTimeout | None:
        """After how long, and what then; None means never."""
        return self._timeout

    @timeout.setter
    def timeout(self, timeout: CommandTimeout | None) -> None:
        self._timeout = timeout
        self._next_ns = _NEVER  # to be worked out when asked next

    def command(self, which: int | NDArray[np.intp], time_ns: int) -> None:
        """Remember that some are commanded now."""
        self.commanded_ns[which] = time_ns
        if self._timeout is not None:
            self._next_ns = min(self._next_ns, time_ns + self._timeout.after_ns)

    def clear(self) -> None:
        """Forget all commands."""
        self.commanded_ns[:] = _NEVER
        self._next_ns = _FOREVER

    def retime(self, shift_ns: int) -> None:
        """Shift all times by so much, in [ns].

        Those of before a clock that was put back to zero are negative. None becomes -1: they are
        whole steps away from the time now, and a step takes a microsecond at least.
        """
        self.commanded_ns[self.commanded_ns != _NEVER] += shift_ns
        self._next_ns = _NEVER

    def restore(self, commanded_ns: NDArray[np.int64], time_ns: int) -> None:
        """Go back to saved times; what is to come cannot have been."""
        np.clip(commanded_ns, EARLIEST_NS, time_ns, out=self.commanded_ns)
        self._next_ns = _NEVER

    def expired(self, time_ns: int) -> list[int]:
        """Return those that are left alone by now, and forget their commands."""
        if self._timeout is None or time_ns < self._next_ns:
            return []
        commanded = self.commanded_ns
        known = commanded != _NEVER
        late: list[int] = np.flatnonzero(
            known & (commanded <= time_ns - self._timeout.after_ns)
        ).tolist()
        commanded[late] = _NEVER
        waiting = commanded[commanded != _NEVER]
        first_ns = int(waiting.min()) if len(waiting) else _FOREVER - self._timeout.after_ns
        self._next_ns = first_ns + self._timeout.after_ns
        return late
