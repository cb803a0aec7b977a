"""Run a scenario: events at their times, conditions after each step."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ...engine.engine import PhysicsError
from ...engine.schedule import NS_PER_S
from ...sensors import Reading
from ...simulation import Simulation
from ..summary import Meter, RunRecorder, meters
from .conditions import When
from .scenario import CommandEvent, Course, Event, PushEvent
from .watch import ConditionOutcome, ExpectationWatch, Watch

_SOURCE = "scenario"


@dataclass(frozen=True, kw_only=True)
class CourseOutcome:
    """What became of a run.

    Attributes:
        time: Simulation time at its end, in [s].
        stopped_by: The stop condition that ended it; None if none did.
        expectations: What became of the expectations, in their order.
        error: Why the physics or a controller failed; "" if none did.
    """

    time: float
    stopped_by: ConditionOutcome | None
    expectations: tuple[ConditionOutcome, ...]
    error: str = ""

    @property
    def passed(self) -> bool:
        """Whether nothing failed and all expectations are met."""
        return not self.error and all(outcome.met for outcome in self.expectations)


class CourseRun:
    """The course of a run, for programs that step the simulation themselves.

    Call ``before_step``, step, and call ``after_step``, until ``is_over``; then ``close``.

    Args:
        simulation: In the initial state, at the time at which the course begins.
        course: What happens.

    Attributes:
        recorder: Of the run.
        meters: Of the quantities of the run, by name.
        is_over: Whether the run has reached its end, or a stop condition holds.

    Raises:
        KeyError: A condition refers to a body, link or quantity that the simulation lacks.
    """

    def __init__(self, simulation: Simulation, course: Course) -> None:
        self._simulation = simulation
        self._start_ns = simulation.state.time_ns
        step_ns = simulation.engine.settings.step_ns
        self._end_ns = round(course.duration * NS_PER_S) // step_ns * step_ns
        self._events = sorted(course.events, key=lambda event: event.time)
        self.recorder = RunRecorder(simulation)
        self.meters: Mapping[str, Meter] = meters(self.recorder)
        try:
            self._stops = [Watch(c, simulation, self.meters) for c in course.stop]
            self._expectations = [
                ExpectationWatch(e, simulation, self.meters) for e in course.expectations
            ]
        except BaseException:
            self.close()
            raise
        self._stopped: Watch | None = None
        self.is_over = self._end_ns == 0

    @property
    def time(self) -> float:
        """Time since the beginning of the course, in [s]."""
        return (self._simulation.state.time_ns - self._start_ns) / NS_PER_S

    @property
    def sensors(self) -> frozenset[str]:
        """Names of the sensors that must be read for the conditions."""
        of_stops = {watch.sensor for watch in self._stops}
        of_expectations = {watch.sensor for watch in self._expectations}
        return frozenset(name for name in of_stops | of_expectations if name is not None)

    def before_step(self) -> None:
        """Let events that are due take effect in the next step."""
        now_ns = self._simulation.state.time_ns - self._start_ns
        while self._events and round(self._events[0].time * NS_PER_S) <= now_ns:
            _start(self._simulation, self._events.pop(0))

    def after_step(self, readings: Mapping[str, Reading]) -> None:
        """Compare the conditions with the new state.

        Args:
            readings: Of the step.
        """
        simulation, time_ns = self._simulation, self._simulation.state.time_ns
        self.recorder.step(simulation, time_ns, readings)
        time = self.time
        for expectation in self._expectations:
            expectation.update(time)
        for stop in self._stops:
            if stop.update(time) and self._stopped is None:
                self._stopped, self.is_over = stop, True
        self.is_over = self.is_over or time_ns - self._start_ns >= self._end_ns

    def outcome(self, error: str = "") -> CourseOutcome:
        """Return what became of the run so far.

        Args:
            error: Why the physics failed, or "".
        """
        by, failures = self._stopped, self._simulation.controllers.failures
        return CourseOutcome(
            time=self.time,
            stopped_by=None if by is None else by.outcome(When.ONCE, by.condition.text),
            expectations=tuple(expectation.outcome for expectation in self._expectations),
            error="; ".join([*([error] if error else []), *failures]),
        )

    def close(self) -> None:
        """Stop recording contacts (idempotent)."""
        self._simulation.record_contacts(self.recorder, on=False)


def run_scenario(
    simulation: Simulation,
    course: Course,
    on_step: Callable[[CourseRun], None] | None = None,
    on_start: Callable[[CourseRun], None] | None = None,
) -> CourseOutcome:
    """Run a scenario to its end.

    Args:
        simulation: Of the scenario's world, in its initial state. Sensors that its ``wanted`` does
            not ask for are not read, unless the conditions need them.
        course: The scenario's course.
        on_step: Called after each step.
        on_start: Called before the first step.

    Raises:
        KeyError: A condition refers to a body, link or quantity that the simulation lacks.
    """
    run = CourseRun(simulation, course)
    before, needed = simulation.wanted, run.sensors
    try:
        if on_start is not None:
            on_start(run)
        wanted = simulation.wanted
        simulation.wanted = lambda name: name in needed or wanted(name)
        while not run.is_over:
            run.before_step()
            run.after_step(simulation.advance(1))
            if on_step is not None:
                on_step(run)
        return run.outcome()
    except PhysicsError as error:
        return run.outcome(str(error))
    finally:
        simulation.wanted = before
        run.close()


def _start(simulation: Simulation, event: Event) -> None:
    if isinstance(event, PushEvent):
        simulation.push(
            event.body,
            event.link,
            event.force,
            event.torque,
            event.duration,
            event.point,
            local=event.local,
        )
    elif isinstance(event, CommandEvent):
        simulation.command(
            event.body,
            event.positions or None,
            _SOURCE,
            velocity=event.velocities or None,
            effort=event.efforts or None,
        )
    else:
        simulation.set_enabled(event.device, event.on)
