"""Single steps that are asked for while the world stands still."""

from __future__ import annotations

import threading
from collections.abc import Callable

from ..physics.engine import PhysicsError


class Stepping:
    """Steps that a standing world takes. Any thread may wait for them, or give up the rest.

    Args:
        steps: How many are asked for.
        on_each: Called after each with how many there were.
        on_end: Called when there will be no further one.
        on_cancel: Called when the rest is given up, by who does so.

    Attributes:
        steps: How many are asked for.
        done: How many there were; less than ``steps`` in the end if they were cancelled, the
            world went on or was reset, or the physics failed.
        cancelled: Whether ``cancel`` was called before the end.
        error: Why the physics failed, or None.

    Raises:
        ValueError: No step is asked for.
    """

    def __init__(
        self,
        steps: int,
        on_each: Callable[[int], None],
        on_end: Callable[[Stepping], None],
        on_cancel: Callable[[], None],
    ) -> None:
        if steps < 1:
            raise ValueError(f"a number of steps is at least 1, not {steps}")
        self.steps = steps
        self.done = 0
        self.cancelled = False
        self.error: PhysicsError | None = None
        self._on_each = on_each
        self._on_end = on_end
        self._on_cancel = on_cancel
        self._ended = threading.Event()

    def __str__(self) -> str:
        return f"{self.done} of {self.steps} steps"

    def cancel(self) -> None:
        """Take no further step. It is over when ``wait`` returns."""
        if not self._ended.is_set():
            self.cancelled = True
            self._on_cancel()

    def wait(self, seconds: float | None = None) -> bool:
        """Wait for the end, for so long at most, in [s]; tell whether it has come."""
        return self._ended.wait(seconds)

    def count(self) -> bool:
        """Count a step that was taken; tell whether it was the last. For who takes them."""
        self.done += 1
        self._on_each(self.done)
        return self.done >= self.steps

    def end(self, error: PhysicsError | None) -> None:
        """Say that there will be no further one, and why if the physics failed."""
        self.error = error
        self._ended.set()
        self._on_end(self)
