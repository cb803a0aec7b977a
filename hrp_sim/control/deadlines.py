"""Command time-outs: when each joint was commanded last, and which joints have timed out."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..engine.schedule import EARLIEST_NS, NEVER_NS
from .settings import CommandTimeout

_NEVER = -1


class Deadlines:
    """Times of the last commands to the joints and tracks of a body.

    Args:
        count: Number of joints and tracks.

    Attributes:
        commanded_ns: Time of the last command to each, in [ns], -1 for never; shape (count,).
            Smaller values are times before zero of a clock that was set back.
        next_ns: Earliest time-out, in [ns]; see ``expired``.
    """

    def __init__(self, count: int) -> None:
        self.commanded_ns: NDArray[np.int64] = np.full(count, _NEVER, dtype=np.int64)
        self._timeout: CommandTimeout | None = None
        self.next_ns = NEVER_NS

    @property
    def timeout(self) -> CommandTimeout | None:
        """The time-out; None means never."""
        return self._timeout

    @timeout.setter
    def timeout(self, timeout: CommandTimeout | None) -> None:
        self._timeout = timeout
        self.next_ns = _NEVER  # computed by ``expired``

    def restart(self, which: int | NDArray[np.intp], time_ns: int) -> None:
        """Record that some are commanded at a time, in [ns]."""
        self.commanded_ns[which] = time_ns
        if self._timeout is not None:
            self.next_ns = min(self.next_ns, time_ns + self._timeout.after_ns)

    def clear(self) -> None:
        """Forget all commands."""
        self.commanded_ns[:] = _NEVER
        self.next_ns = NEVER_NS

    def retime(self, shift_ns: int) -> None:
        """Shift all times, in [ns].

        Times before zero of a clock that was set back are negative. None becomes -1: they are whole
        steps away from the present time, and a step takes at least a microsecond.
        """
        self.commanded_ns[self.commanded_ns != _NEVER] += shift_ns
        self.next_ns = _NEVER

    def restore(self, commanded_ns: NDArray[np.int64], time_ns: int) -> None:
        """Go back to saved times; none can lie in the future."""
        np.clip(commanded_ns, EARLIEST_NS, time_ns, out=self.commanded_ns)
        self.next_ns = _NEVER

    def expired(self, time_ns: int) -> list[int]:
        """Return those that have timed out, and clear their last commands.

        To be called from ``next_ns`` on.
        """
        if self._timeout is None:
            self.next_ns = NEVER_NS
            return []
        commanded = self.commanded_ns
        known = commanded != _NEVER
        late: list[int] = np.flatnonzero(
            known & (commanded <= time_ns - self._timeout.after_ns)
        ).tolist()
        commanded[late] = _NEVER
        waiting = commanded[commanded != _NEVER]
        first_ns = int(waiting.min()) if len(waiting) else NEVER_NS - self._timeout.after_ns
        self.next_ns = first_ns + self._timeout.after_ns
        return late
