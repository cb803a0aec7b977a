"""Measure the speed of a world, where its time goes and what makes it faster; text and JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from time import perf_counter
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table

from hrp_model import Diagnostic, Diagnostics
from hrp_model.geometry import Cone, Mesh
from hrp_model.late_dataclass import dataclass
from hrp_model.printable import printable

from ...engine.engine import PhysicsSettings, Solver
from ...sensors.kinds import KINDS, kind_of
from ...world.config import WorldConfig
from .runs import PairRun, PairTime, PlainRun, ProfiledRun

SLICES = 20  # of a run, in which the variants of the world take turns
MIN_TIME = 5.0  # wall time below which runs are repeated, in [s]
_USUAL_CONTACTS = PhysicsSettings().max_contacts
_MAX_TIME_STEP = 0.005  # [s], up to which twice the step is tried
_MIN_ITERATIONS = 20  # above which half as many are tried
_COSTLY = 0.1  # share of the time from which less frequent readings are suggested


@dataclass(frozen=True, slots=True)
class SensorTime:
    """Time of the sensors of one kind.

    Attributes:
        kind: Name of the kind.
        count: Number of sensors of this kind that were read.
        rate: Readings of all of them per simulated second.
        time_per_reading: Mean time of a reading, in [s].
        time_per_step: Mean time per step, in [s].
    """

    kind: str
    count: int
    rate: float
    time_per_reading: float
    time_per_step: float


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A setting that was tried.

    Attributes:
        setting: The setting, as in a world file or on the command line.
        effect: Its effect on the simulation.
        real_time_factor: The real-time factor with it; None if it cannot be used.
        error: Why it cannot be used, or None.
    """

    setting: str
    effect: str
    real_time_factor: float | None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class BenchResult:
    """Speed of a world. Times are CPU times of the process per step, in [s].

    Attributes:
        time_step: Simulated time of a step, in [s].
        steps: Number of steps measured.
        physics: Time of the engine.
        contacts: The part of it that contacts take; None if it could not be measured.
        contact_points: Mean number of contact points.
        control: Time of commands, controllers and the schedule of the sensors, in Python.
        sensors: Time of the sensors by kind, the most expensive first.
        suggestions: Settings that were tried, the fastest first.
        pairs: Cost of pairs of links, the most expensive first.
        advice: What to do about costly meshes.
    """

    time_step: float
    steps: int
    physics: float
    contacts: float | None
    contact_points: float
    control: float
    sensors: tuple[SensorTime, ...]
    suggestions: tuple[Suggestion, ...]
    pairs: tuple[PairTime, ...] = ()
    advice: tuple[Diagnostic, ...] = ()

    @property
    def without_sensors(self) -> float:
        """Time of a step in which no sensor is read."""
        return self.physics + self.control

    @property
    def total(self) -> float:
        """Time of a step with all sensors."""
        return self.without_sensors + sum(kind.time_per_step for kind in self.sensors)


