"""Conditions of a run, and what becomes of them from step to step."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from math import inf

import numpy as np

from hrp_model.diagnostics import number_text
from hrp_model.late_dataclass import dataclass
from hrp_model.rigid import Array

from ...simulation import Simulation
from ..summary import Expectation, Meter

Measure = Callable[[], float | None]


@dataclass(frozen=True)
class Part:
    """A body, or one of its links.

    Attributes:
        body: Name of the body.
        link: Name of the link; None for the whole body.
    """

    body: str
    link: str | None = None

    def __str__(self) -> str:
        return self.body if self.link is None else f"{self.body}/{self.link}"


@dataclass(frozen=True)
class ContactBetween:
    """The contact between two parts.

    Attributes:
        parts: Both parts.
        forces: Whether it is measured by the force between them, in [N]; else by the number of
            contact points.
    """

    parts: tuple[Part, Part]
    forces: bool = False

    def measure(self, simulation: Simulation) -> Measure:
        """Return a function that measures it after a step; contacts must be recorded."""
        (a, i), (b, j) = (_indices(simulation, part) for part in self.parts)
        both = {(a, b), (b, a)}

        def is_part(body: str, link: int) -> bool:
            return (body == a and i in (-1, link)) or (body == b and j in (-1, link))

        def value() -> float:
            points = simulation.contacts()
            total, count = np.zeros(3), 0
            for k, pair in enumerate(points.bodies):
                if pair not in both:
                    continue
                links = points.links[k].tolist()
                if not all(is_part(*side) for side in zip(pair, links, strict=True)):
                    continue
                first = pair[0] == a and i in (-1, links[0])
                total += points.force[k] if first else -points.force[k]
                count += 1
            return float(np.linalg.norm(total)) if self.forces else float(count)

        return value


@dataclass(frozen=True)
class Distance:
    """The distance of the origin of a part from that of another, or from a point, in [m].

    Attributes:
        part: The part; a body is measured at its root link.
        to: Another part, or a point in the world, in [m].
    """

    part: Part
    to: Part | tuple[float, float, float]

    def measure(self, simulation: Simulation) -> Measure:
        """Return a function that measures it."""
        start = _origin(simulation, self.part)
        if isinstance(self.to, Part):
            end = _origin(simulation, self.to)
            return lambda: float(np.linalg.norm(start() - end()))
        point = np.array(self.to)
        return lambda: float(np.linalg.norm(start() - point))


@dataclass(frozen=True)
class Condition:
    """A comparison with a number that may hold after each step.

    Attributes:
        expectation: The comparison; its quantity is one of ``quantities`` if ``of`` is None.
        of: What else is compared.
    """

    expectation: Expectation
    of: ContactBetween | Distance | None = None

    @property
    def text(self) -> str:
        """The condition as shown to users."""
        return self.expectation.text

    def meter(self, simulation: Simulation, meters: Mapping[str, Meter]) -> Meter:
        """Return what measures it in a run.

        Args:
            simulation: Of the run.
            meters: Of its quantities, by name.

        Raises:
            KeyError: The run has no such quantity, body or link.
        """
        if self.of is None:
            return meters[self.expectation.quantity]
        return Meter(self.of.measure(simulation))

    def holds(self, value: float | None) -> bool:
        """Return whether it holds for a value of its quantity."""
        return self.expectation.evaluate(value).holds


class When(Enum):
    """At which times a condition is expected to hold."""

    AT_END = "at_end"
    ALWAYS = "always"
    ONCE = "once"
    NEVER = "never"


@dataclass(frozen=True)
class ExpectedCondition:
    """A condition that is expected.

    Attributes:
        condition: The condition.
        when: When it is expected to hold.
        start, end: Simulation time from and until which it counts, in [s].
    """

    condition: Condition
    when: When = When.AT_END
    start: float = 0.0
    end: float = inf

    @property
    def text(self) -> str:
        """The expectation as shown to users."""
        name = "" if self.when is When.AT_END else f"{self.when.value} "
        return f"{name}{self.condition.text}"


def _indices(simulation: Simulation, part: Part) -> tuple[str, int]:
    """Return the body and the index of the link, -1 for any."""
    body = simulation.bodies[part.body].body
    return part.body, -1 if part.link is None else body.link_index(part.link)


def _origin(simulation: Simulation, part: Part) -> Callable[[], Array]:
    index = max(_indices(simulation, part)[1], 0)
    simulated = simulation.bodies[part.body]
    return lambda: simulated.motion.p[index]


@dataclass(frozen=True)
class ConditionOutcome:
    """What became of a condition in a run.

    Attributes:
        text: The condition as shown to users.
        met: Whether the run was as expected; of a stop condition, whether it held.
        when: When it was expected to hold; ONCE for stop conditions.
        first: When it was decided, in [s]: when it first held, or of ALWAYS first did not hold.
            None if that never happened, and for AT_END.
        value: At that time, in the unit of the quantity, or else at the end; None if it was not
            measured.
        extreme: The worst value in the whole time for ALWAYS and NEVER, the best one for ONCE.
            None for AT_END, if there is no order, or if it was not measured.
        unit: Unit in which the user wrote the bound.
        scale: Factor from that unit to the unit of the quantity.
    """

    text: str
    met: bool
    when: When
    first: float | None
    value: float | None
    extreme: float | None
    unit: str = ""
    scale: float = 1.0

    def __str__(self) -> str:
        if self.value is None:
            return f"expected {self.text}, but it was not measured"
        verb = "and" if self.met else "but"
        time = "at the end" if self.first is None else f"at {self.first:.6g} s"
        text = f"expected {self.text}, {verb} it is {self._shown(self.value)} {time}"
        if self.extreme is None or self.extreme == self.value:
            return text
        kind = "at best" if self.when is When.ONCE else "at worst"
        return f"{text}, {kind} {self._shown(self.extreme)}"

    def _shown(self, value: float) -> str:
        return f"{number_text(value / self.scale, 6)} {self.unit}".rstrip()


class Watch:
    """Watches a condition.

    Args:
        condition: The condition.
        simulation: The run.
        meters: Of its quantities, by name.

    Attributes:
        condition: The condition.
        sensor: Name of the sensor that must be read for it, or None.
        holds: Whether it holds now.
    """

    def __init__(
        self, condition: Condition, simulation: Simulation, meters: Mapping[str, Meter]
    ) -> None:
        meter = condition.meter(simulation, meters)
        self.condition, self.sensor = condition, meter.sensor
        self.holds = False
        self._measure = meter.value
        self._value: float | None = None
        self._first: dict[bool, tuple[float, float | None]] = {}  # by whether it held
        self._lowest: float | None = None
        self._highest: float | None = None

    def update(self, time: float) -> bool:
        """Measure the present state; return whether the condition holds.

        Args:
            time: Simulation time, in [s].
        """
        self._value = value = self._measure()
        self.holds = holds = self.condition.holds(value)
        if holds not in self._first:
            self._first[holds] = time, value
        if value is not None:
            if self._lowest is None or value < self._lowest:
                self._lowest = value
            if self._highest is None or value > self._highest:
                self._highest = value
        return holds

    def outcome(self, when: When, text: str) -> ConditionOutcome:
        """Return what became of it so far.

        Args:
            when: When it is expected to hold.
            text: As shown to users.
        """
        decisive = {When.ALWAYS: False, When.NEVER: True, When.ONCE: True}.get(when)
        first = None if decisive is None else self._first.get(decisive)
        if when is When.AT_END:
            met = self.holds
        elif when is When.ONCE:
            met = first is not None
        else:
            met = first is None and self._value is not None  # not if it was never measured
        expectation = self.condition.expectation
        return ConditionOutcome(
            text,
            met,
            when,
            None if first is None else first[0],
            self._value if first is None else first[1],
            self._extreme(when),
            expectation.unit,
            expectation.scale,
        )

    def _extreme(self, when: When) -> float | None:
        sign = self.condition.expectation.comparison[0]
        if when is When.AT_END or sign not in "<>":
            return None
        return self._highest if (sign == "<") is (when is When.ALWAYS) else self._lowest


class ExpectationWatch:
    """Watches an expected condition in its span of time.

    Args:
        expected: What is expected.
        simulation: The run.
        meters: Of its quantities, by name.
    """

    def __init__(
        self, expected: ExpectedCondition, simulation: Simulation, meters: Mapping[str, Meter]
    ) -> None:
        self._expected = expected
        self._watch = Watch(expected.condition, simulation, meters)

    @property
    def sensor(self) -> str | None:
        """Name of the sensor that must be read for it, or None."""
        return self._watch.sensor

    def update(self, time: float) -> None:
        """Measure the present state, if it counts.

        Args:
            time: Simulation time, in [s].
        """
        expected = self._expected
        if expected.when is not When.AT_END and expected.start <= time <= expected.end:
            self._watch.update(time)

    @property
    def outcome(self) -> ConditionOutcome:
        """What became of it so far."""
        if self._expected.when is When.AT_END:
            self._watch.update(0.0)  # the time does not matter
        return self._watch.outcome(self._expected.when, self._expected.text)
