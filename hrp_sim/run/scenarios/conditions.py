"""Conditions of a run, which are compared with the world after each step."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from math import inf

import numpy as np

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
        expectation = self.expectation
        return value is not None and expectation.evaluate({expectation.quantity: value}).holds


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
