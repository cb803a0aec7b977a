"""A run that waits for the commands of its controllers, so that no machine is too slow."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from math import inf

from ..physics.schedule import SampleClock

# While nothing comes the readings are told again, in [s] of wall time: who has only just
# connected has not heard them.
REPUBLISH_PERIOD = 1.0
# A source that is counted by arrival is waited for longer than ``REPUBLISH_PERIOD`` only after it has
# answered so many boundaries in a row: then it cannot be asleep until a time that the run would
# have to reach first.
SETTLED = 10
# After each boundary that such a source leaves out while it is not settled, twice as many of its
# commands pass freely before it is waited for again, up to this number.
_MOST_FREE = 4096


@dataclass(frozen=True)
class LockStepCounts:
    """How the waiting went since the start.

    Attributes:
        boundaries: Control periods whose commands were waited for.
        timeouts: Of these, in how many the run went on without some command.
        dropped: Commands of another time, or of a source whose command was there already.
        waited: Wall time of all waiting, in [s].
        longest: Of one boundary, in [s].
    """

    boundaries: int = 0
    timeouts: int = 0
    dropped: int = 0
    waited: float = 0.0
    longest: float = 0.0


@dataclass
class _Follower:
    """A source that sleeps by the clock, and whose commands are counted by arrival.

    Attributes:
        free: Commands that still pass at once before it is waited for; 0 = it is waited for.
        next_free: The same, after the next boundary that it leaves out.
        answered: Boundaries in a row that it answered before the readings were published again.
    """

    free: int = 1
    next_free: int = 1
    answered: int = 0

    @property
    def is_settled(self) -> bool:
        return self.answered >= SETTLED

    def passed(self, *, is_missing: bool, waited: float) -> None:
        """Count a boundary at which it was waited for, for so long in [s]."""
        if not is_missing:
            self.answered = self.answered + 1 if waited < REPUBLISH_PERIOD else 0
            if self.is_settled:
                self.next_free = 1
            return
        self.answered = 0
        self.free = self.next_free
        self.next_free = min(2 * self.next_free, _MOST_FREE)


class LockStep:
    """Lets a run pass each boundary of a control period when all commands for it are there.

    The boundaries are the first steps at or after k / rate, k = 1, 2, ... At each the readings
    are told, then each source has to give one command, stamped with the time of the boundary or
    with none; all commands take effect together, in the order of the names of their sources.
    What comes twice, stamped otherwise or while none is waited for is dropped and counted: a
    command never has its effect at another time than on a faster or slower machine. Where a world
    is put to a boundary, by a reset or from a saved state, nobody has readings of it to answer:
    the first commands that are waited for are those for the next one.

    A controller manager of ros2_control sleeps until its next period by the clock, and stamps its
    commands with a clock that may lag behind. Sources ``by_arrival`` are such ones: the first
    command after a boundary was reached answers it, whatever its stamp. They are waited for once
    a command has come, and after a boundary without an answer once one comes again; until then
    their commands take effect at once. Because a sleeping manager cannot answer before the clock
    reaches its time, three rules exclude that both wait for each other: a boundary lies at least
    a whole period after the one before, the clock is to be published at boundaries only
    (``paces_clock``), and a source that has not answered ``SETTLED`` boundaries in a row is waited
    for ``REPUBLISH_PERIOD`` seconds at most.

    It is the ``gate`` of a ``Runner``. ``take`` is for any thread, all else for the one that runs.

    Args:
        sources: Names of what is waited for, such as topics; not empty.
        rate: Of the control periods, in [Hz]; read as ``rate_fraction`` reads it.
        timeout: How long to wait at one boundary before the run goes on without, in [s] of wall
            time; 0 waits for ever.
        by_arrival: Those of the sources whose commands are counted by arrival.
        on_timeout: Called with the sources that gave nothing, and the time in [ns].
        republish: Called to tell the readings of the boundary again when nothing comes.
        wake: Called when the last command is there; ``Runner.wake``.

    Raises:
        ValueError: A rate or time-out makes no sense, or there is no source.
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
            raise ValueError("lock-step needs a source and a time-out of at least 0 s")
        self.sources = frozenset(sources)
        self._followers = {source: _Follower() for source in by_arrival}
        self._timeout = timeout if timeout > 0.0 else inf
        self._on_timeout = on_timeout
        self._republish = republish
        self._wake = wake
        self._clock = SampleClock(rate)
        self._lock = threading.Lock()  # of all below
        self._counts = LockStepCounts()
        self._commands: dict[str, Callable[[], None]] = {}
        self._boundary_ns: int | None = None
        self._since: float | None = None  # when the run came to the boundary
        self._told = 0.0
        self._strays: dict[str, int] = {}

    @property
    def counts(self) -> LockStepCounts:
        """How the waiting went since the start. For any thread."""
        return self._counts

    @property
    def missing(self) -> list[str]:
        """The sources whose commands are waited for now. For any thread."""
        with self._lock:
            return self._missing()

    @property
    def free(self) -> list[str]:
        """The sources that are not waited for until they send commands. For any thread."""
        return sorted(source for source, follower in self._followers.items() if follower.free)

    @property
    def paces_clock(self) -> bool:
        """Whether the clock is to be published at boundaries only."""
        return bool(self._followers)

    @property
    def strays(self) -> Mapping[str, int]:
        """By source: the stamp in [ns] of its last command, if it came for another time.

        Only of those whose last command was not taken while it was waited for. For any thread.
        """
        with self._lock:
            return dict(self._strays)

    def is_boundary(self, time_ns: int) -> bool:
        """Tell whether commands for this time, in [ns], are waited for, or are about to be."""
        return time_ns == self._boundary_ns

    @property
    def is_waiting_long(self) -> bool:
        """Whether the run waits at a boundary for a time that people notice. For any thread."""
        since = self._since
        return since is not None and time.monotonic() - since >= REPUBLISH_PERIOD

    def take(self, source: str, stamp_ns: int, act: Callable[[], None]) -> None:
        """Take a command; ``act`` hands it to the simulation.

        Args:
            source: Where it comes from; what is not waited for is handed on at once.
            stamp_ns: The time whose readings it answers, in [ns]; 0 if it does not say.
            act: Called at the boundary, in the thread that runs, or never; raises nothing. Called
                at once if the source is not waited for.
        """
        if source not in self.sources or self._passes_freely(source):
            act()
            return
        with self._lock:
            is_missing = source in self._missing()
            is_in_time = source in self._followers or stamp_ns in (0, self._boundary_ns)
            if not (is_missing and is_in_time):
                self._counts = replace(self._counts, dropped=self._counts.dropped + 1)
                if is_missing:
                    self._strays[source] = stamp_ns
                return
            self._strays.pop(source, None)
            self._commands[source] = act
            is_complete = not self._missing()
        if is_complete:
            self._wake()

    def start(self, now_ns: int, *, anew: bool = False) -> None:
        """Go on from this time, after a pause or a jump in time, in [ns].

        A boundary that was waited for is waited for again if it is this one, unless the world
        begins ``anew``: then what came for it answers another world.
        """
        with self._lock:
            if anew or now_ns != self._boundary_ns:
                self._boundary_ns = None
                self._commands.clear()
                self._clock.wait(now_ns)
                for follower in self._followers.values():
                    follower.answered = 0
            self._since = None

    def stepped(self, now_ns: int) -> None:
        """Note that a step has led to this time, in [ns], before its readings are told."""
        if self._clock.is_due(now_ns):
            if self._followers:
                self._clock.restart(now_ns)
            with self._lock:
                self._boundary_ns = now_ns
                self._since = None

    def closed(self, now_ns: int) -> float:
        """Return how long to wait at most before the step from this time, in [s]; 0 goes on."""
        if self._boundary_ns is None:
            return 0.0
        wall = time.monotonic()
        if self._since is None:
            self._since = self._told = wall
        waited = wall - self._since
        left = max((self._patience(source) - waited for source in self.missing), default=0.0)
        if left > 0.0:
            if wall - self._told >= REPUBLISH_PERIOD:
                self._told = wall
                self._republish()
            return min(left, self._told + REPUBLISH_PERIOD - wall)
        self._pass(now_ns, waited)
        return 0.0

    def _patience(self, source: str) -> float:
        """Return how long a source is waited for at one boundary, in [s]."""
        follower = self._followers.get(source)
        is_unsettled = follower is not None and not follower.is_settled
        return min(self._timeout, REPUBLISH_PERIOD) if is_unsettled else self._timeout

    def _passes_freely(self, source: str) -> bool:
        """Count a command of a source; return whether it takes effect at once."""
        follower = self._followers.get(source)
        if follower is None:
            return False
        with self._lock:
            if not follower.free:
                return False
            follower.free -= 1
            # The last one answers a boundary that the run is at: there may be no other to it.
            return bool(follower.free) or self._boundary_ns is None

    def _pass(self, now_ns: int, waited: float) -> None:
        """Let the commands that are there have their effect."""
        with self._lock:
            missing = self._missing()
            is_waited_for = len(self.free) < len(self.sources)
            commands = [act for _, act in sorted(self._commands.items())]
            for source, follower in self._followers.items():
                if not follower.free:
                    follower.passed(is_missing=source in missing, waited=waited)
            self._commands.clear()
            self._boundary_ns = self._since = None
            counts = self._counts
            self._counts = replace(
                counts,
                boundaries=counts.boundaries + is_waited_for,
                timeouts=counts.timeouts + bool(missing),
                waited=counts.waited + waited,
                longest=max(counts.longest, waited),
            )
        for act in commands:
            act()
        if missing:
            self._on_timeout(missing, now_ns)

    def _missing(self) -> list[str]:
        if self._boundary_ns is None:
            return []
        return sorted(self.sources.difference(self._commands, self.free))
