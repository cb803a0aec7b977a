"""Requested steps of a paused simulation."""

from __future__ import annotations

import threading
from collections.abc import Callable

from ..engine.engine import PhysicsError


class Stepping:
    """Steps to be taken while paused; any thread may wait for them or cancel the rest.

    Args:
        steps: Number of requested steps.
        on_each: Called after each step with the number taken so far; None if that is not needed.
        on_end: Called at the end.
        on_cancel: Called by ``cancel``.

    Attributes:
        steps: Number of requested steps.
        done: Number of steps taken; finally less than ``steps`` if they were cancelled, the run
            was resumed or reset, or the physics failed.
        cancelled: Whether ``cancel`` was called before the end.
        error: Error of the physics, or None.

    Raises:
        ValueError: ``steps`` is less than 1.
    """

    def __init__(
        self,
        steps: int,
        on_each: Callable[[int], None] | None,
        on_end: Callable[[Stepping], None],
        on_cancel: Callable[[], None],
    ) -> None:
        if steps < 1:
            raise ValueError(f"the number of steps must be at least 1, not {steps}")
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
        """Cancel the remaining steps; the end is reached when ``wait`` returns."""
        if not self._ended.is_set():
            self.cancelled = True
            self._on_cancel()

    def wait(self, seconds: float | None = None) -> bool:
        """Wait for the end, for this time at most, in [s]; return whether it was reached."""
        return self._ended.wait(seconds)

    @property
    def next_steps(self) -> int:
        """Number of steps that may be taken before ``count`` must be called."""
        return self.steps - self.done if self._on_each is None else 1

    def count(self, steps: int) -> bool:
        """Count steps; return whether the last one was among them. Called by the runner."""
        self.done += steps
        if self._on_each is not None:
            self._on_each(self.done)
        return self.done >= self.steps

    def end(self, error: PhysicsError | None) -> None:
        """Mark the end, with the error if the physics failed. Called by the runner."""
        self.error = error
        self._ended.set()
        self._on_end(self)
