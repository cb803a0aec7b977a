#!/usr/bin/env python3
"""Measure how the time of a step grows with the size of a world, for each solver.

python scripts/cost_over_size.py [--family NAME] [--solver NAME] [--json FILE] [--page]

The worlds are made here. All sizes and solvers of a family take turns in one run on one core;
times are medians of CPU times. The exponent is the slope of a line fitted to the logarithms of the
larger half of the sizes: 1 is linear. A size that would take too long is left out. --page writes
the section "Cost over size" of docs/performance.md and its picture. All takes some minutes.
"""

from __future__ import annotations

import argparse
import json
import logging
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "test"))

from bench.comparison.measure import on_one_core
from page_section import table, write_section

from hrp_model import Body, Link, Pose, load_body
from hrp_model.body import Joint, JointType
from hrp_model.files.writer import write_atomically
from hrp_model.geometry import Box, Shape, Sphere
from hrp_model.program.console import progress
from hrp_sim.control import HOLD, LIMP, BodyController, ControlSettings
from hrp_sim.engines import make_engine
from hrp_sim.physics.engine import Engine, PhysicsError, PhysicsSettings, Placement, Solver

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "performance.md"
PICTURE = ROOT / "docs" / "pictures" / "cost_over_size.svg"
BEGIN = "<!-- Cost over size: made by scripts/cost_over_size.py -->"
END = "<!-- end of Cost over size -->"
ROUNDS = 5
SETTLING = 200  # steps before the first that is timed
EDGE = 0.1  # of a box, in [m]
WORST_EXPONENT = 3.0  # of a dense solver, to foresee the time of the next size


@dataclass(frozen=True, kw_only=True)
class Family:
    """Worlds of the same kind.

    Attributes:
        title: What grows.
        sizes: In ascending order.
        make: Returns the bodies of a size.
        control: Of the joints.
        settings: Of the physics, other than the defaults.
    """

    title: str
    sizes: tuple[int, ...]
    make: Callable[[int], list[Placement]]
    control: ControlSettings = LIMP
    settings: Mapping[str, int] = field(default_factory=dict)


def _at(x: float = 0.0, y: float = 0.0, z: float = 0.0) -> Pose:
    return Pose(np.eye(3), np.array([x, y, z]))


def _link(name: str, parent: str | None, kind: JointType, pose: Pose, **more: object) -> Link:
    joint = Joint(
        type=kind, name=name, axis=np.array([0.0, 1.0, 0.0]), equivalent_rotor_inertia=0.001
    )
    options = {"mass": 1.0, "inertia": np.eye(3) * 0.005, **more}
    return Link(name=name, parent=parent, joint=joint, X_PL=pose, **options)


def _floor() -> Placement:
    shape = Shape(Box(np.array([100.0, 100.0, 1.0])), _at(z=-0.5).matrix())
    link = _link("FLOOR", None, JointType.FIXED, Pose(), collision=(shape,))
    return Placement(name="floor", body=Body(name="floor", links=(link,)), fixed=True)


def chain(count: int) -> list[Placement]:
    """Return a chain that hangs from its first link and swings."""
    links = [_link("BASE", None, JointType.FIXED, Pose(), mass=0.0)]
    for k in range(count):
        pose = _at(z=-0.1 if k else 0.0)
        com = {"center_of_mass": np.array([0.0, 0.0, -0.05])}
        links.append(_link(f"L{k}", links[-1].name, JointType.REVOLUTE, pose, **com))
    q = np.full(count, 0.2 / count)
    return [Placement(name="chain", body=Body(name="chain", links=tuple(links)), q=q, fixed=True)]


def _brick(name: str, pose: Pose) -> Placement:
    size = np.array([2.0, 1.0, 1.0]) * EDGE
    inertia = np.diag([2.0, 5.0, 5.0]) * EDGE**2 / 12.0
    link = _link(name, None, JointType.FREE, Pose(), inertia=inertia, collision=(Shape(Box(size)),))
    return Placement(name=name, body=Body(name=name, links=(link,)), X_WL=pose)