class WorldBench:
    """Measures the speed of a world.

    Args:
        world: The world.
        diagnostics: Receives warnings about its sensors.

    Raises:
        PhysicsError: It cannot be simulated.
    """

    def __init__(self, world: WorldConfig, diagnostics: Diagnostics) -> None:
        self._time_step = world.physics.time_step
        self._profile = ProfiledRun(world, diagnostics)
        self._plain = PlainRun(world)
        self._pairs = PairRun(world)
        self._bare = PlainRun(without_contacts(world))
        self._alternatives = [(x, PlainRun(x.world)) for x in alternatives(world)]
        self._runs = self._plain, self._bare, *(run for _, run in self._alternatives)

    def measure(
        self, duration: float, on_progress: Callable[[float], None] = lambda _: None
    ) -> BenchResult:
        """Simulate from the start, repeatedly until at least ``MIN_TIME`` has passed.

        Args:
            duration: Simulated time from the start that is measured, in [s].
            on_progress: Called with the share of the work that is done.

        Raises:
            PhysicsError: The physics fails.
        """
        steps = max(1, round(duration / self._time_step / SLICES))
        self._profile.advance(steps)  # loads shaders and libraries
        self._profile.clear()
        start, elapsed, slices = perf_counter(), 0.0, 0
        while slices % SLICES or elapsed < MIN_TIME:
            if slices % SLICES == 0:
                self._restart()
            self._profile.advance(steps)
            self._pairs.advance(steps)
            for run in self._runs:
                run.advance(steps * self._time_step)
            elapsed, slices = perf_counter() - start, slices + 1
            on_progress(min(slices / SLICES, elapsed / MIN_TIME))
        return self._result()

    def close(self) -> None:
        """Free the engines."""
        self._profile.simulation.close()
        self._pairs.close()
        for run in self._runs:
            run.close()

    def _restart(self) -> None:
        self._profile.simulation.reset()
        self._pairs.restart()
        for run in self._runs:
            run.restart()

    def _result(self) -> BenchResult:
        profile = self._profile
        physics, control = profile.physics / profile.steps, profile.control / profile.steps
        bare = self._bare.ratio_to(self._plain)
        saved = None if bare is None else (1.0 - bare) * (physics + control)
        return BenchResult(
            time_step=self._time_step,
            steps=profile.steps,
            physics=physics,
            contacts=None if saved is None else min(max(saved, 0.0), physics),
            contact_points=profile.contacts / profile.steps,
            control=control,
            sensors=tuple(sorted(self._sensors(), key=lambda kind: -kind.time_per_step)),
            suggestions=tuple(
                sorted(self._suggestions(), key=lambda x: -(x.real_time_factor or 0.0))
            ),
            pairs=tuple(self._pairs.times()),
            advice=tuple(self._pairs.advice()),
        )

    def _sensors(self) -> Iterator[SensorTime]:
        profile = self._profile
        for kind in KINDS:
            sensors = profile.simulation.sensors.items()
            names = [k for k, s in sensors if kind_of(s) is kind and profile.readings[k]]
            if names:
                count = sum(profile.readings[name] for name in names)
                seconds = sum(profile.sensors[name] for name in names)
                yield SensorTime(
                    kind=kind.name,
                    count=len(names),
                    rate=count / (profile.steps * self._time_step),
                    time_per_reading=seconds / count,
                    time_per_step=seconds / profile.steps,
                )

    def _suggestions(self) -> Iterator[Suggestion]:
        """Yield the alternatives, and less frequent readings of the most expensive sensor."""
        profile = self._profile
        simulated = profile.steps * self._time_step
        sensors, rest = sum(profile.sensors.values()), profile.physics + profile.control
        for x, run in self._alternatives:
            ratio = run.ratio_to(self._plain)
            factor = None if ratio is None else simulated / (ratio * rest + sensors)
            error = None if run.error is None else str(run.error)
            yield Suggestion(x.setting, x.effect, factor, error)
        name, cost = max(profile.sensors.items(), key=lambda x: x[1], default=("", 0.0))
        if cost > _COSTLY * (rest + sensors):
            rate = profile.simulation.sensors[name].rate_hz / 2.0
            factor = simulated / (rest + sensors - cost / 2.0)
            yield Suggestion(f"--sensor {name}.rate={rate:g}", "half as many readings", factor)


@dataclass(frozen=True, slots=True)
class Alternative:
    """A world with another setting of the physics.

    Attributes:
        setting: The setting, as under ``physics`` in a world file.
        effect: Its effect on the simulation.
        world: The world with it.
    """

    setting: str
    effect: str
    world: WorldConfig


def alternatives(world: WorldConfig) -> Iterator[Alternative]:
    """Yield the world with settings that may make it faster."""
    physics = world.physics
    is_exact = physics.solver is Solver.WORLD
    tried: list[tuple[bool, str, Any, str]] = [
        (
            is_exact,
            "solver",
            Solver.QUICK,
            "approximate: noisy force sensors; heavy rotors need more iterations",
        ),
        (not is_exact, "solver", Solver.WORLD, "exact"),
        (
            not is_exact and physics.iterations > _MIN_ITERATIONS,
            "iterations",
            physics.iterations // 2,
            "less accurate: stacks, heavy rotors and loads suffer first",
        ),
        (
            physics.time_step <= _MAX_TIME_STEP,
            "time_step",
            2.0 * physics.time_step,
            "up to four times the error of motions",
        ),
        (
            physics.max_contacts > _USUAL_CONTACTS,
            "max_contacts",
            _USUAL_CONTACTS,
            "fewer contact points per pair of links",
        ),
        (
            physics.convex_meshes is not True and _has_moving_meshes(world),
            "convex_meshes",
            True,
            "meshes of moving links collide as their convex hulls: hollows are filled",
        ),
        (
            physics.self_collision and _has_many_shapes(world),
            "self_collision",
            False,
            "links of the same body pass through each other",
        ),
    ]
    for applies, name, value, effect in tried:
        if applies:
            changed = replace(world, physics=replace(physics, **{name: value}))
            yield Alternative(f"{name}: {_shown(value)}", effect, changed)


def _shown(value: object) -> str:
    """Return a value as a world file has it."""
    if isinstance(value, Solver):
        return value.value
    return f"{value:g}" if isinstance(value, float) else str(value).lower()


def without_contacts(world: WorldConfig) -> WorldConfig:
    """Return the world without collision shapes."""
    entries = []
    for entry in world.bodies:
        body = entry.placement.body
        bare = replace(body, links=tuple(replace(link, collision=()) for link in body.links))
        entries.append(replace(entry, placement=replace(entry.placement, body=bare)))
    return replace(world, bodies=tuple(entries))


def _has_moving_meshes(world: WorldConfig) -> bool:
    bodies = (entry.placement.body for entry in world.bodies)
    links = (link for body in bodies if not body.is_static for link in body.links)
    shapes = (shape for link in links for shape in link.collision)
    return any(isinstance(shape.geometry, Mesh | Cone) for shape in shapes)


