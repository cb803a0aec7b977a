"""What a study keeps of each run: quantities at the end, extreme values, values over time."""

from __future__ import annotations

from collections.abc import Mapping as AbstractMapping
from enum import Enum
from math import floor, inf, nan

import numpy as np

from hrp_model.diagnostics import did_you_mean_or_all
from hrp_model.late_dataclass import dataclass
from hrp_model.readers.yaml.nodes import Mapping, Node, Scalar
from hrp_model.rigid import Array

from ...run.run import Consumer, Run
from ...run.scenarios import CourseRun
from ...sensors import Reading
from ...simulation import Simulation

MAX_SAMPLES = 100_000  # of a series
_WRITTEN = "give a quantity, or a mapping with one of 'end', 'max', 'min' and 'series'"


class MetricKind(Enum):
    """Which values of a quantity are kept."""

    END = "end"
    MAX = "max"
    MIN = "min"
    SERIES = "series"


@dataclass(frozen=True)
class Metric:
    """A quantity that is kept of each run.

    Attributes:
        quantity: Its name.
        kind: Which of its values.
        unit: Of the quantity; "" if it has none.
        rate: Of a series, in [Hz].
        samples: Of a series, their number.
    """

    quantity: str
    kind: MetricKind = MetricKind.END
    unit: str = ""
    rate: float = 0.0
    samples: int = 1

    @property
    def name(self) -> str:
        """Name of its column."""
        return (
            self.quantity if self.kind is MetricKind.END else f"{self.kind.value} {self.quantity}"
        )


def read_metrics(root: Mapping, known: AbstractMapping[str, str], duration: float) -> list[Metric]:
    """Read what is kept: the key ``keep``; problems are reported.

    Args:
        root: The study.
        known: Units of all quantities, by name.
        duration: The longest one of all cases, in [s].
    """
    written = root.sequence("keep")
    found: dict[str, Metric] = {}
    for item in written.items if written else ():
        metric = _metric(item, known, duration, root)
        if metric is None:
            continue
        if metric.name in found:
            root.diagnostics.error("bad-study", f"'{metric.name}' is kept already", item.span)
        found[metric.name] = metric
    return list(found.values())


def _metric(
    node: Node, known: AbstractMapping[str, str], duration: float, root: Mapping
) -> Metric | None:
    if isinstance(node, Scalar):
        kind, name, place, rate = MetricKind.END, node.text, node.span, 0.0
    else:
        given = [kind for kind in MetricKind if isinstance(node, Mapping) and kind.value in node]
        if not isinstance(node, Mapping) or len(given) != 1:
            root.diagnostics.error("bad-study", _WRITTEN, node.span)
            return None
        [kind] = given
        name, place = node.text(kind.value, default=""), node.at(kind.value)
        rate = node.number("rate", default=0.0) if kind is MetricKind.SERIES else 0.0
        if kind is MetricKind.SERIES and not 0.0 < rate * duration <= MAX_SAMPLES:
            message = (
                f"a series needs 'rate' in [Hz], for 1 to {MAX_SAMPLES} samples in {duration:g} s"
            )
            root.diagnostics.error("out-of-range", message, node.at("rate"))
            node.finish()  # names a misspelt key
            return None
        node.finish()
    if name not in known:
        message = f"this world has no quantity '{name}'.{did_you_mean_or_all(name, known)}"
        root.diagnostics.error("unknown-quantity", message, place)
        return None
    samples = floor(rate * duration * (1 + 1e-12)) + 1 if kind is MetricKind.SERIES else 1
    return Metric(name, kind, known[name], rate, samples)


class MetricRecorder(Consumer):
    """Consumer of a run that keeps a quantity.

    Args:
        metric: What is kept.
        run: The course of the run, before its first step.

    Raises:
        KeyError: The run has no such quantity.
    """

    def __init__(self, metric: Metric, run: CourseRun) -> None:
        self._metric, self._run = metric, run
        meter = run.meters.get(metric.quantity)
        if meter is None:  # of a world that varies
            raise KeyError(f"the world of this case has no quantity '{metric.quantity}'")
        self._sensor = meter.sensor
        self._measure = meter.value
        self._best = -inf if metric.kind is MetricKind.MAX else inf
        self._series = np.full(metric.samples, nan) if metric.kind is MetricKind.SERIES else None
        self._next = 0

    def attach(self, run: Run) -> None:  # noqa: ARG002
        """Measure the state before the first step."""
        self._update()

    def wants(self, simulation: Simulation, sensor: str) -> bool:  # noqa: ARG002
        """Return whether the quantity is one of a sensor."""
        return sensor == self._sensor

    def take_step(self, time_ns: int, readings: AbstractMapping[str, Reading]) -> None:  # noqa: ARG002
        """Measure the state after a step."""
        self._update()

    def _update(self) -> None:
        time = self._run.time
        if self._series is not None:
            due = floor(time * self._metric.rate + 1e-6)  # of rounded times
            if due >= self._next:
                self._series[self._next : due + 1] = self._value()
                self._next = due + 1
        elif self._metric.kind is MetricKind.MAX:
            self._best = np.fmax(self._best, self._value())
        elif self._metric.kind is MetricKind.MIN:
            self._best = np.fmin(self._best, self._value())

    def result(self) -> float | Array:
        """Return what is kept; nan where nothing was measured, as after the end of a run."""
        if self._series is not None:
            return self._series
        if self._metric.kind is MetricKind.END:
            return self._value()
        return float(self._best) if np.isfinite(self._best) else nan

    def _value(self) -> float:
        value = self._measure()
        return nan if value is None else value