def scattered(count: int) -> list[Placement]:
    """Return boxes on a floor, each by itself."""
    side = int(np.ceil(np.sqrt(count)))
    places = [_at(0.5 * (k % side), 0.5 * (k // side), EDGE / 2.0) for k in range(count)]
    return [_floor(), *(_brick(f"box{k}", pose) for k, pose in enumerate(places))]


def wall(count: int) -> list[Placement]:
    """Return a wall of bricks, five in a layer, each on two others: one island."""
    boxes = []
    for k in range(count):
        layer, place = divmod(k, 5)
        x = 2.0 * EDGE * (place + 0.5 * (layer % 2))
        boxes.append(_brick(f"box{k}", _at(x, 0.0, EDGE * (layer + 0.5))))
    return [_floor(), *boxes]


def robots(count: int) -> list[Placement]:
    """Return humanoids that stand side by side."""
    body = load_body(ROOT / "models" / "humanoid" / "humanoid.body")
    side = int(np.ceil(np.sqrt(count)))
    places = [
        _at(2.0 * (k % side), 2.0 * (k // side), float(body.root.X_PL.p[2])) for k in range(count)
    ]
    return [
        _floor(),
        *(Placement(name=f"robot{k}", body=body, X_WL=pose) for k, pose in enumerate(places)),
    ]


def plate(count: int) -> list[Placement]:
    """Return a plate on as many feet, with one contact each."""
    side = int(np.ceil(np.sqrt(count)))
    feet = tuple(
        Shape(Sphere(0.02), _at(0.1 * (k % side), 0.1 * (k // side)).matrix()) for k in range(count)
    )
    middle = np.array([0.05, 0.05, 0.0]) * (side - 1)
    options = {"collision": feet, "center_of_mass": middle, "mass": 10.0}
    link = _link("PLATE", None, JointType.FREE, Pose(), **options)
    body = Body(name="plate", links=(link,))
    return [_floor(), Placement(name="plate", body=body, X_WL=_at(z=0.02))]


FAMILIES = {
    "chain": Family(
        title="links of a chain", sizes=(5, 10, 20, 50, 100, 200), make=chain, control=HOLD
    ),
    "boxes": Family(
        title="boxes on a floor, apart", sizes=(10, 30, 100, 300, 1000), make=scattered
    ),
    "robots": Family(
        title="standing humanoids", sizes=(1, 2, 4, 8, 16, 32), make=robots, control=HOLD
    ),
    "contacts": Family(
        title="contacts of one body",
        sizes=(4, 9, 16, 36, 64, 100),
        make=plate,
        settings={"max_contacts": 128},
    ),
    "wall": Family(title="boxes of a wall, touching", sizes=(5, 10, 20, 40, 60), make=wall),
}


@dataclass
class Curve:
    """Times of a family for one solver.

    Attributes:
        family: Its name.
        solver: The solver.
        us: Median CPU time of a step by size, in [us].
        contacts: Contact points by size.
    """

    family: str
    solver: str
    us: dict[int, float] = field(default_factory=dict)
    contacts: dict[int, int] = field(default_factory=dict)

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
    engine = make_engine("ode", PhysicsSettings(solver=solver, **family.settings))
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
            curve.contacts[run.size] = run.engine.contacts
            run.engine.close()
        curves.append(curve)
    return curves


def _foreseen(runs: Sequence[_Run], size: int) -> float:
    """Return the time that a step of the next size may take, in [s]."""
    if not runs:
        return 0.0
    last = runs[-1]
    return float(last.step_s * (size / last.size) ** WORST_EXPONENT)


def section(curves: Sequence[Curve]) -> str:
    """Return the table of each family, and the picture."""
    parts = [f"![Time of a step over the size of a world]({PICTURE.relative_to(PAGE.parent)})"]
    for name, family in FAMILIES.items():
        some = [curve for curve in curves if curve.family == name]
        if not some:
            continue
        header = [family.title, *map(str, family.sizes), "exponent"]
        rows = []
        for curve in some:
            times = [_microseconds(curve.us.get(size)) for size in family.sizes]
            exponent = "" if curve.exponent is None else f"{curve.exponent:.2f}"
            rows.append([f"`{curve.solver}` [us]", *times, exponent])
        parts.append(table(header, rows))
    return "\n\n".join(parts)


def _microseconds(us: float | None) -> str:
    if us is None:
        return ""
    return f"{us:.0f}" if us >= 100.0 else f"{us:.1f}"


def draw(curves: Sequence[Curve], path: Path) -> None:
    """Draw the curves of all families, on logarithmic axes."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.hashsalt": "cost over size", "svg.fonttype": "none"})
    import matplotlib.pyplot as plt

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


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the script and return its exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    choices = {"action": "append", "default": [], "help": "may be repeated; default: all"}
    parser.add_argument("--family", choices=list(FAMILIES), **choices)
    parser.add_argument("--solver", choices=[s.value for s in Solver], **choices)
    parser.add_argument(
        "--seconds",
        type=float,
        default=3.0,
        help="processor time for each size and solver (default: %(default)g)",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures as JSON")
    parser.add_argument("--page", action="store_true", help="write docs/performance.md")
    options = parser.parse_args(arguments)
    logging.disable(logging.WARNING)
    names = options.family or list(FAMILIES)
    solvers = [Solver(name) for name in options.solver] or list(Solver)
    curves: list[Curve] = []
    total = sum(len(FAMILIES[name].sizes) for name in names) * len(solvers)
    with progress("measuring worlds", total) as on_each, on_one_core():
        for name in names:
            curves += measure(name, solvers, options.seconds, on_each)
    if options.json:
        content = [asdict(curve) | {"exponent": curve.exponent} for curve in curves]
        write_atomically(options.json, json.dumps(content, indent=1).encode())
    if options.page:
        draw(curves, PICTURE)
        write_section(PAGE, BEGIN, END, section(curves))
    else:
        print(section(curves))
    return 0


if __name__ == "__main__":
    sys.exit(main())
