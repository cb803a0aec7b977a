"""Measure how the time of a step grows with the size of a world, for each solver.

All sizes and solvers of a family of worlds take turns in one run on one core; times are medians of
CPU times. The exponent is the slope of a line fitted to the logarithms of the larger half of the
sizes: 1 is linear. A size that would take too long is left out. All takes some minutes.
"""

from __future__ import annotations

import argparse
import logging
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import matplotlib
import numpy as np
from bench.comparison.measure import on_one_core
from bench.growing_worlds import FAMILIES, Family

from hrp_model.program.tables import progress
from hrp_sim.control import BodyController
from hrp_sim.engine.engine import Engine, PhysicsError, PhysicsSettings, Solver, make_ode_engine
from scripts.data_tables import Table, output_tables
from scripts.program import ROOT

matplotlib.use("svg")
matplotlib.rcParams.update({"svg.hashsalt": "cost over size", "svg.fonttype": "none"})
import matplotlib.pyplot as plt  # noqa: E402

PICTURE = ROOT / "docs" / "pictures" / "cost_over_size.svg"
ROUNDS = 5
SETTLING = 200  # steps before the first that is timed
WORST_EXPONENT = 3.0  # of a dense solver, to foresee the time of the next size


@dataclass
class Curve:
    """Times of a family for one solver.

    Attributes:
        family: Its name.
        solver: The solver.
        us: Median CPU time of a step by size, in [us].
    """

    family: str
    solver: str
    us: dict[int, float] = field(default_factory=dict)

    @property
    def exponent(self) -> float | None:
        """Slope of the larger half of the sizes; None with fewer than two."""
        if len(self.us) < 2:
            return None
        sizes = sorted(self.us)[-max(2, (len(self.us) + 1) // 2) :]
        x, y = np.log(sizes), np.log([self.us[size] for size in sizes])
        return float(np.polyfit(x, y, 1)[0])


class _Run:
    """One world, settled and ready to be timed."""

    def __init__(self, family: Family, size: int, solver: Solver, seconds: float) -> None:
        self.engine = _engine(family, size, solver)
        self.size = size
        spent, done = 0.0, 0
        while done < SETTLING and spent < seconds:
            spent += self._advance(1)
            done += 1
        self.step_s = spent / done
        # Short enough that all rounds together take as long as allowed.
        self._count = max(1, min(100, int(seconds / ROUNDS / max(self.step_s, 1e-9))))
        self.times: list[float] = []

    def measure(self) -> None:
        self.times.append(self._advance(self._count) / self._count)

    def _advance(self, steps: int) -> float:
        step = self.engine.step
        start = time.thread_time()
        for _ in range(steps):
            step()
        return time.thread_time() - start


def _engine(family: Family, size: int, solver: Solver) -> Engine:
    engine = make_ode_engine(PhysicsSettings(solver=solver, **family.settings))
    for placement in family.make(size):
        simulated = engine.add_body(placement)
        if placement.body.moving_links:
            BodyController(simulated, family.control, placement.initial_q, fixed=placement.fixed)
    return engine


def measure(
    name: str, solvers: Sequence[Solver], seconds: float, on_each: Callable[[], None]
) -> list[Curve]:
    """Return the curves of a family.

    Args:
        name: Of the family.
        solvers: The solvers.
        seconds: CPU time of one size with one solver, at most, beside that of single steps.
        on_each: Called after each size and solver.
    """
    family, runs = FAMILIES[name], dict[Solver, list[_Run]]()
    for solver in solvers:
        runs[solver] = []
        for size in family.sizes:
            on_each()
            if _foreseen(runs[solver], size) > seconds:
                continue
            try:
                runs[solver].append(_Run(family, size, solver, seconds))
            except PhysicsError:  # too many rows
                continue
    for _ in range(ROUNDS):
        for run in (run for some in runs.values() for run in some):
            run.measure()
    curves = []
    for solver, some in runs.items():
        curve = Curve(name, solver.value)
        for run in some:
            curve.us[run.size] = statistics.median(run.times) * 1e6
            run.engine.close()
        curves.append(curve)
    return curves


def _foreseen(runs: Sequence[_Run], size: int) -> float:
    """Return the time that a step of the next size may take, in [s]."""
    if not runs:
        return 0.0
    last = runs[-1]
    return float(last.step_s * (size / last.size) ** WORST_EXPONENT)


def tables(curves: Sequence[Curve]) -> dict[str, Table]:
    """Return the table by its name: a row for each size, and one for the exponents."""
    solvers = list(dict.fromkeys(curve.solver for curve in curves))
    rows = []
    for name, family in FAMILIES.items():
        some = {curve.solver: curve for curve in curves if curve.family == name}
        if not some:
            continue
        for size in family.sizes:
            times = [_microseconds(some[s].us.get(size)) if s in some else "" for s in solvers]
            rows.append([family.title, str(size), *times])
        exponents = [some[s].exponent if s in some else None for s in solvers]
        found = ["" if exponent is None else f"{exponent:.2f}" for exponent in exponents]
        rows.append([family.title, "exponent", *found])
    return {"cost_over_size": (["worlds", "size", *(f"{s} [us]" for s in solvers)], rows)}


def _microseconds(us: float | None) -> str:
    if us is None:
        return ""
    return f"{us:.0f}" if us >= 100.0 else f"{us:.1f}"


def draw(curves: Sequence[Curve], path: Path) -> None:
    """Draw the curves of all families, on logarithmic axes."""
    names = [name for name in FAMILIES if any(curve.family == name for curve in curves)]
    figure, axes = plt.subplots(1, len(names), figsize=(2.6 * len(names), 2.6), squeeze=False)
    styles = dict(zip([s.value for s in Solver], ("o-", "s--", "^:"), strict=False))
    for name, ax in zip(names, axes[0], strict=True):
        for curve in (c for c in curves if c.family == name and c.us):
            ax.loglog(*zip(*curve.us.items(), strict=True), styles[curve.solver], ms=3, lw=1)
        _draw_slope(ax, [c for c in curves if c.family == name and len(c.us) > 1])
        ax.set_title(FAMILIES[name].title, fontsize=8)
        ax.tick_params(labelsize=7)
        ax.set_xticks(FAMILIES[name].sizes, map(str, FAMILIES[name].sizes))
        ax.minorticks_off()
        ax.grid(which="major", lw=0.3)
    axes[0][0].set_ylabel("time of a step [us]", fontsize=8)
    solvers = dict.fromkeys(curve.solver for curve in curves)
    figure.legend(
        [plt.Line2D([], [], ls=styles[s][1:], marker=styles[s][0], ms=3, lw=1, c=f"C{k}")
         for k, s in enumerate(solvers)],
        solvers, loc="lower center", ncols=len(solvers), fontsize=8, frameon=False,
    )  # fmt: skip
    figure.tight_layout(rect=(0.0, 0.08, 1.0, 1.0))
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def _draw_slope(ax: object, curves: Sequence[Curve]) -> None:
    """Draw a line of slope 1 through the first point of the first curve."""
    for curve in curves[:1]:
        sizes = sorted(curve.us)
        ends = np.array([sizes[0], sizes[-1]], dtype=float)
        ax.loglog(ends, curve.us[sizes[0]] * ends / ends[0], c="0.7", lw=0.8, zorder=0)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command line."""
    choices = {"action": "append", "default": [], "help": "may be repeated; default: all"}
    parser.add_argument("--family", choices=list(FAMILIES), **choices)
    parser.add_argument("--solver", choices=[s.value for s in Solver], **choices)
    parser.add_argument(
        "--seconds", type=float, default=3.0, help="processor time of a size (default: 3)"
    )
    parser.add_argument("--page", action="store_true", help="write docs/data, and the picture")


def run(options: argparse.Namespace) -> int:
    """Measure, and print or write the table."""
    logging.disable(logging.WARNING)
    names = options.family or list(FAMILIES)
    solvers = [Solver(name) for name in options.solver] or list(Solver)
    curves: list[Curve] = []
    total = sum(len(FAMILIES[name].sizes) for name in names) * len(solvers)
    with progress("measuring worlds", total) as on_each, on_one_core():
        for name in names:
            curves += measure(name, solvers, options.seconds, on_each)
    if options.page:
        draw(curves, PICTURE)
    output_tables(tables(curves), page=options.page, rounds=f"medians of {ROUNDS} rounds")
    return 0
