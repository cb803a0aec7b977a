"""Steps a simulation against the steady clock. Knows threads and time, but no ROS."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from math import inf
from typing import TYPE_CHECKING

from .engine import NS_PER_S, PhysicsError

if TYPE_CHECKING:
    from .simulation import Simulation

OnStep = Callable[[int, Mapping[str, object]], None]

# After falling behind by more than this the clock is set anew: a hitch is not followed by
# a burst of steps. In [s].
MAX_LAG = 0.1
# Real-time factor is measured over windows of this length. In [s].
WINDOW = 0.5
# Longer sleeps are cut into naps, between which ``stop`` is noticed. In [s].
NAP = 0.02


class Runner:
    """Runs a simulation in the thread that calls ``run``.

    Args:
        simulation: What to step.
        on_step: Called after every step with the time in [ns] and the readings that fell due.
        real_time_factor: Simulated per real second; 0 runs as fast as possible.
        duration: ``run`` ends before the step that would lead beyond this much simulated
            time, in [s]; None runs until ``stop``.

    Attributes:
        simulation: What is stepped.
        measured_factor: Simulated per real second over the last ``WINDOW``; 0 before its end.
        error: Why the physics failed, or None.
    """

    def __init__(
        self,
        simulation: Simulation,
        on_step: OnStep,
        *,
        real_time_factor: float = 1.0,
        duration: float | None = None,
    ) -> None:
        self.simulation = simulation
        self.measured_factor = 0.0
        self.error: PhysicsError | None = None
        self._factor = real_time_factor
        self._on_step = on_step
        self._duration_ns = inf if duration is None else round(duration * NS_PER_S)
        # No threading.Event: its lock might be held by the very code that a signal interrupts.
        self._stopping = False

    def stop(self) -> None:
        """End ``run`` before its next step. May be called from any thread or signal handler."""
        self._stopping = True

    def wait_for_stop(self) -> None:
        """Return when ``stop`` is called."""
        self._sleep(inf)

    def run(self) -> None:
        """Step until the duration is over, ``stop`` is called or the physics fails.

        A failure of the physics is kept in ``error``: the world stays as it was before the
        failing step.
        """
        simulation = self.simulation
        step_ns = simulation.engine.settings.step_ns
        origin = window_start = time.monotonic()
        origin_ns = window_ns = simulation.state.time_ns
        end_ns = origin_ns + self._duration_ns
        while not self._stopping:
            now_ns = simulation.state.time_ns
            if now_ns + step_ns > end_ns:
                return
            try:
                readings = simulation.step()
            except PhysicsError as error:
                self.error = error
                return
            now_ns += step_ns
            self._on_step(now_ns, readings)
            wall = time.monotonic()
            if wall - window_start >= WINDOW:
                self.measured_factor = (now_ns - window_ns) / NS_PER_S / (wall - window_start)
                window_start, window_ns = wall, now_ns
            if self._factor <= 0.0:
                continue
            ahead = origin + (now_ns - origin_ns) / NS_PER_S / self._factor - wall
            if ahead > 0.0:
                self._sleep(ahead)
            elif ahead < -MAX_LAG:
                origin, origin_ns = wall, now_ns

    def _sleep(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while seconds > 0.0 and not self._stopping:
            time.sleep(min(seconds, NAP))
            seconds = end - time.monotonic()


@contextmanager
def stopped_by_signals(runner: Runner) -> Iterator[None]:
    """Let Ctrl-C and SIGTERM stop the runner, once or as often as they come."""
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, lambda *_: runner.stop()) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)
