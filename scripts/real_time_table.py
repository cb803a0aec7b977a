#!/usr/bin/env python3
"""Measure how fast every model of a folder is, alone on a floor, and write docs/real_time.md.

python scripts/real_time_table.py [FOLDER] [--list LIST.md] [--only WORD] [--json FILE] [--page]

The models of this package are always measured. The list is as for scripts/model_table.py. Each
model is stepped limp and with its servos holding, in turn with MuJoCo where that is installed and
can simulate the same, in a process of its own that ends after --seconds of processor time for
each. Without --page the table is printed. With all models this takes about half an hour.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "test"))

from bench.comparison.measure import on_one_core
from bench.comparison.mujoco_twin import MujocoTwin, TwinError
from model_table import find_models, read_list
from page_section import table, write_section

from hrp_model import Diagnostics, ModelError
from hrp_model.files.writer import write_atomically
from hrp_model.program.console import progress
from hrp_sim import Simulation, load_world
from hrp_sim.articulation.flatten import flatten
from hrp_sim.control import HOLD, LIMP
from hrp_sim.physics.engine import PhysicsError
from hrp_sim.world.config import WorldConfig

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "real_time.md"
BEGIN, END = "<!-- Models: made by scripts/real_time_table.py -->", "<!-- end of Models -->"
GOAL = 3.0  # real-time factor
DURATION = 2.0  # simulated, in [s]
SLICE = 10  # steps that are timed together
SLOW = 2e-3  # time of a step, in [s], from which each one is timed
CONTROLS = {"limp": LIMP, "holding": HOLD}


@dataclass
class Timing:
    """How fast one implementation steps a model.

    Attributes:
        us: Median CPU time of a step, in [us].
        factor: Simulated time by CPU time, of all steps.
        contacts: Median number of contact points.
        error: Why it could not be measured, or nothing.
    """

    us: float = 0.0
    factor: float = 0.0
    contacts: float = 0.0
    error: str = ""


@dataclass
class Result:
    """The figures of one model.

    Attributes:
        model: Its path in its folder.
        error: Why it cannot be simulated, or nothing.
        is_static: Whether nothing in it can move.
        joints, shapes, triangles: Numbers of moving joints, collision shapes, and triangles of
            those that are meshes.
        ours, mujoco: Timings by control.
    """

    model: str
    error: str = ""
    is_static: bool = False
    joints: int = 0
    shapes: int = 0
    triangles: int = 0
    ours: dict[str, Timing] = field(default_factory=dict)
    mujoco: dict[str, Timing] = field(default_factory=dict)

    @property
    def slowest(self) -> float:
        """The lowest real-time factor; 0 for a model that cannot be simulated."""
        return min((timing.factor for timing in self.ours.values()), default=0.0)


def measure(path: Path, name: str, seconds: float) -> Result:
    """Measure one model."""
    result = Result(name)
    try:
        world = load_world(path, Diagnostics.silent())
        moving = [e.placement for e in world.bodies if not e.placement.body.is_static]
        result.is_static = not moving
        for placement in moving:
            geoms = flatten(placement, world.physics).geoms
            result.joints += len(placement.body.moving_links)
            result.shapes += len(geoms.kind)
            result.triangles += len(geoms.triangles)
        controls = CONTROLS if result.joints else {"limp": LIMP}
        for control, settings in controls.items() if moving else ():
            bodies = tuple(replace(entry, control=settings) for entry in world.bodies)
            pair = _measure_pair(replace(world, bodies=bodies), seconds)
            result.ours[control], result.mujoco[control] = pair
    except (ModelError, PhysicsError) as error:
        result.error = str(error).partition("\n")[0].replace(f"{path.parent}/", "")
    return result


class _Ours:
    """A simulation whose sensors are not read."""

    def __init__(self, world: WorldConfig) -> None:
        silent = Diagnostics.silent()
        self.simulation = Simulation(world, defer_images=True, diagnostics=silent)
        self.simulation.wanted = lambda _: False

    @property
    def contacts(self) -> int:
        return self.simulation.engine.contacts

    def advance(self, steps: int) -> float:
        step = self.simulation.step
        start = time.thread_time()
        for _ in range(steps):
            step()
        return time.thread_time() - start


class _Watched:
    """A run, and the slices of it that were timed: steps, seconds, contacts."""

    def __init__(self, run: _Ours | MujocoTwin) -> None:
        self._run = run
        self.slices: list[tuple[int, float, int]] = []
        self.steps = 0
        self.spent = 0.0

    def advance(self, steps: int) -> None:
        elapsed = self._run.advance(steps)
        self.slices.append((steps, elapsed, self._run.contacts))
        self.steps += steps
        self.spent += elapsed

    def timing(self, step_s: float) -> Timing:
        return Timing(
            us=statistics.median(elapsed / size for size, elapsed, _ in self.slices) * 1e6,
            factor=self.steps * step_s / self.spent,
            contacts=statistics.median(contacts for _, _, contacts in self.slices),
        )


def _measure_pair(world: WorldConfig, seconds: float) -> tuple[Timing, Timing]:
    """Step a world here and in MuJoCo, slice by slice in turn."""
    ours = _Ours(world)
    moving = next(e.placement.name for e in world.bodies if not e.placement.body.is_static)
    step_s = world.physics.time_step
    size = SLICE if ours.advance(1) < SLOW else 1
    runs, second = [_Watched(ours)], Timing()
    try:
        runs.append(_Watched(MujocoTwin(world, ours.simulation.bodies[moving].drive)))
    except TwinError as error:
        second = Timing(error=str(error))
    going = runs
    while going:
        for run in going:
            run.advance(size)
        going = [r for r in going if r.steps * step_s < DURATION and r.spent < seconds]
    ours.simulation.close()
    first, *others = (run.timing(step_s) for run in runs)
    return first, others[0] if others else second


def measure_apart(path: Path, name: str, seconds: float) -> Result:
    """Measure one model in a process of its own, which may end badly."""
    command = [sys.executable, __file__, "--one", str(path), "--seconds", str(seconds)]
    # Loading takes a while, too, and a single step may take longer than all that is allowed.
    patience = 60.0 + 8.0 * seconds
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=patience, check=False, env=environment
        )
    except subprocess.TimeoutExpired:
        return Result(name, error=f"not measured within {patience:g} s")
    if done.returncode:
        return Result(name, error=f"the process ended with status {done.returncode}")
    return from_json(json.loads(done.stdout.splitlines()[-1]) | {"model": name})


def from_json(content: dict) -> Result:
    """Return a result from what ``asdict`` made of it."""
    for side in ("ours", "mujoco"):
        content[side] = {control: Timing(**x) for control, x in content[side].items()}
    return Result(**content)


def rows_of(results: Sequence[Result]) -> list[list[str]]:
    """Return a row for each model that moves, the slowest first."""
    moving = [r for r in results if r.ours]
    return [
        [
            result.model,
            str(result.joints),
            str(result.shapes),
            str(result.triangles or ""),
            *_cells(result.ours.get("limp"), result.mujoco.get("limp")),
            *_cells(result.ours.get("holding"), result.mujoco.get("holding")),
        ]
        for result in sorted(moving, key=lambda r: r.slowest)
    ]


def _cells(ours: Timing | None, mujoco: Timing | None) -> list[str]:
    """Return time, real-time factor and contacts, and MuJoCo's time and contacts."""
    if ours is None:
        return ["", "", "", "", ""]
    factor = _short(ours.factor)
    cells = [_short(ours.us), f"**{factor}**" if ours.factor < GOAL else factor]
    cells.append(f"{ours.contacts:g}")
    has_twin = mujoco is not None and not mujoco.error and mujoco.us > 0.0
    return cells + ([_short(mujoco.us), f"{mujoco.contacts:g}"] if has_twin else ["", ""])


