"""Lock-step: a run waits for the commands of its controllers in each control period."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Mapping
from math import inf

from hrp_model.late_dataclass import dataclass

from ..engine.schedule import SampleClock

# While no command arrives, the readings are published again at this period, in [s] of wall time,
# for controllers that have just connected.
REPUBLISH_PERIOD = 1.0
# A source counted by arrival is waited for longer than ``REPUBLISH_PERIOD`` only after it has
# responded at so many boundaries in a row: then it cannot be asleep until a time that the run
# would have to reach first.
SETTLED = 10
# After each boundary that such a source misses while it is not settled, twice as many of its
# commands pass freely before it is waited for again, up to this number.
_MAX_FREE = 4096


@dataclass(slots=True)
class LockStepCounts:
    """Statistics of a lock-step since the start.

    Attributes:
        boundaries: Control periods whose commands were waited for.
        timeouts: Control periods in which a command was missing.
        dropped: Commands with a wrong stamp, or received twice in a control period.
        waited: Total waiting time, in [s] of wall time.
        longest: Longest waiting time at one boundary, in [s].
    """

    boundaries: int = 0
    timeouts: int = 0
    dropped: int = 0
    waited: float = 0.0
    longest: float = 0.0


@dataclass
class _ClockedSource:
    """A source that sleeps by the clock, and whose commands are counted by arrival.

    Attributes:
        free: Commands that still pass at once before it is waited for; 0 if it is waited for.
        next_free: Value of ``free`` after the next missed boundary.
        answered: Boundaries in a row with a response before the readings were published again.
    """

    free: int = 1
    next_free: int = 1
    answered: int = 0

    @property
    def is_settled(self) -> bool:
        return self.answered >= SETTLED

    def passed(self, *, is_missing: bool, waited: float) -> None:
        """Record a boundary at which it was waited for, with the waiting time in [s]."""
        if not is_missing:
            self.answered = self.answered + 1 if waited < REPUBLISH_PERIOD else 0
            if self.is_settled:
                self.next_free = 1
            return
        self.answered = 0
        self.free = self.next_free
        self.next_free = min(2 * self.next_free, _MAX_FREE)


class LockStep:
    """Gate of a ``Run`` that opens at each control period when all commands have arrived.

    The boundaries of control periods are the first steps at or after k / rate, k = 1, 2, ... At
    each boundary the readings are published; then each source must send one command, stamped with
    the time of the boundary or not at all. All commands take effect together, in the order of
    their sources' names. Commands that arrive twice, with another stamp or while none is waited
    for are dropped and counted, so that the effect of commands does not depend on the speed of
    the machine. If a reset or a saved state puts the world at a boundary, no readings of it were
    published; then the first commands waited for are those for the next boundary.

    A ros2_control controller manager sleeps by the clock until its next period, and stamps its
    commands with a clock that may lag. Such sources are listed in ``by_arrival``: the first command
    after a boundary is the response to it, whatever its stamp. They are waited for after their
    first command, and after a missed boundary again after their next command; until then their
    commands take effect at once. A sleeping manager cannot respond before the clock reaches its
    wake-up time. Three rules prevent a deadlock: successive boundaries are at least a whole period
    apart, the clock is to be published at boundaries only (``paces_clock``), and a source that has
    not responded at ``SETTLED`` boundaries in a row is waited for ``REPUBLISH_PERIOD`` seconds at
    most.

    ``submit`` is callable from any thread, all else from the stepping thread unless noted.

    Args:
        sources: Names of the sources to wait for, such as topics; not empty.
        rate: Rate of the control periods, in [Hz], interpreted by ``rate_fraction``.
        timeout: Longest wait at one boundary, in [s] of wall time; 0 waits forever.
        by_arrival: Sources whose commands are counted by arrival.
        on_timeout: Called with the sources without a command, and the time in [ns].
        republish: Called to publish the readings of the boundary again.
        wake: Called when the last command has arrived; ``Run.wake``.

    Attributes:
        counts: Statistics since the start; readable from any thread.

    Raises:
        ValueError: The timeout is negative or not finite, or there is no source.
    """

    def __init__(
        self,
        sources: Collection[str],
        rate: float,
        timeout: float,
        *,
        by_arrival: Collection[str] = (),
        on_timeout: Callable[[list[str], int], None],
        republish: Callable[[], None],
        wake: Callable[[], None],
    ) -> None:
        if not sources or not 0.0 <= timeout < inf:
            raise ValueError("lock-step needs at least one source and a timeout of at least 0 s")
        self.sources = frozenset(sources)
        self._clocked = {source: _ClockedSource() for source in by_arrival}
        self._timeout = timeout if timeout > 0.0 else inf
        self._on_timeout = on_timeout
        self._republish = republish
        self._wake = wake
        self._clock = SampleClock(rate)
        self._lock = threading.Lock()  # of all below
        self.counts = LockStepCounts()
        self._commands: dict[str, Callable[[], None]] = {}
        self._boundary_ns: int | None = None
        self._since: float | None = None  # when the run reached the boundary
        self._published = 0.0
        self._misstamped: dict[str, int] = {}

    @property
    def missing(self) -> list[str]:
        """Sources whose commands are being waited for; readable from any thread."""
        with self._lock:
            return self._missing()

    @property
    def free(self) -> list[str]:
        """Sources not waited for until they send commands; readable from any thread."""
        return sorted(source for source, clocked in self._clocked.items() if clocked.free)

    @property
    def paces_clock(self) -> bool:
        """Whether the clock is to be published at boundaries only."""
        return bool(self._clocked)

    @property
    def misstamped(self) -> Mapping[str, int]:
        """Wrong stamp in [ns] of the last command of each source that is waited for.

        Sources whose last command was accepted are not contained. Readable from any thread.
        """
        with self._lock:
            return dict(self._misstamped)

    @property
    def next_ns(self) -> int:
        """Time of the next step that ``stepped`` must be called for, in [ns]."""
        return self._clock.due_ns

    def is_boundary(self, time_ns: int) -> bool:
        """Return whether commands for this time, in [ns], are or will be waited for."""
        return time_ns == self._boundary_ns

    @property
    def is_waiting_long(self) -> bool:
        """Whether the run has waited at a boundary noticeably long; readable from any thread."""
        since = self._since
        return since is not None and time.monotonic() - since >= REPUBLISH_PERIOD

    def submit(self, source: str, stamp_ns: int, act: Callable[[], None]) -> None:
        """Submit a command.

        Args:
            source: Its source; commands of sources not waited for are applied at once.
            stamp_ns: Simulation time of the readings that it responds to, in [ns]; 0 if unknown.
            act: Applies the command; must not raise. Called at once, or at the boundary in the
                stepping thread, or never.
        """
        if source not in self.sources or self._passes_freely(source):
            act()
            return
        with self._lock:
            is_missing = source in self._missing()
            is_in_time = source in self._clocked or stamp_ns in (0, self._boundary_ns)
            if not (is_missing and is_in_time):
                self.counts.dropped += 1
                if is_missing:
                    self._misstamped[source] = stamp_ns
                return
            self._misstamped.pop(source, None)
            self._commands[source] = act
            is_complete = not self._missing()
        if is_complete:
            self._wake()

    def start(self, now_ns: int, *, after_reset: bool = False) -> None:
        """Continue from this time, in [ns], after a pause or a jump in time.

        A boundary at this time is waited for again, with the commands that have arrived, except
        after a reset, when these respond to readings of the previous run.
        """
        with self._lock:
            if after_reset or now_ns != self._boundary_ns:
                self._boundary_ns = None
                self._commands.clear()
                self._clock.wait(now_ns)
                for clocked in self._clocked.values():
                    clocked.answered = 0
            self._since = None

    def stepped(self, now_ns: int) -> None:
        """Called after each step to this time, in [ns], before readings are published."""
        if self._clock.is_due(now_ns):
            if self._clocked:
                self._clock.restart(now_ns)
            with self._lock:
                self._boundary_ns = now_ns
                self._since = None

    def wait_time(self, now_ns: int) -> float:
        """Return how long to wait before the step from this time, in [s]; 0 permits the step."""
        if self._boundary_ns is None:
            return 0.0
        wall = time.monotonic()
        if self._since is None:
            self._since = self._published = wall
        waited = wall - self._since
        left = max((self._source_timeout(source) - waited for source in self.missing), default=0.0)
        if left > 0.0:
            if wall - self._published >= REPUBLISH_PERIOD:
                self._published = wall
                self._republish()
            return min(left, self._published + REPUBLISH_PERIOD - wall)
        self._pass(now_ns, waited)
        return 0.0

    def _source_timeout(self, source: str) -> float:
        """Return the longest wait for a source at one boundary, in [s]."""
        clocked = self._clocked.get(source)
        is_unsettled = clocked is not None and not clocked.is_settled
        return min(self._timeout, REPUBLISH_PERIOD) if is_unsettled else self._timeout

    def _passes_freely(self, source: str) -> bool:
        """Count a command of a source; return whether it takes effect at once."""
        clocked = self._clocked.get(source)
        if clocked is None:
            return False
        with self._lock:
            if not clocked.free:
                return False
            clocked.free -= 1
            # The last free command is the response to a boundary that the run is at.
            return bool(clocked.free) or self._boundary_ns is None

    def _pass(self, now_ns: int, waited: float) -> None:
        """Apply the commands that have arrived, and leave the boundary."""
        with self._lock:
            missing = self._missing()
            is_waited_for = len(self.free) < len(self.sources)
            commands = [act for _, act in sorted(self._commands.items())]
            for source, clocked in self._clocked.items():
                if not clocked.free:
                    clocked.passed(is_missing=source in missing, waited=waited)
            self._commands.clear()
            self._boundary_ns = self._since = None
            counts = self.counts
            counts.boundaries += is_waited_for
            counts.timeouts += bool(missing)
            counts.waited += waited
            counts.longest = max(counts.longest, waited)
        for act in commands:
            act()
        if missing:
            self._on_timeout(missing, now_ns)

    def _missing(self) -> list[str]:
        if self._boundary_ns is None:
            return []
        return sorted(self.sources.difference(self._commands, self.free))
