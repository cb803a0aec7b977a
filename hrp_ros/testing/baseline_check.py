"""Compare a run with its baseline file, name the first difference, or write the file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

import numpy as np

from hrp_model import Body
from hrp_model.diagnostics import counted
from hrp_sim import Simulation
from hrp_sim.engine.schedule import NS_PER_S

from .baseline import (
    QUANTITIES,
    Baseline,
    BaselineError,
    BaselineRecorder,
    Layout,
    Sample,
    part_text,
    read_baseline,
    rounded,
    unit_of,
    write_baseline,
)
from .stage import Problem

_MAX_SHOWN = 3  # differences


@dataclass(frozen=True)
class Divergence:
    """The first difference of a run from its baseline.

    Attributes:
        step: Number of the first step after which they differ; 0 if the initial states do.
        text: What differs, as lines.
    """

    step: int
    text: str


@dataclass(frozen=True)
class _Difference:
    """Numbers of a link or joint that differ; ``share`` in tolerances."""

    share: float
    body: str
    quantity: str
    index: int
    expected: tuple[float, ...]
    got: tuple[float, ...]

    def text(self, layout: Layout, body: Body) -> str:
        name = layout.names(self.quantity)[self.index]
        unit = unit_of(body, self.quantity, name)
        most = max(abs(a - b) for a, b in zip(self.expected, self.got, strict=True))
        return (
            f"{part_text(body, self.quantity, name)} of '{self.body}', "
            f"{QUANTITIES[self.quantity].label}: expected {_number(self.expected, unit)}, "
            f"got {_number(self.got, unit)}, a difference of {_number((most,), unit, 3)}"
        )


def find_divergence(
    expected: Baseline, got: Baseline, bodies: Mapping[str, Body], tolerance: float = 1.0
) -> Divergence | None:
    """Return the first difference of a run from its baseline, or None.

    Runs of machines with equal fingerprints must be equal to the last bit. Of others, sampled
    numbers must be equal within tolerances.

    Args:
        expected: The baseline.
        got: The run, sampled at the same steps.
        bodies: Models by the names of the bodies at the start.
        tolerance: Factor of all tolerances.
    """
    if (other := _other_world(expected, got)) is not None:
        return Divergence(0, other)
    if expected.fingerprint == got.fingerprint:
        found = _first_bits(expected, got, bodies)
    else:
        found = _first_beyond(expected, got, bodies, tolerance)
    if found is None and expected.steps != got.steps:
        step = min(expected.steps, got.steps)
        text = f"the run has {counted(got.steps, 'step')}, the baseline {expected.steps}"
        return Divergence(step, f"{text}; they are equal until {_time(got, step)}")
    return found


def _other_world(expected: Baseline, got: Baseline) -> str | None:
    """Return why two runs cannot be compared, or None."""
    if expected.sampled.step_ns != got.sampled.step_ns:
        steps = (baseline.sampled.step_ns / NS_PER_S for baseline in (got, expected))
        return "the time step is {:g} s, that of the baseline {:g} s".format(*steps)
    if expected.sampled != got.sampled:
        return "the baseline was made for another duration, and has samples of other steps"
    for name in expected.layouts.keys() ^ got.layouts.keys():
        whose = "the baseline" if name in got.layouts else "this world"
        return f"{whose} has no moving body '{name}'"
    for name, layout in expected.layouts.items():
        if (other := got.layouts[name]) == layout:
            continue
        if layout.root != other.root:
            return (
                f"the root of '{name}' is {_root(other.root)}, in the baseline {_root(layout.root)}"
            )
        for kind in ("joints", "links"):
            for a, b in zip_longest(getattr(layout, kind), getattr(other, kind)):
                if a != b:
                    of = f"{kind[:-1]} of '{name}'"
                    return f"a {of} is {_named(b)}, where the baseline has {_named(a)}"
    return None


def _root(name: str) -> str:
    return f"the free link '{name}'" if name else "fixed"


def _named(name: str | None) -> str:
    return "missing" if name is None else f"'{name}'"


def _first_bits(expected: Baseline, got: Baseline, bodies: Mapping[str, Body]) -> Divergence | None:
    """Return the first difference of two runs on equal machines."""
    every = expected.sampled.hash_every
    pairs = enumerate(zip(expected.hashes, got.hashes, strict=False), start=1)
    step = next((k * every for k, (a, b) in pairs if a != b), None)
    if step is None and expected.steps == got.steps and expected.state != got.state:
        step = got.steps
    sampled = _differing_sample(expected, got, threshold=0.0)
    if step is None and sampled is None:
        return None
    first = min(s for s in (step, sampled) if s is not None)
    return Divergence(first, _text(expected, got, bodies, first, sampled, 0.0))


def _first_beyond(
    expected: Baseline, got: Baseline, bodies: Mapping[str, Body], tolerance: float
) -> Divergence | None:
    """Return the first difference beyond the tolerance."""
    sampled = _differing_sample(expected, got, threshold=tolerance)
    if sampled is None:
        return None
    text = _text(expected, got, bodies, sampled, sampled, tolerance)
    machines = (
        "the baseline is of another machine, so that sampled numbers were compared within "
        f"tolerances; it was made by {expected.fingerprint}; this is {got.fingerprint}"
    )
    return Divergence(sampled, f"{text}\n{machines}")


def _differing_sample(expected: Baseline, got: Baseline, threshold: float) -> int | None:
    """Return the first sampled step with a difference above a threshold, in tolerances."""
    both = sorted(expected.samples.keys() & got.samples.keys())
    for step in both:
        before, now = expected.samples[step], got.samples[step]
        if before.keys() != now.keys() or _differences(before, now, threshold):
            return step
    return None


def _differences(expected: Sample, got: Sample, threshold: float) -> list[_Difference]:
    """Return the differences of two samples above a threshold in tolerances, largest first."""
    return sorted(_all_differences(expected, got, threshold), key=lambda d: -d.share)


def _all_differences(expected: Sample, got: Sample, threshold: float) -> Iterator[_Difference]:
    for body, values in expected.items():
        if body not in got:  # has been removed
            continue
        for quantity, before in values.items():
            now = rounded(got[body][quantity])
            shares = QUANTITIES[quantity].tolerance.shares(np.abs(now - before), before).max(axis=1)
            for k in np.flatnonzero(shares > threshold).tolist():
                yield _Difference(
                    float(shares[k]),
                    body,
                    quantity,
                    k,
                    tuple(before[k].tolist()),
                    tuple(now[k].tolist()),
                )


def _text(
    expected: Baseline,
    got: Baseline,
    bodies: Mapping[str, Body],
    first: int,
    sampled: int | None,
    threshold: float,
) -> str:
    """Return the first difference as text.

    Args:
        expected: The baseline.
        got: The run.
        bodies: Models by the names of the bodies at the start.
        first: The first step after which they differ.
        sampled: The first sampled step that differs, or None.
        threshold: In tolerances.
    """
    lines = [f"the first difference is at {_time(got, first)}"]
    if sampled is None:
        return f"{lines[0]}; no sampled number differs in its first 12 digits"
    before, now = expected.samples[sampled], got.samples[sampled]
    found = _differences(before, now, threshold)
    at = "there" if sampled == first else f"at the next sampled step, {_time(got, sampled)}"
    lines.append(f"the largest differences {at}:")
    for name in sorted(before.keys() ^ now.keys()):
        where = ("the run", "the baseline")[:: 1 if name in before else -1]
        lines.append("  body '{}' has been removed in {}, but not in {}".format(name, *where))
    lines += [f"  {d.text(got.layouts[d.body], bodies[d.body])}" for d in found[:_MAX_SHOWN]]
    if len(found) > _MAX_SHOWN:
        lines.append(f"  and {len(found) - _MAX_SHOWN} more")
    return "\n".join(lines)


def _time(baseline: Baseline, step: int) -> str:
    return f"step {step} ({step * baseline.sampled.step_ns / NS_PER_S:.9g} s)"


def _number(values: tuple[float, ...], unit: str, digits: int = 12) -> str:
    text = ", ".join(f"{value:.{digits}g}" for value in values)
    return f"{text if len(values) == 1 else f'({text})'} {unit}".rstrip()


@dataclass(frozen=True, kw_only=True)
class BaselineSettings:
    """How runs are compared with their baselines.

    Attributes:
        update: Whether baselines are written where they are missing or differ.
        tolerance: Factor of the tolerances between different machines.
        command: Command that writes the baselines of this test, for messages.
    """

    update: bool = False
    tolerance: float = 1.0
    command: str


class BaselineCheck:
    """Compares a run with a baseline.

    Args:
        path: File of the baseline, which may be missing.
        settings: How it is compared.
        simulation: Before its first step.
        duration: Of the run at most, in [s].

    Attributes:
        recorder: To be a consumer of the run.
        written: Whether ``finish`` has written the file.
    """

    def __init__(
        self,
        path: Path,
        settings: BaselineSettings,
        simulation: Simulation,
        duration: float,
    ) -> None:
        self._path, self._settings = path, settings
        # Bodies may be removed later.
        self._bodies = {name: simulated.body for name, simulated in simulation.bodies.items()}
        self._stored: Baseline | None = None
        self._unusable = ""
        self.written = False
        try:
            self._stored = read_baseline(path)
        except FileNotFoundError:
            self._unusable = f"the baseline '{path}' is missing; make it with: {settings.command}"
        except BaselineError as error:
            self._unusable = f"{error}; make it again with: {settings.command}"
        except OSError as error:
            self._unusable = f"cannot read the baseline '{path}': {error.strerror or error}"
        steps = round(duration * NS_PER_S) // simulation.engine.settings.step_ns
        # What may be written is sampled as its duration needs.
        stored = None if settings.update else self._stored
        sampled = None if stored is None else stored.sampled
        self.recorder = BaselineRecorder(simulation, steps, sampled)

    def finish(self, *, passed: bool) -> list[Problem]:
        """Compare the run that has ended, or write its baseline; return the problems.

        Args:
            passed: Whether it has passed otherwise; else its baseline is not written.
        """
        got = self.recorder.finish()
        problem = self._compare(got)
        if problem is None:
            return []
        if not self._settings.update:
            return [problem]
        if not passed:
            reason = "is not written, since the scenario does not pass"
            return [self._at_end(got, f"the baseline '{self._path}' {reason}")]
        try:
            write_baseline(self._path, got)
        except BaselineError as refusal:
            return [self._at_end(got, str(refusal))]
        except OSError as error:
            reason = error.strerror or str(error)
            return [self._at_end(got, f"cannot write the baseline '{self._path}': {reason}")]
        self.written = True
        return []

    def _compare(self, got: Baseline) -> Problem | None:
        if self._stored is None:
            return self._at_end(got, self._unusable)
        divergence = find_divergence(self._stored, got, self._bodies, self._settings.tolerance)
        if divergence is None:
            return None
        text = (
            f"the run differs from its baseline '{self._path}':\n{divergence.text}\n"
            f"if this is intended, store it with: {self._settings.command}"
        )
        return Problem(divergence.step * got.sampled.step_ns / NS_PER_S, text)

    @staticmethod
    def _at_end(run: Baseline, text: str) -> Problem:
        return Problem(run.steps * run.sampled.step_ns / NS_PER_S, text)
