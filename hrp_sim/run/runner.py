"""Step a simulation in real time until it is stopped, without ROS."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from enum import Enum
from typing import TYPE_CHECKING, Protocol, TypeVar

from ..engine.engine import PhysicsError, StepInterrupted
from ..engine.schedule import NS_PER_S
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

# Default timeout of ``call``, which may have to wait for a slow step. In [s].
CALL_TIMEOUT = 10.0
# Maximum duration of steps that are taken at once; calls wait for their end. In [s].
_RESPONSE_TIME = 0.005
_NEVER = -1
_EACH_STEP = 0


class RunStateError(RuntimeError):
    """The operation is not possible in the present state of the run."""


class Change(Enum):
    """Changes of a run, other than its steps."""

    PAUSE = "the run halted: it was paused, or the physics failed"
    RESUME = "the run resumed"
    RESET = "the simulation was reset"
    STEPS = "the steps requested while paused ended"
    REPLACE = "the simulation was replaced"
    WORLD = "the world was changed, or restored from a saved state"


class Gate(Protocol):
    """Condition of a step besides the clock, such as the commands in lock-step.

    All methods except ``submit`` are called in the stepping thread.
    """

    def submit(self, source: str, stamp_ns: int, act: Callable[[], None]) -> None:
        """Submit a command; see ``Runner.submit``. Callable from any thread."""

    @property
    def next_ns(self) -> int:
        """Time of the next step that ``stepped`` must be called for, in [ns]."""

    def start(self, now_ns: int, *, after_reset: bool) -> None:
        """Called when the run starts or resumes at this time, in [ns]."""

    def stepped(self, now_ns: int) -> None:
        """Called after a step to this time, in [ns], before readings are published."""

    def wait_time(self, now_ns: int) -> float:
        """Return how long to wait before the step from this time, in [s]; 0 permits the step.

        Called repeatedly until it is 0. ``Runner.wake`` ends a wait early.
        """


class Runner:
    """Runs a simulation in the thread that calls ``run``; other methods are for any thread.

    While halted, paused or after a failure of the physics, it sleeps until it is called. After a
    halt it does not catch up the time.

    Args:
        simulation: The simulation to step.
        on_step: Called after steps with the time in [ns] and the due readings: after each,
            unless ``on_step_due`` is given.
        real_time_factor: Target real-time factor; 0 runs as fast as possible.
        duration: Simulation time after which ``run`` ends, in [s], rounded down to whole steps;
            None runs until ``stop``.
        on_failure: Called when the physics fails; the run then halts until ``reset`` or
            ``resume``. Without it a failure ends ``run``.
        on_step_due: Returns the time of the next step after which ``on_step`` must be called
            even if there are no readings, in [ns]. As fast as possible, and while paused, the
            runner then takes several steps at once until a reading is due.

    Attributes:
        simulation: The simulation being stepped.
        pace: Target and measured pace.
        states: Hashes of the state at whole seconds, to compare runs.
        error: Error of the physics that halted the run, or None.
        on_change: Called with each ``Change`` in the stepping thread. Append to it before
            ``run``, or by ``call``.
        gate: Condition of a step besides the clock, or None. Set it in the same way.
        paused: Whether the run is paused.
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
        on_step_due: Callable[[], int] = lambda: _EACH_STEP,
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
        self._on_step_due = on_step_due
        self._left_ns = None if duration is None else round(duration * NS_PER_S)
        self._mailbox = Mailbox()
        self._stepping: Stepping | None = None
        self._thread: int | None = None
        self._was_halted = False
        self._is_reset = True  # and the run has not resumed since

    @property
    def real_time_factor(self) -> float:
        """Target real-time factor, which may be set; 0 is as fast as possible."""
        return self.pace.target

    @real_time_factor.setter
    def real_time_factor(self, factor: float) -> None:
        self.pace.target = factor
        self.wake()

    @property
    def measured_factor(self) -> float:
        """Measured real-time factor; 0 while halted or just started."""
        return self.pace.measured

    @property
    def lag(self) -> float:
        """Delay of the last step relative to the steady clock, in [s]."""
        return self.pace.lag

    @property
    def is_halted(self) -> bool:
        """Whether it is paused or has failed, and takes no requested steps."""
        return (self.paused or self.error is not None) and self._stepping is None

    def stop(self) -> None:
        """End ``run`` before its next step, giving up a current one that takes long.

        Callable from signal handlers.
        """
        self.stopped = True
        self.wake()
        self.simulation.interrupt()

    def wake(self) -> None:
        """End a wait of the run; callable from signal handlers."""
        self._mailbox.wake()

    def pause(self) -> None:
        """Pause before the next step."""
        self.paused = True
        self.wake()

    def resume(self) -> None:
        """Resume, also after a failure, which recurs if its cause persists."""
        self.error = None
        self.paused = False
        self.wake()

    def reset(self) -> None:
        """Reset the simulation to time zero; clears a failure, but not a pause.

        Raises:
            NotRunningError: ``run`` is not active.
            PhysicsError: The physics cannot be reset.
        """

        def act() -> None:
            self.simulation.reset()
            self.error = None

        self.change(act, Change.RESET)

    def replace(self, simulation: Simulation) -> Simulation:
        """Replace the simulation; return the previous one, which its owner closes.

        Clears a failure, but not a pause.

        Raises:
            NotRunningError: ``run`` is not active.
        """

        def act() -> Simulation:
            before, self.simulation = self.simulation, simulation
            self.error = None
            return before

        return self.change(act, Change.REPLACE)

    def step(
        self,
        steps: int,
        on_each: Callable[[int], None] | None = None,
        on_end: Callable[[Stepping], None] = lambda _: None,
    ) -> Stepping:
        """Begin to take steps in a paused simulation, as fast as possible; return at once.

        Args:
            steps: Number of steps, at least 1.
            on_each: Called after each step with the number taken so far, in the stepping thread;
                without it several steps may be taken at once.
            on_end: Called at the end, complete or not, in the same thread.

        Raises:
            NotRunningError: ``run`` is not active.
            RunStateError: The run is not paused, is taking requested steps already, or its
                physics has failed.
            ValueError: ``steps`` is less than 1.
        """

        def act() -> Stepping:
            if self.error is not None:
                raise RunStateError(f"the physics has failed: {self.error}; reset the world first")
            if not self.paused:
                raise RunStateError("the simulation is running; pause it first")
            if self._stepping is not None:
                raise RunStateError(f"{self._stepping} are being taken; wait or cancel them first")
            self._stepping = Stepping(steps, on_each, on_end, self.wake)
            return self._stepping

        return self.call(act)

    def submit(self, source: str, stamp_ns: int, act: Callable[[], None]) -> None:
        """Apply an external command at once, or when the gate permits.

        Args:
            source: Source of the command, such as the full name of a topic.
            stamp_ns: Simulation time of the readings that it responds to, in [ns]; 0 if unknown.
            act: Applies the command; must not raise. Called in any thread, or never.
        """
        if self.gate is None:
            act()
        else:
            self.gate.submit(source, stamp_ns, act)

    def call(self, action: Callable[[], _T], timeout: float = CALL_TIMEOUT) -> _T:
        """Execute an action in the stepping thread between two steps; return its result.

        Args:
            action: The action; its exceptions are raised here.
            timeout: How long to wait for its execution, in [s].

        Raises:
            NotRunningError: It was not executed: ``run`` is not active, or the timeout elapsed.
        """
        if threading.get_ident() == self._thread:
            return action()
        return self._mailbox.call(action, timeout)

    def call_soon(self, action: Callable[[], None]) -> None:
        """Execute an action as ``call`` does, without waiting for it.

        Args:
            action: The action; must not raise. Dropped if ``run`` is not active.
        """
        self._mailbox.post(action)

    def change(
        self, action: Callable[[], _T], change: Change = Change.WORLD, timeout: float = CALL_TIMEOUT
    ) -> _T:
        """Execute an action as ``call`` does, and notify the listeners of ``on_change``."""

        def act() -> _T:
            result = action()
            if change in (Change.RESET, Change.REPLACE):
                self._is_reset = True
                self._end_stepping()
            self._notify(change)
            return result

        return self.call(act, timeout)

    def run(self) -> None:
        """Step until the duration has elapsed, ``stop`` is called or the physics fails.

        ``error`` holds a failure of the physics; the world keeps the state before the failed step.
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
            self._update_halted()
            if self._stepping is not None and self._stepping.cancelled:
                self._end_stepping()
            if self._was_halted and self._stepping is None:
                now_ns = _NEVER
                self.pace.halt()
                self._mailbox.wait(None)
                continue
            if self._is_reset or self.simulation.engine.time_ns != now_ns:  # or after a pause
                now_ns = self.simulation.engine.time_ns
                self.pace.start(now_ns)
                self.states.start(now_ns)
                if self.gate is not None:
                    self.gate.start(now_ns, after_reset=self._is_reset)
                self._is_reset = False
            if self._stepping is None and (ahead := self.pace.ahead(now_ns)) > 0.0:
                self._mailbox.wait(ahead)
                continue
            step_ns = self.simulation.engine.settings.step_ns
            if left_ns is not None and left_ns < step_ns:
                return
            if self.gate is not None and (seconds := self.gate.wait_time(now_ns)) > 0.0:
                self._mailbox.wait(seconds)
                continue
            taken = self._step(self._most_steps(now_ns, left_ns))
            now_ns += taken * step_ns
            if left_ns is not None:
                left_ns -= taken * step_ns
            if self.error is not None and self._on_failure is None:
                return

    def _most_steps(self, now_ns: int, left_ns: int | None) -> int:
        """Return how many steps may be taken at once from this time, in [ns].

        Args:
            now_ns: The time.
            left_ns: Duration that is left, in [ns]; None for no limit.
        """
        stepping, step_ns = self._stepping, self.simulation.engine.settings.step_ns
        if stepping is None and self.pace.target > 0.0:
            return 1
        due_ns = min(self._on_step_due(), self.states.next_ns)
        if self.gate is not None:
            due_ns = min(due_ns, self.gate.next_ns)
        steps = -((now_ns - due_ns) // step_ns)
        if stepping is not None:
            steps = min(steps, stepping.next_steps)
        if left_ns is not None:
            steps = min(steps, left_ns // step_ns)
        if steps * self.pace.step_time > _RESPONSE_TIME:
            steps = int(_RESPONSE_TIME / self.pace.step_time)
        return max(steps, 1)

    def _step(self, most: int) -> int:
        """Take at most this number of steps and publish their readings; return their number."""
        simulation, error = self.simulation, None
        before_ns = simulation.engine.time_ns
        self.pace.begin_steps(before_ns)
        readings: Mapping[str, Reading] = {}
        try:
            readings = simulation.advance(most)
        except PhysicsError as failure:
            error = failure
        except StepInterrupted:
            pass  # the run has been stopped
        now_ns = simulation.engine.time_ns
        taken = (now_ns - before_ns) // simulation.engine.settings.step_ns
        if taken > 0:
            self.states.stepped(now_ns, simulation.state_hash)
            if self.gate is not None:
                self.gate.stepped(now_ns)
            self._on_step(now_ns, readings)
            self.pace.end_steps(now_ns, taken)
            if self._stepping is not None and self._stepping.count(taken):
                self._end_stepping()
        if error is not None:
            self._fail(error)
        return taken

    def _fail(self, error: PhysicsError) -> None:
        self.error = error
        self._end_stepping()
        if self._on_failure is not None:
            self._on_failure(error)

    def _update_halted(self) -> None:
        """Notify listeners if the run has halted or resumed."""
        is_halted = self.paused or self.error is not None
        if not is_halted:  # possibly resumed before the halt was noticed
            self._end_stepping()
        if is_halted is self._was_halted:
            return
        self._was_halted = is_halted
        self._notify(Change.PAUSE if is_halted else Change.RESUME)

    def _end_stepping(self) -> None:
        stepping, self._stepping = self._stepping, None
        if stepping is not None:
            self._notify(Change.STEPS)
            stepping.end(self.error)

    def _notify(self, change: Change) -> None:
        for listener in self.on_change:
            listener(change)
