"""A run advances a simulation, in real time or as fast as possible, and serves its consumers."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from ..engine.engine import PhysicsError, StepInterrupted
from ..engine.schedule import NEVER_NS, NS_PER_S
from ..render import Parts
from ..sensors import CameraSensor, ImageReading, RenderRequest
from .calls import Mailbox, NotRunningError, RunStateError, Stepping
from .pace import Pace, StateRecord
from .samplers import RenderThread

if TYPE_CHECKING:
    from ..sensors import Reading
    from ..simulation import Simulation
    from .lock_step import LockStep

__all__ = ["Change", "Consumer", "NotRunningError", "Run", "RunStateError", "Stepping"]

_T = TypeVar("_T")

# Default timeout of ``call``, which may have to wait for a slow step. In [s].
CALL_TIMEOUT = 10.0
# Maximum duration of steps that are taken at once; calls wait for their end. In [s].
_RESPONSE_TIME = 0.005
_NEVER = -1


class Change(Enum):
    """Changes of a run, other than its steps."""

    PAUSE = "the run halted: it was paused, or the physics failed"
    RESUME = "the run resumed"
    RESET = "the simulation was reset"
    STEPS = "the steps requested while paused ended"
    REPLACE = "the simulation was replaced"
    WORLD = "the world was changed, or restored from a saved state"
    END = "the run ended, or one of its parts"


class Consumer:
    """Uses a run. Each method may be overridden; without that it does and wants nothing.

    All methods but ``take_image`` are called by the thread of the run, or before it.
    """

    def attach(self, run: Run) -> None:
        """Called when it is added to a run."""

    def wants(self, simulation: Simulation, sensor: str) -> bool:  # noqa: ARG002
        """Return whether a sensor should be read; called each time before it is read."""
        return False

    def wanted_parts(self, camera: str) -> Parts | None:  # noqa: ARG002
        """Return the parts to render of an image for which ``wants`` was true; None for none.

        With no parts the image has its time and lens only.
        """
        return None

    def next_ns(self, simulation: Simulation) -> int:  # noqa: ARG002
        """Return the time of the next step that must be taken even without readings, in [ns]."""
        return NEVER_NS

    def before_step(self) -> None:
        """Called before steps: at least before that after each step of ``next_ns``."""

    def take_step(self, time_ns: int, readings: Mapping[str, Reading]) -> None:
        """Take the readings of a step to this time, in [ns].

        Called after each step with readings, and at least after those of ``next_ns``.

        Instead of images there are ``RenderRequest``; the images follow. There may be readings
        that only other consumers want.
        """

    def take_image(self, camera: str, image: ImageReading) -> None:
        """Take an image; called in the render thread. Parts that nobody wants are missing."""

    def changed(self, change: Change) -> None:
        """Called after a change of the run, other than its steps."""


class Run:
    """A run of a simulation, in the thread that calls ``run``; other methods are for any thread.

    Consumers take what each step gives: see ``Consumer``. Sensors that none of them wants are not
    read, and each image is rendered once for all of them, in a thread of its own.

    While halted, paused or after a failure of the physics, it sleeps until it is called. After a
    halt it does not catch up the time. ``with Run(...) as run:`` closes it at the end.

    Args:
        simulation: The simulation; for images it must defer them.
        consumers: Added one by one, as by ``add``.
        real_time_factor: Target real-time factor; 0 runs as fast as possible, and then takes
            several steps at once where no consumer needs each of them.
        duration: Simulation time after which ``run`` ends, in [s], rounded down to whole steps;
            None runs until ``stop``.
        on_failure: Called when the physics fails; the run then halts until ``reset`` or
            ``resume``. Without it a failure ends ``run``.

    Attributes:
        simulation: The simulation being stepped.
        pace: Target and measured pace.
        states: Hashes of the state at whole seconds, to compare runs.
        error: Error of the physics that halted the run, or None.
        gate: Lock-step with controllers, or None. Set it before ``run``, or by ``call``.
        keeps_images: Whether the run waits for the rendering of images. Otherwise a new request
            of a camera replaces one that waits.
        paused: Whether the run is paused.
        stopped: Whether ``stop`` was called.
    """

    def __init__(
        self,
        simulation: Simulation,
        consumers: Iterable[Consumer] = (),
        *,
        real_time_factor: float = 1.0,
        duration: float | None = None,
        on_failure: Callable[[PhysicsError], None] | None = None,
    ) -> None:
        self.simulation = simulation
        self.pace = Pace(real_time_factor)
        self.states = StateRecord()
        self.error: PhysicsError | None = None
        self.gate: LockStep | None = None
        self.keeps_images = False
        self.paused = False
        self.stopped = False
        self._consumers: tuple[Consumer, ...] = ()
        # Methods of the consumers that override them.
        self._before_step: list[Callable[[], None]] = []
        self._next_ns: list[Callable[[Simulation], int]] = []
        self._take_step: list[Callable[[int, Mapping[str, Reading]], None]] = []
        self._time_ns = 0  # of the last step that consumers have taken
        self._paced_ns = _NEVER  # time at which the clock goes on
        self._render_thread = RenderThread(self._take_image)
        self._on_failure = on_failure
        self._left_ns = None if duration is None else round(duration * NS_PER_S)
        self._mailbox = Mailbox()
        self._stepping: Stepping | None = None
        self._thread: int | None = None
        self._was_halted = False
        self._is_reset = True  # and the run has not resumed since
        self._ask_consumers()
        for consumer in consumers:
            self.add(consumer)

    def __enter__(self) -> Run:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def close(self) -> None:
        """End the render thread, and refuse calls; called after the run."""
        self._thread = None
        self._mailbox.close()
        self._render_thread.close()

    def add(self, consumer: Consumer) -> None:
        """Add a consumer; to be called before the run, or in its thread."""
        self._consumers = (*self._consumers, consumer)
        self._ask_consumers()
        consumer.attach(self)

    def remove(self, consumer: Consumer) -> None:
        """Remove a consumer; to be called after the run, or in its thread."""
        self._consumers = tuple(c for c in self._consumers if c is not consumer)
        self._ask_consumers()

    def finish_images(self) -> None:
        """Wait until all images were taken; called after the run."""
        self._render_thread.finish()

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
        """Execute an action as ``call`` does, and notify the consumers."""

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
            self._notify(Change.END)
        finally:
            self._thread = None
            self._end_stepping()
            self._mailbox.close()

    def run_for(self, seconds: float) -> None:
        """Step for a time as ``run`` does; the calls of others then wait for the next time.

        This is for programs that do something else between two steps. ``close`` ends it.

        Args:
            seconds: In simulation time, rounded down to whole steps.
        """
        self._thread = threading.get_ident()
        self._mailbox.open()
        self._left_ns = round(seconds * NS_PER_S)
        self._run()
        self._notify(Change.END)

    def until(self, time_ns: int) -> None:
        """Advance to the first step at or after a time in [ns], without a clock.

        Ends earlier if ``stop`` is called or the physics fails. This is for programs that control
        a run from one thread: it neither pauses nor executes the calls of others.
        """
        self._start(self.simulation.engine.time_ns)
        while not self.stopped and self.error is None:
            now_ns = self.simulation.engine.time_ns
            if now_ns >= time_ns:
                return
            step_ns = self.simulation.engine.settings.step_ns
            left = -((now_ns - time_ns) // step_ns)
            self._step(self._most_steps(now_ns, step_ns, left), step_ns)

    def _run(self) -> None:
        now_ns = self._paced_ns
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
                self._start(now_ns)
            if self._stepping is None and (ahead := self.pace.ahead(now_ns)) > 0.0:
                self._mailbox.wait(ahead)
                continue
            step_ns = self.simulation.engine.settings.step_ns
            left = None if left_ns is None else left_ns // step_ns
            if left == 0:
                self._paced_ns = now_ns
                return
            if self.gate is not None and (seconds := self.gate.wait_time(now_ns)) > 0.0:
                self._mailbox.wait(seconds)
                continue
            is_paced = self._stepping is None and self.pace.target > 0.0
            most = 1 if is_paced else self._most_steps(now_ns, step_ns, left)
            taken = self._step(most, step_ns)
            now_ns += taken * step_ns
            if left_ns is not None:
                left_ns -= taken * step_ns
            if self.error is not None and self._on_failure is None:
                return

    def _start(self, now_ns: int) -> None:
        """Start or go on at this time, in [ns]."""
        self.pace.start(now_ns)
        self.states.start(now_ns)
        if self.gate is not None:
            self.gate.start(now_ns, after_reset=self._is_reset)
        self._is_reset = False

    def _most_steps(self, now_ns: int, step_ns: int, left: int | None) -> int:
        """Return how many steps may be taken at once from this time, in [ns].

        Args:
            now_ns: The time.
            step_ns: The time step, in [ns].
            left: Steps that are left; None for no limit.
        """
        due_ns = self.states.next_ns
        if self.gate is not None:
            due_ns = min(due_ns, self.gate.next_ns)
        for next_ns in self._next_ns:
            due_ns = min(due_ns, next_ns(self.simulation))
        steps = -((now_ns - due_ns) // step_ns)
        if self._stepping is not None:
            steps = min(steps, self._stepping.next_steps)
        if left is not None:
            steps = min(steps, left)
        if steps * self.pace.step_time > _RESPONSE_TIME:
            steps = int(_RESPONSE_TIME / self.pace.step_time)
        return max(steps, 1)

    def _step(self, most: int, step_ns: int) -> int:
        """Take at most this number of steps, and serve the consumers; return their number."""
        simulation, error = self.simulation, None
        before_ns = simulation.engine.time_ns
        self.pace.begin_steps(before_ns)
        for prepare in self._before_step:
            prepare()
        readings: Mapping[str, Reading] = {}
        try:
            readings = simulation.advance(most)
        except PhysicsError as failure:
            error = failure
        except StepInterrupted:
            pass  # the run has been stopped
        now_ns = simulation.engine.time_ns
        taken = (now_ns - before_ns) // step_ns
        if taken > 0:
            self.states.stepped(now_ns, simulation.state_hash)
            if self.gate is not None:
                self.gate.stepped(now_ns)
            self._deliver(now_ns, readings)
            self.pace.end_steps(now_ns, taken)
            if self._stepping is not None and self._stepping.count(taken):
                self._end_stepping()
        if error is not None:
            self._fail(error)
        return taken

    def _deliver(self, time_ns: int, readings: Mapping[str, Reading]) -> None:
        """Give the readings of a step to the consumers, and request their images."""
        self._time_ns = time_ns
        for name, reading in readings.items():
            if isinstance(reading, RenderRequest):
                self._render(name, reading)
        for take_step in self._take_step:
            take_step(time_ns, readings)

    def _render(self, name: str, request: RenderRequest) -> None:
        """Request the parts of an image that consumers want."""
        simulation = self.simulation
        camera = simulation.sensors.get(name)
        if not isinstance(camera, CameraSensor):
            return
        asked = (c.wanted_parts(name) for c in self._consumers if c.wants(simulation, name))
        wanted = [parts for parts in asked if parts is not None]
        if wanted:
            parts = Parts(any(p.color for p in wanted), any(p.depth for p in wanted))
            render = partial(camera.render, request, parts)
            self._render_thread.submit(name, render, after_others=self.keeps_images)

    def _take_image(self, camera: str, image: ImageReading) -> None:
        for consumer in self._consumers:
            consumer.take_image(camera, image)

    def _ask_consumers(self) -> None:
        """Let the simulation read what consumers want, and prepare the calls of each step."""
        simulation = self.simulation
        self._before_step = self._overriding("before_step")
        self._next_ns = self._overriding("next_ns")
        self._take_step = self._overriding("take_step")
        asked = self._overriding("wants")
        if len(asked) == 1:
            simulation.wanted = partial(asked[0], simulation)
            return

        def is_wanted(sensor: str) -> bool:
            for wants in asked:  # noqa: SIM110 - any() takes twice as long
                if wants(simulation, sensor):
                    return True
            return False

        simulation.wanted = is_wanted

    def _overriding(self, name: str) -> list[Callable[..., Any]]:
        """Return a method of the consumers that override it."""
        inherited = getattr(Consumer, name)
        return [
            getattr(c, name) for c in self._consumers if getattr(type(c), name) is not inherited
        ]

    def _fail(self, error: PhysicsError) -> None:
        self.error = error
        self._end_stepping()
        if self._on_failure is not None:
            self._on_failure(error)

    def _update_halted(self) -> None:
        """Notify the consumers if the run has halted or resumed."""
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
        if change is Change.REPLACE:
            self._ask_consumers()
        time_ns = self.simulation.engine.time_ns
        if time_ns < self._time_ns or change in (Change.RESET, Change.REPLACE):
            self._render_thread.clear()
        self._time_ns = time_ns
        for consumer in self._consumers:
            consumer.changed(change)
