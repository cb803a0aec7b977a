"""Watch the conditions of a run from step to step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ...simulation import Simulation
from ..summary import Meter
from .conditions import Condition, ExpectedCondition, When


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
        return f"{value / self.scale:.6g} {self.unit}".rstrip()


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
