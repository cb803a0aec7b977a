"""How fast a run goes against the steady clock: what is aimed at, and what is reached."""

from __future__ import annotations

import time
from dataclasses import dataclass

from ..physics.schedule import NS_PER_S

# After falling behind by more than this the clock is set anew: a hitch is not followed by
# a burst of steps. In [s].
MAX_LAG = 0.1
# How much faster than aimed at a smaller lag is made up for: controllers outside, which work in
# real time, lose sight of a world that rushes on.
CATCH_UP = 1.5
# Real-time factor is measured over windows of this length. In [s].
WINDOW = 0.5
# A run is slow that reaches less than this share of its target, once it had so much time, in [s].
ENOUGH, SETTLING = 0.9, 1.0


@dataclass
class StepTimes:
    """How long steps took, with all that was done for them: physics, sensors, messages.

    Attributes:
        count: How many steps.
        total, longest: In [s].
    """

    count: int = 0
    total: float = 0.0
    longest: float = 0.0

    @property
    def mean(self) -> float:
        """In [s]; 0 if there was none."""
        return self.total / self.count if self.count else 0.0

    def add(self, seconds: float) -> None:
        """Count a step that took so long, in [s]."""
        self.count += 1
        self.total += seconds
        self.longest = max(self.longest, seconds)


@dataclass
class Pace:
    """Tells when the next step is due, and how well the steps before it kept their times.

    Any thread may read it and set ``target``; all else is for the one that steps.

    Attributes:
        target: Simulated per real second that is aimed at; 0 is as fast as possible.
        measured: Simulated per real second over the last ``WINDOW``; 0 before its end.
        lag: How late the last step was, in [s]; 0 if it was in time, or if nothing is aimed at.
        lost: What lags of more than ``MAX_LAG`` add up to, in [s]: real time that is not made
            up for.
    """

    target: float
    measured: float = 0.0
    lag: float = 0.0
    lost: float = 0.0

    def __post_init__(self) -> None:
        self._step_times = StepTimes()
        self.start(0)

    def start(self, now_ns: int) -> None:
        """Count from here, where the simulated time is ``now_ns``, in [ns]."""
        self._origin = self._window = self._began = time.monotonic(), now_ns
        self._origin_target = self.target
        self._aimed_since = self._origin[0]

    @property
    def is_slow(self) -> bool:
        """Whether too little of the target is reached; never within its first second."""
        if time.monotonic() - self._aimed_since < SETTLING:
            return False
        return self.measured < ENOUGH * self.target

    def stand_still(self) -> None:
        """Measure nothing until the next ``start``."""
        self.measured = self.lag = 0.0

    def ahead(self, now_ns: int) -> float:
        """Return how long the next step has to wait, in [s]; it is late if less than 0."""
        if (target := self.target) <= 0.0:
            self.lag = 0.0
            return 0.0
        wall = time.monotonic()
        if target != self._origin_target:
            self._origin, self._origin_target = (wall, now_ns), target
            self._aimed_since = wall
        due = _wall_time(self._origin, now_ns, target)
        self.lag = max(0.0, wall - due)
        if self.lag > MAX_LAG:
            self._origin = wall, now_ns
            self.lost += self.lag
        return max(due, _wall_time(self._began, now_ns, CATCH_UP * target)) - wall

    def begin_step(self, now_ns: int) -> None:
        """Note that a step begins from this simulated time, in [ns]."""
        self._began = time.monotonic(), now_ns

    def end_step(self, now_ns: int) -> None:
        """Count a step to this simulated time, in [ns]."""
        wall = time.monotonic()
        self._step_times.add(wall - self._began[0])
        start, start_ns = self._window
        if wall - start >= WINDOW:
            self.measured = (now_ns - start_ns) / NS_PER_S / (wall - start)
            self._window = wall, now_ns

    def take_step_times(self) -> StepTimes:
        """Return how long the steps took since this was called last."""
        taken, self._step_times = self._step_times, StepTimes()
        return taken


def _wall_time(origin: tuple[float, int], now_ns: int, factor: float) -> float:
    """Return when a simulated time is reached at this factor from an origin of both times."""
    return origin[0] + (now_ns - origin[1]) / NS_PER_S / factor
