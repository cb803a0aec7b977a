"""Run a scenario: events at their times, conditions after each step."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass

from ...engine.schedule import NEVER_NS, NS_PER_S
from ...sensors import CameraSensor, Reading
from ...simulation import Simulation
from ..run import Consumer, Run
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


class CourseRun(Consumer):
    """The course of a run, as a consumer of the run, which it stops at the end.

    Args:
        simulation: In the initial state, at the time at which the course begins.
        course: What happens.
        reads_all: Whether all sensors but cameras are read, not only those of conditions.

    Attributes:
        recorder: Of the run.
        meters: Of the quantities of the run, by name.

    Raises:
        KeyError: A condition refers to a body, link or quantity that the simulation lacks.
    """

    def __init__(self, simulation: Simulation, course: Course, *, reads_all: bool = False) -> None:
        self._simulation, self._wanted_before = simulation, simulation.wanted
        self._reads_all = reads_all
        self._run: Run | None = None
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

    @property
    def time(self) -> float:
        """Time since the beginning of the course, in [s]."""
        return (self._simulation.state.time_ns - self._start_ns) / NS_PER_S

    def attach(self, run: Run) -> None:
        """Follow a run, which ends at once if the course has no step."""
        self._run, self._needed = run, self._sensors()
        self.recorder.attach(run)
        if self._end_ns == 0:
            run.stop()

    def wants(self, simulation: Simulation, sensor: str) -> bool:
        """Return whether a sensor should be read."""
        if sensor in self._needed:
            return True
        return self._reads_all and not isinstance(simulation.sensors[sensor], CameraSensor)

    def next_ns(self, simulation: Simulation) -> int:  # noqa: ARG002
        """Return 0, as conditions are compared after each step."""
        return 0

    def before_step(self) -> None:
        """Let events that are due take effect in the next step."""
        now_ns = self._simulation.state.time_ns - self._start_ns
        while self._events and round(self._events[0].time * NS_PER_S) <= now_ns:
            _start(self._simulation, self._events.pop(0))

    def take_step(self, time_ns: int, readings: Mapping[str, Reading]) -> None:
        """Compare the conditions with the new state, and end the run if it is over."""
        self.recorder.take_step(time_ns, readings)
        time = self.time
        for expectation in self._expectations:
            expectation.update(time)
        for stop in self._stops:
            if stop.update(time) and self._stopped is None:
                self._stopped = stop
        if self._stopped is not None or time_ns - self._start_ns >= self._end_ns:
            assert self._run is not None
            self._run.stop()

    def run(self, consumers: Iterable[Consumer] = ()) -> CourseOutcome:
        """Run to the end of the course, as fast as possible; return what became of it.

        Args:
            consumers: Further ones of the run.
        """
        with Run(self._simulation, [self, *consumers]) as run:
            run.until(NEVER_NS)
        return self.outcome("" if run.error is None else str(run.error))

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
        """Stop recording contacts, and let the simulation read as before (idempotent)."""
        self._simulation.record_contacts(self.recorder, on=False)
        self._simulation.wanted = self._wanted_before

    def _sensors(self) -> frozenset[str]:
        """Return the names of the sensors that must be read for the conditions."""
        watches: list[Watch | ExpectationWatch] = [*self._stops, *self._expectations]
        return frozenset(watch.sensor for watch in watches if watch.sensor is not None)


def run_scenario(simulation: Simulation, course: Course) -> CourseOutcome:
    """Run a scenario to its end, in which only the sensors are read that conditions need.

    Args:
        simulation: Of the scenario's world, in its initial state.
        course: The scenario's course.

    Raises:
        KeyError: A condition refers to a body, link or quantity that the simulation lacks.
    """
    with closing(CourseRun(simulation, course)) as run:
        return run.run()


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