def _has_many_shapes(world: WorldConfig) -> bool:
    """Return whether a body has shapes on several links, which may collide with each other."""
    bodies = (entry.placement.body for entry in world.bodies)
    return any(
        not body.is_static and sum(bool(link.collision) for link in body.links) > 1
        for body in bodies
    )


_SHOWN = 0.005  # share of a step from which a pair of links is listed
_MAX_PAIRS = 12
_FASTER = 1.05  # how much a setting must help to be suggested; less may be noise


def result_text(world: str, result: BenchResult) -> RenderableType:
    """Return the result for a terminal; ``world`` is the name that the user gave."""
    factor = result.time_step / result.total
    speed = f"{world}: {_factor(factor)} real time on this machine"
    if result.sensors:
        speed += f", {_factor(result.time_step / result.without_sensors)} without sensors"
    parts: list[RenderableType] = [printable(speed), "", _times(result), ""]
    if shown := [x for x in result.pairs if x.time_per_step >= _SHOWN * result.total][:_MAX_PAIRS]:
        parts += [_pairs(shown, result), ""]
    for advice in result.advice:
        parts += [printable(f"{advice.severity.value}: {advice.message}"), ""]
    faster = [x for x in result.suggestions if (x.real_time_factor or 0.0) > _FASTER * factor]
    others = [_other(x) for x in result.suggestions if x not in faster]
    if faster:
        parts += [_suggestions(faster), ""]
    if others:
        parts.append(printable(f"tried, but no faster: {'; '.join(others)}"))
    parts.append("settings go under 'physics' in a world file; see docs/performance.md")
    return Group(*parts)


def result_object(world: str, result: BenchResult) -> dict[str, object]:
    """Return the result as a JSON object. SI units; times are per step."""
    parts = asdict(replace(result, advice=()))
    del parts["advice"]  # is printed only
    return {
        "world": world,
        "real_time_factor": result.time_step / result.total,
        "real_time_factor_without_sensors": result.time_step / result.without_sensors,
        "total": result.total,
        **parts,
    }


def _times(result: BenchResult) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column(f"time of a step of {1e3 * result.time_step:g} ms")
    table.add_column("us", justify="right")
    table.add_column("share", justify="right")
    table.add_column("")
    for name, seconds, note in _rows(result):
        table.add_row(name, f"{1e6 * seconds:.1f}", f"{seconds / result.total:.0%}", note)
    return table


def _rows(result: BenchResult) -> Iterator[tuple[str, float, str]]:
    yield "physics", result.physics, ""
    if result.contacts is not None and result.contact_points:
        points = f"{result.contact_points:.1f} points on average"
        yield "  of which contacts", result.contacts, points
    yield "control and Python", result.control, ""
    for kind in result.sensors:
        yield _title(kind), kind.time_per_step, _readings(kind)
    yield "total", result.total, ""


def _pairs(pairs: Sequence[PairTime], result: BenchResult) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("finding contacts of")
    table.add_column("and")
    for name in ("triangles", "points", "us", "share"):
        table.add_column(name, justify="right")
    for pair in pairs:
        table.add_row(
            *map(printable, pair.links),
            " + ".join(f"{count}" for count in pair.triangles),
            f"{pair.contact_points:.1f}",
            f"{1e6 * pair.time_per_step:.1f}",
            f"{pair.time_per_step / result.total:.0%}",
        )
    rest = result.pairs[len(pairs) :]
    if rest:
        seconds = sum(pair.time_per_step for pair in rest)
        others = f"{len(rest)} other pairs" if len(rest) > 1 else "another pair"
        share = f"{seconds / result.total:.0%}"
        points = f"{sum(pair.contact_points for pair in rest):.1f}"
        table.add_row(others, "", "", points, f"{1e6 * seconds:.1f}", share)
    return table


def _title(kind: SensorTime) -> str:
    return f"sensors: {kind.kind}" + (f" ({kind.count})" if kind.count > 1 else "")


def _readings(kind: SensorTime) -> str:
    time = 1e6 * kind.time_per_reading
    shown = f"{time:.1f} us" if time < 1e3 else f"{1e-3 * time:.2f} ms"
    return f"{kind.rate:g} readings per simulated second, {shown} each"


def _suggestions(suggestions: Iterable[Suggestion]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("what to try", no_wrap=True)
    table.add_column("real time", justify="right", no_wrap=True)
    table.add_column("effect")
    for x in suggestions:
        table.add_row(printable(x.setting), _factor(x.real_time_factor or 0.0), x.effect)
    return table


def _other(suggestion: Suggestion) -> str:
    factor = suggestion.real_time_factor
    return f"{suggestion.setting} ({suggestion.error if factor is None else _factor(factor)})"


def _factor(factor: float) -> str:
    return f"{factor:.2f} x" if factor < 10.0 else f"{factor:.0f} x"
