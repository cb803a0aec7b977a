"""Steps a simulation against the steady clock, until a signal comes. Knows no ROS."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from enum import Enum
from typing import TYPE_CHECKING, Protocol, TypeVar

from ..physics.engine import PhysicsError
from ..physics.schedule import NS_PER_S
from .mailbox import Mailbox, NotRunningError
from .pace import Pace
from .state_record import StateRecord
from .stepping import Stepping

if TYPE_CHECKING:
    from ..sensors import Reading
    from ..simulation import Simulation

__all__ = [
    "Change",
    "Gate",
    "NotRunningError",
    "OnStep",
    "RunStateError",
    "Runner",
]

OnStep = Callable[[int, Mapping[str, "Reading"]], None]
_T = TypeVar("_T")

# How long ``call`` waits for a step that takes its time. In [s].
PATIENCE = 10.0
_NEVER = -1


class RunStateError(RuntimeError):
    """What was asked for needs a world that stands still, or one that can go on."""


class Change(Enum):
    """What happened to a run, besides its steps."""

    PAUSE = "it stands still, paused or after a failure"
    RESUME = "it goes on"
    RESET = "it is back at the start"
    STEPS = "a standing world has taken steps that were asked for"
    REPLACE = "it is another simulation"
    WORLD = "something was changed in the world, or it was put back to a saved state"


class Gate(Protocol):
    """What a step has to wait for besides the clock. But for ``take``, in the thread that steps."""

    def take(self, source: str, stamp_ns: int, act: Callable[[], None]) -> None:
        """Take a command for the right moment; see ``Runner.take``. For any thread."""

    def start(self, now_ns: int, *, anew: bool) -> None:
        """Hear that the run begins or goes on from this time, in [ns]; ``anew`` after a reset."""

    def stepped(self, now_ns: int) -> None:
        """Hear that a step has led to this time, in [ns], before its readings are told."""

    def closed(self, now_ns: int) -> float:
        """Return how long to wait at most before the step from this time, in [s]; 0 goes on.

        Asked again until it is 0. Who opens the gate earlier calls ``Runner.wake``.
        """


class Runner:
    """Runs a simulation in the thread that calls ``run``; everything else is for any thread.

    While it stands still, paused or after a failure of the physics, it sleeps until it is asked
    for something; when it goes on there is no burst of steps to catch up.

    Args:
        simulation: What to step.
        on_step: Called after every step with the time in [ns] and the readings that fell due.
        real_time_factor: Simulated per real second; 0 runs as fast as possible.
        duration: ``run`` ends after as many whole steps as this much simulated time holds, in
            [s]; None runs until ``stop``.
        on_failure: Called when the physics fails; the world then stands still until ``reset``
            or ``resume``. Without it a failure ends ``run``.

    Attributes:
        simulation: What is stepped.
        pace: How fast it goes, and what the clock was not kept by.
        states: What the state was at each whole second, to compare runs by.
        error: Why the physics failed and the world stands still, or None.
        on_change: Called with each ``Change``, in the thread that runs. Append to it before
            ``run``, or through ``call``.
        gate: What a step waits for besides the clock, or None. Set it in the same way.
        paused: Whether ``pause`` was called, and ``resume`` not since.
        stopped: Whether ``stop`` was called.
    """

    def __init__(
        self,
        simulation: Simulation,
        on_step: OnStep,
        *,
        real_time_factor: float = 1.0,
        duration: float | None = None,
        on_failure: Callable[[PhysicsError], None] | None = None,
    ) -> None:
        self.simulation = simulation
        self.pace = Pace(real_time_factor)
        self.states = StateRecord()
        self.error: PhysicsError | None = None
        self.on_change: list[Callable[[Change], None]] = []
        self.gate: Gate | None = None
        self.paused = False
        self.stopped = False
        self._on_step = on_step
        self._on_failure = on_failure
        self._left_ns = None if duration is None else round(duration * NS_PER_S)
        self._mailbox = Mailbox()
        self._stepping: Stepping | None = None
        self._thread: int | None = None
        self._was_standing = False
        self._is_anew = True  # the world began, and the run has not gone on since

    @property
    def real_time_factor(self) -> float:
        """Simulated per real second that is aimed at; 0 is as fast as possible. May be set."""
        return self.pace.target

    @real_time_factor.setter
    def real_time_factor(self, factor: float) -> None:
        self.pace.target = factor
        self.wake()

    @property
    def measured_factor(self) -> float:
        """Simulated per real second of late; 0 while it stands still or has just begun."""
        return self.pace.measured

    @property
    def lag(self) -> float:
        """How late the last step was against the steady clock, in [s]."""
        return self.pace.lag

    def stop(self) -> None:
        """End ``run`` before its next step. May be called from a signal handler, too."""
        self.stopped = True
        self.wake()

    def wake(self) -> None:
        """Have the run look at once whether there is something to do. For signal handlers, too."""
        self._mailbox.wake()

    def pause(self) -> None:
        """Stand still before the next step."""
        self.paused = True
        self.wake()

    def resume(self) -> None:
        """Go on, also after a failure: where its cause is still there, it comes again."""
        self.error = None
        self.paused = False
        self.wake()

    def reset(self) -> None:
        """Put the world back to its start, at time zero; a failure is over, a pause is not.

        Raises:
            NotRunningError: Nobody runs the simulation.
            PhysicsError: The physics cannot be put back.
        """

        def act() -> None:
            self.simulation.reset()
            self.error = None

        self.change(act, Change.RESET)

    def replace(self, simulation: Simulation) -> Simulation:
        """Run another simulation from now on; return the one before, for its owner to close.

        A failure is over, a pause is not.

        Raises:
            NotRunningError: Nobody runs the simulation.
        """

        def act() -> Simulation:
            before, self.simulation = self.simulation, simulation
            self.error = None
            return before

        return self.change(act, Change.REPLACE)

    def step(
        self,
        steps: int,
        on_each: Callable[[int], None] = lambda _: None,
        on_end: Callable[[Stepping], None] = lambda _: None,
    ) -> Stepping:
        """Have a standing world take steps, as fast as it can; return at once.

        Args:
            steps: How many, at least 1.
            on_each: Called after each with how many there were, in the thread that runs.
            on_end: Called when all were taken, or no further ones will be, in the same thread.

        Raises:
            NotRunningError: Nobody runs the simulation.
            RunStateError: It does not stand still, or takes such steps already, or its physics
                has failed.
            ValueError: No step is asked for.
        """

        def act() -> Stepping:
            if self.error is not None:
                raise RunStateError(f"the physics has failed: {self.error}; reset the world first")
            if not self.paused:
                raise RunStateError("the simulation runs; pause it first")
            if self._stepping is not None:
                raise RunStateError(f"{self._stepping} are being taken; wait or cancel them first")
            self._stepping = Stepping(steps, on_each, on_end, self.wake)
            return self._stepping

        return self.call(act)

    def take(self, source: str, stamp_ns: int, act: Callable[[], None]) -> None:
        """Take a command from outside: at once, or when the gate lets it have its effect.

        Args:
            source: Where it comes from, such as the full name of a topic.
            stamp_ns: The simulated time whose readings it answers, in [ns]; 0 for none.
            act: Hands it to the simulation; raises nothing. Any thread may call it, or none.
        """
        if self.gate is None:
            act()
        else:
            self.gate.take(source, stamp_ns, act)

    def call(self, action: Callable[[], _T], patience: float = PATIENCE) -> _T:
        """Have something done between two steps by the thread that runs; return its result.

        Args:
            action: What to do. What it raises is raised here.
            patience: How long to wait for its turn, in [s].

        Raises:
            NotRunningError: It was not done: ``run`` has ended, or takes no call for so long.
        """
        if threading.get_ident() == self._thread:
            return action()
        return self._mailbox.ask(action, patience)

    def soon(self, action: Callable[[], None]) -> None:
        """Have something done as ``call`` does, without waiting for it.

        Args:
            action: What to do; raises nothing. It is never done where nobody runs any more.
        """
        self._mailbox.post(action)

    def change(
        self, action: Callable[[], _T], what: Change = Change.WORLD, patience: float = PATIENCE
    ) -> _T:
        """Have something done as ``call`` does, that others must hear of: see ``on_change``."""

        def act() -> _T:
            result = action()
            if what in (Change.RESET, Change.REPLACE):
                self._is_anew = True
                self._end_stepping()
            self._tell(what)
            return result

        return self.call(act, patience)

    def run(self) -> None:
        """Step until the duration is over, ``stop`` is called or the physics fails.

        A failure of the physics is kept in ``error``: the world stays as it was before the
        failing step.
        """
        self._thread = threading.get_ident()
        self._mailbox.open()
        try:
            self._run()
        finally:
            self._thread = None
            self._end_stepping()
            self._mailbox.close()

    def _run(self) -> None:
        now_ns = _NEVER
        left_ns = self._left_ns
        while not self.stopped:
            self._mailbox.run_pending()
            self._notice_standing()
            if self._stepping is not None and self._stepping.cancelled:
                self._end_stepping()
            if self._was_standing and self._stepping is None:
                now_ns = _NEVER
                self.pace.stand_still()
                self._mailbox.wait(None)
                continue
            if self._is_anew or self.simulation.state.time_ns != now_ns:  # or after a pause
                now_ns = self.simulation.state.time_ns
                self.pace.start(now_ns)
                self.states.start(now_ns)
                if self.gate is not None:
                    self.gate.start(now_ns, anew=self._is_anew)
                self._is_anew = False
            if self._stepping is None and (ahead := self.pace.ahead(now_ns)) > 0.0:
                self._mailbox.wait(ahead)
                continue
            step_ns = self.simulation.engine.settings.step_ns
            if left_ns is not None and left_ns < step_ns:
                return
            if self.gate is not None and (seconds := self.gate.closed(now_ns)) > 0.0:
                self._mailbox.wait(seconds)
                continue
            if left_ns is not None:
                left_ns -= step_ns
            if self._step():
                now_ns += step_ns
            elif self._on_failure is None:
                return

    def _step(self) -> bool:
        """Take one step and tell of it; return whether the physics could."""
        self.pace.begin_step(self.simulation.state.time_ns)
        try:
            readings = self.simulation.step()
        except PhysicsError as error:
            self.error = error
            self._end_stepping()
            if self._on_failure is not None:
                self._on_failure(error)
            return False
        now_ns = self.simulation.state.time_ns
        self.states.stepped(now_ns, self.simulation.state_hash)
        if self.gate is not None:
            self.gate.stepped(now_ns)
        self._on_step(now_ns, readings)
        self.pace.end_step(now_ns)
        if self._stepping is not None and self._stepping.count():
            self._end_stepping()
        return True

    def _notice_standing(self) -> None:
        """Tell of a pause, of going on and of failures when they have come about."""
        is_standing = self.paused or self.error is not None
        if not is_standing:  # maybe since before anybody noticed that it stood
            self._end_stepping()
        if is_standing is self._was_standing:
            return
        self._was_standing = is_standing
        self._tell(Change.PAUSE if is_standing else Change.RESUME)

    def _end_stepping(self) -> None:
        stepping, self._stepping = self._stepping, None
        if stepping is not None:
            self._tell(Change.STEPS)
            stepping.end(self.error)

    def _tell(self, change: Change) -> None:
        for listener in self.on_change:
            listener(change)
