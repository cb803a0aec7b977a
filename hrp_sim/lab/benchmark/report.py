"""The result of ``hrp-sim bench`` as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, replace

from rich.console import Group, RenderableType
from rich.table import Table

from hrp_model.printable import printable

from .measure import BenchResult, SensorTime, Suggestion
from .runs import PairTime

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