def _short(value: float) -> str:
    """Return a number with two significant digits."""
    return f"{float(f'{value:.2g}'):g}"


def section(results: Sequence[Result]) -> str:
    """Return the tables as Markdown."""
    moving = [r for r in results if r.ours]
    slow = [r for r in moving if r.slowest < GOAL]
    static = sum(r.is_static for r in results)
    header = ["model", "joints", "shapes", "triangles"]
    header += ["limp us", "x", "contacts", "MuJoCo us", "contacts"]
    header += ["holding us", "x", "contacts", "MuJoCo us", "contacts"]
    parts = [
        f"{len(moving)} models move; {len(moving) - len(slow)} of them are at least {GOAL:g} times "
        f"as fast as real time on one core, limp and holding. {static} models are static, and "
        f"left out.",
        table(header, rows_of(results)),
    ]
    compared = [(r.ours[c].us / t.us) for r in moving for c, t in r.mujoco.items() if t.us > 0.0]
    if compared:
        parts.insert(
            1,
            f"Where MuJoCo simulates the same, a step here takes {statistics.median(compared):.2g} "
            f"times as long as there (median of {len(compared)} runs).",
        )
    failed = [[r.model, r.error.replace("|", "\\|")] for r in results if r.error]
    if failed:
        parts += ["Models that cannot be simulated:", table(["model", "reason"], failed)]
    return "\n\n".join(parts)


def models_of(folder: Path | None, listing: Path | None) -> dict[str, Path]:
    """Return the models by name: those of this package, and those of a folder."""
    own = ROOT / "models"
    found = {f"models/{name}": own / name for name in find_models(own) if "worlds/" not in name}
    if folder is not None:
        text = listing.read_text(encoding="utf-8") if listing else None
        names = find_models(folder) if text is None else read_list(text, folder)[0]
        found |= {name: folder / name for name in names}
    return found


def measure_all(
    models: dict[str, Path], seconds: float, on_each: Callable[[], None]
) -> list[Result]:
    """Measure models one after the other."""
    results = []
    for name, path in models.items():
        results.append(measure_apart(path, name, seconds))
        on_each()
    return results


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the script and return its exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path, nargs="?", metavar="FOLDER", help="more models")
    parser.add_argument("--list", type=Path, metavar="LIST.md", help="list of those models")
    parser.add_argument("--only", default="", metavar="WORD", help="models with this in their name")
    parser.add_argument(
        "--seconds", type=float, default=10.0, help="processor time of a run (default: %(default)g)"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures as JSON")
    parser.add_argument("--page", action="store_true", help="write docs/real_time.md")
    parser.add_argument("--one", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    logging.disable(logging.WARNING)
    if options.one:
        with on_one_core():
            result = measure(options.one, options.one.name, options.seconds)
        print(json.dumps(asdict(result)))
        return 0
    models = models_of(options.folder, options.list)
    models = {name: path for name, path in models.items() if options.only in name}
    if not models:
        parser.error(f"no model has '{options.only}' in its name")
    with progress("measuring models", len(models)) as on_each:
        results = measure_all(models, options.seconds, on_each)
    if options.json:
        content = json.dumps([asdict(result) for result in results], indent=1)
        write_atomically(options.json, content.encode())
    if options.page:
        write_section(PAGE, BEGIN, END, section(results))
    else:
        print(section(results))
    return 0


if __name__ == "__main__":
    sys.exit(main())
