"""Steps a simulation against the steady clock, until a signal comes. Knows no ROS."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Mapping
from math import inf
from types import FrameType, TracebackType
from typing import TYPE_CHECKING

from .engine import PhysicsError
from .schedule import NS_PER_S

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
        stopped: Whether ``stop`` was called.
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
        self.stopped = False

    def stop(self) -> None:
        """End ``run`` before its next step. May be called from any thread or signal handler."""
        self.stopped = True

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
        while not self.stopped:
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
        while seconds > 0.0 and not self.stopped:
            time.sleep(min(seconds, NAP))
            seconds = end - time.monotonic()


class StopSignals:
    """What Ctrl-C and SIGTERM do while a program loads, runs and tidies up.

    The first one raises KeyboardInterrupt or, once there is a runner, stops it; those that
    follow change nothing, so that they do not cut short what is tidied up. After a block
    that was ended by a signal they stay without effect: the end of the process is near.
    """

    _NUMBERS = (signal.SIGINT, signal.SIGTERM)

    def __init__(self) -> None:
        self._came = False
        self._runner: Runner | None = None

    def __enter__(self) -> StopSignals:
        self._before = [signal.signal(number, self._take) for number in self._NUMBERS]
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for number, handler in zip(self._NUMBERS, self._before, strict=True):
            signal.signal(number, signal.SIG_IGN if self._came else handler)

    def stop(self, runner: Runner) -> None:
        """Let signals stop this runner; one that came already does so now."""
        self._runner = runner
        if self._came:  # the exception it raised got lost, as it does in a destructor
            runner.stop()

    def _take(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002
        is_first, self._came = not self._came, True
        if self._runner is not None:
            self._runner.stop()
        elif is_first:
            raise KeyboardInterrupt
