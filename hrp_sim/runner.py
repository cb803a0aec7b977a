"""Steps a simulation against the steady clock, until a signal comes. Knows no ROS."""

from __future__ import annotations

import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError, Future
from concurrent.futures import TimeoutError as OutOfTime
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from .engine import PhysicsError
from .schedule import NS_PER_S

if TYPE_CHECKING:
    from .sensors import Reading
    from .simulation import Simulation

OnStep = Callable[[int, Mapping[str, "Reading"]], None]
_T = TypeVar("_T")

# After falling behind by more than this the clock is set anew: a hitch is not followed by
# a burst of steps. In [s].
MAX_LAG = 0.1
# Real-time factor is measured over windows of this length. In [s].
WINDOW = 0.5
# Longer sleeps are cut into naps, between which ``stop`` and ``call`` are noticed. In [s].
NAP = 0.02
# How long ``call`` waits for a step that takes its time. In [s].
PATIENCE = 10.0
_NEVER = -1


class NotRunningError(RuntimeError):
    """Nobody steps the simulation, so nobody can do what was asked for."""


class Runner:
    """Runs a simulation in the thread that calls ``run``; everything else is for any thread.

    While it stands still, paused or after a failure of the physics, it costs next to nothing
    and goes on to take calls; when it goes on there is no burst of steps to catch up.

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
        measured_factor: Simulated per real second over the last ``WINDOW``; 0 before its end.
        error: Why the physics failed and the world stands still, or None.
        on_reset: Called after a reset, in the thread that runs.
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
        self.measured_factor = 0.0
        self.error: PhysicsError | None = None
        self.on_reset: Callable[[], None] = lambda: None
        self.paused = False
        # No threading.Event: its lock might be held by the very code that a signal interrupts.
        self.stopped = False
        self._factor = real_time_factor
        self._on_step = on_step
        self._on_failure = on_failure
        self._duration_ns = None if duration is None else round(duration * NS_PER_S)
        self._calls: deque[tuple[Future[Any], Callable[[], Any]]] = deque()
        self._thread: int | None = None
        self._ended = False

    def stop(self) -> None:
        """End ``run`` before its next step. May be called from a signal handler, too."""
        self.stopped = True

    def pause(self) -> None:
        """Stand still before the next step."""
        self.paused = True

    def resume(self) -> None:
        """Go on, also after a failure: where its cause is still there, it comes again."""
        self.error = None
        self.paused = False

    def reset(self) -> None:
        """Put the world back to its start, at time zero; a failure is over, a pause is not.

        Raises:
            NotRunningError: Nobody runs the simulation.
            PhysicsError: The physics cannot be put back.
        """
        self.call(self._reset)

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
        future: Future[_T] = Future()
        self._calls.append((future, action))
        if self._ended:
            future.cancel()
        try:
            return future.result(patience)
        except (CancelledError, OutOfTime):
            if not future.cancel():  # it has just begun, or raised this itself
                return future.result()
            raise NotRunningError("the simulation does not run") from None

    def run(self) -> None:
        """Step until the duration is over, ``stop`` is called or the physics fails.

        A failure of the physics is kept in ``error``: the world stays as it was before the
        failing step.
        """
        self._thread, self._ended = threading.get_ident(), False
        try:
            self._run()
        finally:
            self._thread, self._ended = None, True
            for future, _ in list(self._calls):
                future.cancel()

    def _run(self) -> None:
        simulation = self.simulation
        step_ns = simulation.engine.settings.step_ns
        left = None if self._duration_ns is None else self._duration_ns // step_ns
        now_ns = _NEVER
        while not self.stopped:
            self._do_calls()
            if self.paused or self.error is not None:
                now_ns, self.measured_factor = _NEVER, 0.0
                time.sleep(NAP)
                continue
            if simulation.state.time_ns != now_ns:  # at the start, after a pause or a reset
                now_ns = simulation.state.time_ns
                self._origin = self._window = (time.monotonic(), now_ns)
            if (ahead := self._ahead(now_ns)) > 0.0:
                time.sleep(min(ahead, NAP))
                continue
            if left is not None:
                if left == 0:
                    return
                left -= 1
            try:
                readings = simulation.step()
            except PhysicsError as error:
                self.error = error
                if self._on_failure is None:
                    return
                self._on_failure(error)
                continue
            now_ns += step_ns
            self._on_step(now_ns, readings)
            self._measure(now_ns)

    def _reset(self) -> None:
        self.simulation.reset()
        self.error = None
        self.on_reset()

    def _do_calls(self) -> None:
        while self._calls:
            future, action = self._calls.popleft()
            if not future.set_running_or_notify_cancel():
                continue
            try:
                result = action()
            except Exception as error:  # it belongs to the caller, not to who runs
                future.set_exception(error)
            else:
                future.set_result(result)

    def _ahead(self, now_ns: int) -> float:
        """Return how long the next step has to wait, in [s]."""
        if self._factor <= 0.0:
            return 0.0
        wall = time.monotonic()
        origin, origin_ns = self._origin
        ahead = origin + (now_ns - origin_ns) / NS_PER_S / self._factor - wall
        if ahead < -MAX_LAG:
            self._origin = wall, now_ns
        return ahead

    def _measure(self, now_ns: int) -> None:
        wall = time.monotonic()
        start, start_ns = self._window
        if wall - start >= WINDOW:
            self.measured_factor = (now_ns - start_ns) / NS_PER_S / (wall - start)
            self._window = wall, now_ns


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
