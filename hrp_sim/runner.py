"""Steps a simulation against the steady clock. Knows threads and time, but no ROS."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping

from .engine import NS_PER_S, PhysicsError
from .simulation import Simulation

OnStep = Callable[[int, Mapping[str, object]], None]

# After falling behind by more than this the clock is set anew: a hitch is not followed by
# a burst of steps. In [s].
MAX_LAG = 0.1
# Real-time factor is measured over windows of this length. In [s].
WINDOW = 0.5


class Runner:
    """Runs a simulation in the thread that calls ``run``.

    Args:
        simulation: What to step.
        on_step: Called after every step with the time in [ns] and the readings that fell due.
        real_time_factor: Simulated per real second; 0 runs as fast as possible.
        duration: Ends after this much simulated time, in [s]; None runs until ``stop``.
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
        self.real_time_factor = real_time_factor
        self._on_step = on_step
        self._end_ns = None if duration is None else round(duration * NS_PER_S)
        self._stopping = threading.Event()

    def stop(self) -> None:
        """End ``run`` before its next step. May be called from any thread or signal handler."""
        self._stopping.set()

    @property
    def stopped(self) -> bool:
        """Whether ``stop`` was called."""
        return self._stopping.is_set()

    def run(self) -> None:
        """Step until the duration is over, ``stop`` is called or the physics fails.

        A failure of the physics is kept in ``error``: the world stays as it was before the
        failing step.
        """
        simulation = self.simulation
        step_ns = simulation.engine.settings.step_ns
        origin = window_start = time.monotonic()
        origin_ns = window_ns = simulation.state.time_ns
        while not self._stopping.is_set():
            now_ns = simulation.state.time_ns
            if self._end_ns is not None and now_ns + step_ns > self._end_ns:
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
            factor = self.real_time_factor
            if factor <= 0.0:
                continue
            ahead = origin + (now_ns - origin_ns) / NS_PER_S / factor - wall
            if ahead > 0.0:
                self._sleep(ahead)
            elif ahead < -MAX_LAG:
                origin, origin_ns = wall, now_ns

    def _sleep(self, seconds: float) -> None:
        # A plain sleep is three times cheaper than waiting for the event, and short enough.
        if seconds < 0.01:
            time.sleep(seconds)
        else:
            self._stopping.wait(seconds)
