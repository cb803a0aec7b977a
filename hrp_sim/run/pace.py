"""Pace of a run relative to the steady clock, and hashes of its states to compare two runs."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

from hrp_model.late_dataclass import dataclass

from ..engine.schedule import NS_PER_S, SampleClock

# A larger lag is not caught up, so that a hitch is not followed by a burst of steps. In [s].
MAX_LAG = 0.1
# Speed relative to the target at which a smaller lag is caught up; limited because external
# controllers work in real time.
CATCH_UP = 1.5
# Window over which the real-time factor is measured. In [s].
WINDOW = 0.5
# A run is slow if it reaches less than this share of its target after this settling time, in [s].
MIN_SHARE, SETTLING = 0.9, 1.0


@dataclass
class StepTimes:
    """Wall-clock duration of steps, including physics, sensors and messages.

    Attributes:
        count: Number of steps.
        total, longest: In [s].
    """

    count: int = 0
    total: float = 0.0
    longest: float = 0.0

    @property
    def mean(self) -> float:
        """Mean duration in [s]; 0 without steps."""
        return self.total / self.count if self.count else 0.0

    def add(self, count: int, seconds: float) -> None:
        """Add steps of this duration each, in [s]."""
        self.count += count
        self.total += count * seconds
        self.longest = max(self.longest, seconds)


@dataclass
class Pace:
    """Schedules steps on the steady clock, and measures how well they keep to it.

    Any thread may read attributes and set ``target``; the methods are for the stepping thread.

    Attributes:
        target: Target real-time factor; 0 is as fast as possible.
        measured: Real-time factor over the last ``WINDOW``; 0 before its end.
        lag: Delay of the last step, in [s]; 0 without a target.
        lost: Sum of the lags above ``MAX_LAG``, which are not caught up, in [s].
        step_time: Wall-clock duration of the last step, in [s]; 0 before the first.
    """

    target: float
    measured: float = 0.0
    lag: float = 0.0
    lost: float = 0.0
    step_time: float = 0.0

    def __post_init__(self) -> None:
        self._step_times = StepTimes()
        self.start(0)

    def start(self, now_ns: int) -> None:
        """Start measuring at this simulation time, in [ns]."""
        self._origin = self._window = self._began = time.monotonic(), now_ns
        self._origin_target = self.target
        self._aimed_since = self._origin[0]

    @property
    def is_slow(self) -> bool:
        """Whether the run is well below its target; never within the first second."""
        if time.monotonic() - self._aimed_since < SETTLING:
            return False
        return self.measured < MIN_SHARE * self.target

    def halt(self) -> None:
        """Stop measuring until the next ``start``."""
        self.measured = self.lag = 0.0

    def ahead(self, now_ns: int) -> float:
        """Return the time until the next step is due, in [s]; negative if it is late."""
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

    def begin_steps(self, now_ns: int) -> None:
        """Record that steps begin at this simulation time, in [ns]."""
        self._began = time.monotonic(), now_ns

    def end_steps(self, now_ns: int, count: int) -> None:
        """Record that this number of steps ended at this simulation time, in [ns]."""
        wall = time.monotonic()
        self.step_time = (wall - self._began[0]) / count
        self._step_times.add(count, self.step_time)
        start, start_ns = self._window
        if wall - start >= WINDOW:
            self.measured = (now_ns - start_ns) / NS_PER_S / (wall - start)
            self._window = wall, now_ns

    def take_step_times(self) -> StepTimes:
        """Return the durations of the steps since the last call."""
        taken, self._step_times = self._step_times, StepTimes()
        return taken


def _wall_time(origin: tuple[float, int], now_ns: int, factor: float) -> float:
    """Return the wall time of a simulation time, given an origin and a real-time factor."""
    return origin[0] + (now_ns - origin[1]) / NS_PER_S / factor


# Latest states that are returned repeatedly, for subscribers that missed a message.
REPEATED_STATES = 10
# Maximum number of states that were not taken yet; older ones are dropped.
MAX_STATES = 100


class StateRecord:
    """Records the hash of the state at every whole second of simulation time.

    Equal runs have equal hashes at equal times; a hash covers every bit of every motion. If no
    step ends at a whole second, the state of the first step after it is recorded.
    """

    def __init__(self) -> None:
        self._clock = SampleClock(1.0)
        # Replaced instead of changed, because another thread reads it.
        self._latest: tuple[tuple[int, str], ...] = ()
        self._new: deque[tuple[int, str]] = deque(maxlen=MAX_STATES)

    @property
    def next_ns(self) -> int:
        """Time of the next step that ``stepped`` must be called for, in [ns]."""
        return self._clock.due_ns

    def start(self, now_ns: int) -> None:
        """Continue from this time, in [ns]; later states are discarded."""
        self._clock.wait(now_ns)
        self._latest = tuple(state for state in self._latest if state[0] <= now_ns)

    def stepped(self, now_ns: int, state_hash: Callable[[], str]) -> None:
        """Record the hash of the state at this time, in [ns], if one is due."""
        if self._clock.is_due(now_ns):
            state = (now_ns, state_hash())
            self._new.append(state)  # first, so that each of the latest is new or was taken
            self._latest = (*self._latest, state)[-REPEATED_STATES:]

    def take(self) -> list[tuple[int, str]]:
        """Return times in [ns] and hashes: the latest ten, and all since the last call.

        Oldest first; callable from any thread.
        """
        latest = self._latest
        new = [self._new.popleft() for _ in range(len(self._new))]
        return [*(state for state in latest if state not in new), *new]
