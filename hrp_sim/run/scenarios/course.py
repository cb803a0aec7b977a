"""Scenarios: a world, what happens in a run of it, and what becomes of that."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from contextlib import closing
from dataclasses import field
from typing import TypeAlias

import numpy as np

from hrp_model import Body, Diagnostics
from hrp_model.diagnostics import Span, did_you_mean_or_all
from hrp_model.late_dataclass import dataclass
from hrp_model.rigid import Array

from ...engine.engine import PhysicsError
from ...engine.schedule import NEVER_NS, NS_PER_S
from ...sensors import CameraSensor, Reading
from ...simulation import Simulation
from ...world.config import WorldConfig
from ..run import Consumer, Run
from ..summary import Meter, RunRecorder, meters, quantities
from .conditions import (
    Condition,
    ConditionOutcome,
    ExpectationWatch,
    ExpectedCondition,
    Watch,
    When,
)


@dataclass(frozen=True)
class Names:
    """What a scenario may refer to.

    Attributes:
        bodies: The models by the names of their bodies.
        quantities: Units by the names of quantities.
        devices: Names of sensors, lights, holders and conveyors.
    """

    bodies: Mapping[str, Body]
    quantities: Mapping[str, str]
    devices: Collection[str]

    @classmethod
    def of(cls, simulation: Simulation) -> Names:
        """Return the names of a simulation."""
        bodies = {name: simulated.body for name, simulated in simulation.bodies.items()}
        return cls(bodies, quantities(simulation), list(simulation.devices))

    @classmethod
    def of_world(cls, world: WorldConfig, diagnostics: Diagnostics) -> Names | None:
        """Return the names of a world, which is simulated for no step; None after an error.

        Args:
            world: The world; its controllers are not executed.
            diagnostics: Receives the error, but no warnings.
        """
        quiet = Diagnostics.silent()
        try:
            with Simulation(world, run_controllers=False, diagnostics=quiet) as simulation:
                return cls.of(simulation)
        except PhysicsError as error:
            diagnostics.error("unusable-physics", str(error))
            return None

    def check_body(self, body: str, at: Span, diagnostics: Diagnostics) -> bool:
        """Return whether there is a body of this name; if not, report it at its place."""
        if body not in self.bodies:
            message = f"the world has no body '{body}'.{did_you_mean_or_all(body, self.bodies)}"
            diagnostics.error("unknown-body", message, at)
        return body in self.bodies

    def check_link(self, body: str, link: str, at: Span, diagnostics: Diagnostics) -> bool:
        """Return whether a body has a link of this name; if not, report it at its place."""
        links = [known.name for known in self.bodies[body].links]
        if link not in links:
            message = f"body '{body}' has no link '{link}'.{did_you_mean_or_all(link, links)}"
            diagnostics.error("unknown-link", message, at)
        return link in links


@dataclass(frozen=True, eq=False, kw_only=True)
class PushEvent:
    """A force and a torque on a link for a limited time.

    Attributes:
        time: When it begins, in [s].
        body, link: Names of the body and its link.
        force: In [N], shape (3,).
        torque: In [N m], shape (3,).
        duration: In [s].
        point: Point of application in the link's frame, in [m], shape (3,).
        local: Whether force and torque are expressed in the link's frame; else in W.
    """

    time: float
    body: str
    link: str
    force: Array
    torque: Array = field(default_factory=lambda: np.zeros(3))
    duration: float
    point: Array = field(default_factory=lambda: np.zeros(3))
    local: bool = False


@dataclass(frozen=True, kw_only=True)
class CommandEvent:
    """A command to the joints of a body.

    Attributes:
        time: In [s].
        body: Name of the body.
        positions: By joint name, in [rad] or [m].
        velocities: By joint name, in [rad/s] or [m/s].
        efforts: By joint name, in [N m] or [N].
    """

    time: float
    body: str
    positions: Mapping[str, float] = field(default_factory=dict)
    velocities: Mapping[str, float] = field(default_factory=dict)
    efforts: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class SwitchEvent:
    """A sensor, light, holder or conveyor that is switched on or off.

    Attributes:
        time: In [s].
        device: Its name, one of ``Simulation.devices``.
        on: Whether it is on from then on.
    """

    time: float
    device: str
    on: bool


Event: TypeAlias = PushEvent | CommandEvent | SwitchEvent


@dataclass(frozen=True, kw_only=True)
class Course:
    """What happens in a run.

    Attributes:
        duration: In [s].
        events: By their time; each takes effect in the first step that begins at or after it.
        stop: Conditions of which each ends the run as soon as it holds.
        expectations: Conditions on which the success of the run depends.
    """

    duration: float
    events: tuple[Event, ...] = ()
    stop: tuple[Condition, ...] = ()
    expectations: tuple[ExpectedCondition, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """A world and what happens in it.

    Attributes:
        world: With its controllers, and with the changes that the scenario makes.
        course: What happens.
        names: To which the course may refer.
    """

    world: WorldConfig
    course: Course
    names: Names


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
