"""Measure how fast every model of a folder is, alone on a floor: docs/data/real_time.csv.

The models of this package are always measured. Each model is stepped limp and with its servos
holding, in turn with MuJoCo where that is installed and can simulate the same, in a process of its
own that ends after --seconds of processor time for each. With all models this takes about half an
hour.
"""

from __future__ import annotations

import argparse
import logging
import multiprocessing
import os
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection
from pathlib import Path

from bench.comparison.contenders import SimulationRun
from bench.comparison.measure import on_one_core
from bench.comparison.mujoco_twin import MujocoTwin, TwinError, without_pairs
from bench.comparison.scenes import Scene

from hrp_model import Diagnostics, ModelError
from hrp_model.program.tables import progress
from hrp_sim import load_world
from hrp_sim.control import HOLD, LIMP
from hrp_sim.engine.articulation.flatten import flatten
from hrp_sim.engine.engine import PhysicsError
from hrp_sim.world.config import WorldConfig
from scripts.data_tables import Table, model_name, output_tables
from scripts.program import ROOT, add_models, find_models, listed_models

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
        depth: Depth of the deepest contact at the end, in [m].
        ratio: Time here by time there, of MuJoCo's: without pairs of links that it cannot collide.
        error: Why it could not be measured, or nothing.
    """

    us: float = 0.0
    factor: float = 0.0
    contacts: float = 0.0
    depth: float = 0.0
    ratio: float = 0.0
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


class _Watched:
    """A run, and the slices of it that were timed: steps, seconds, contacts."""

    def __init__(self, run: SimulationRun | MujocoTwin) -> None:
        self._run = run
        self.slices: list[tuple[int, float, int]] = []
        self.steps = 0
        self.spent = 0.0

    def advance(self, steps: int) -> None:
        elapsed = self._run.advance(steps)
        self.slices.append((steps, elapsed, self._run.contacts))
        self.steps += steps
        self.spent += elapsed

    @property
    def us(self) -> float:
        """Median time of a step, in [us]."""
        return statistics.median(elapsed / size for size, elapsed, _ in self.slices) * 1e6

    def timing(self, step_s: float) -> Timing:
        return Timing(
            us=self.us,
            factor=self.steps * step_s / self.spent,
            contacts=statistics.median(contacts for _, _, contacts in self.slices),
            depth=self._run.depth(),
        )


def _measure_pair(world: WorldConfig, seconds: float) -> tuple[Timing, Timing]:
    """Step a world here and in MuJoCo, slice by slice in turn."""
    ours = SimulationRun(Scene(name="", description="", world=world), reads=False)
    moving = next(e.placement.name for e in world.bodies if not e.placement.body.is_static)
    step_s = world.physics.time_step
    size = SLICE if ours.advance(1) < SLOW else 1
    runs, second, same = [_Watched(ours)], Timing(), ours
    try:
        twin = MujocoTwin(world, ours.simulation.engine.state.bodies[moving])
        runs.append(_Watched(twin))
        if twin.apart:
            fair = without_pairs(world, twin.apart)
            same = SimulationRun(Scene(name="", description="", world=fair), reads=False)
            runs.append(_Watched(same))
    except TwinError as error:
        second = Timing(error=str(error))
    going = runs
    while going:
        for run in going:
            run.advance(size)
        going = [r for r in going if r.steps * step_s < DURATION and r.spent < seconds]
    first = runs[0].timing(step_s)
    if len(runs) > 1:
        ratio = (runs[2] if same is not ours else runs[0]).us / runs[1].us
        second = replace(runs[1].timing(step_s), ratio=ratio)
    for run in {ours, same}:
        run.close()
    return first, second


def measure_apart(path: Path, name: str, seconds: float) -> Result:
    """Measure one model in a process of its own, which may end badly."""
    # Loading takes a while, too, and a single step may take longer than all that is allowed.
    patience = 60.0 + 8.0 * seconds
    spawn = multiprocessing.get_context("spawn")
    receiver, sender = spawn.Pipe(duplex=False)
    process = spawn.Process(target=_send, args=(sender, path, name, seconds))
    process.start()
    sender.close()
    try:
        if receiver.poll(patience):
            return receiver.recv()
        return Result(name, error=f"not measured within {patience:g} s")
    except EOFError:
        process.join()
        return Result(name, error=f"the process ended with status {process.exitcode}")
    finally:
        process.kill()
        process.join()


def _send(sender: Connection, path: Path, name: str, seconds: float) -> None:
    logging.disable(logging.WARNING)
    with on_one_core():
        sender.send(measure(path, name, seconds))


def rows_of(results: Sequence[Result]) -> list[list[str]]:
    """Return a row for each model that moves, the slowest first."""
    moving = [r for r in results if r.ours]
    return [
        [
            model_name(result.model),
            str(result.joints),
            str(result.shapes),
            str(result.triangles or ""),
            *_cells(result.ours.get("limp"), result.mujoco.get("limp")),
            *_cells(result.ours.get("holding"), result.mujoco.get("holding")),
        ]
        for result in sorted(moving, key=lambda r: r.slowest)
    ]


def _cells(ours: Timing | None, mujoco: Timing | None) -> list[str]:
    """Return time, real-time factor, contacts and depth; MuJoCo's without the factor; the ratio."""
    if ours is None:
        return [""] * 8
    cells = [_short(ours.us), _short(ours.factor), *_contacts(ours)]
    has_twin = mujoco is not None and not mujoco.error and mujoco.us > 0.0
    if not has_twin:
        return cells + [""] * 4
    return [*cells, _short(mujoco.us), *_contacts(mujoco), f"{mujoco.ratio:.2f}"]


def _contacts(timing: Timing) -> list[str]:
    return [f"{timing.contacts:g}", f"{timing.depth * 1e3:.2f}"]


def _short(value: float) -> str:
    """Return a number with two significant digits."""
    return f"{float(f'{value:.2g}'):g}"


def sums_of(results: Sequence[Result]) -> Table:
    """Return how many models are fast, and how they compare with MuJoCo, limp and holding."""
    rows: dict[str, list[str]] = {}
    for control in CONTROLS:
        ours = [r.ours[control] for r in results if control in r.ours]
        ratios = [t.ratio for r in results if (t := r.mujoco.get(control)) and t.us > 0.0]
        quartiles = statistics.quantiles(ratios, n=4) if len(ratios) > 1 else []
        for name, cell in {
            "models that move": str(len(ours)),
            f"at least {GOAL:g} times as fast as real time": str(
                sum(timing.factor >= GOAL for timing in ours)
            ),
            "slower ones": ", ".join(
                f"{Path(r.model).stem} ({_short(r.ours[control].factor)})"
                for r in results
                if control in r.ours and r.ours[control].factor < GOAL
            ),
            "also simulated by MuJoCo": str(len(ratios)),
            "time here by time there": f"{statistics.median(ratios):.2f}" if ratios else "",
            "of the middle half": "-".join(f"{x:.2f}" for x in quartiles[::2]),
        }.items():
            rows.setdefault(name, [name]).append(cell)
    return ["on one core", *CONTROLS], list(rows.values())


def summary(results: Sequence[Result]) -> str:
    """Return which models are not in the table, and why."""
    static = f"{sum(r.is_static for r in results)} models are static, and left out."
    errors = [f"{r.model} cannot be simulated: {r.error}" for r in results if r.error]
    return "\n".join([static, *errors])


def tables(results: Sequence[Result]) -> dict[str, Table]:
    """Return the tables by their names."""
    header = ["model", "joints", "shapes", "triangles"]
    for state in ("limp", "holding"):
        header += [f"{state} [us]", f"{state} x", f"{state} contacts", f"{state} depth [mm]"]
        theirs = f"{state} MuJoCo"
        header += [f"{theirs} [us]", f"{theirs} contacts", f"{theirs} depth [mm]", f"{state} ratio"]
    return {"real_time": (header, rows_of(results)), "real_time_sums": sums_of(results)}


def models_of(options: argparse.Namespace) -> dict[str, Path]:
    """Return the models by name: those of this package, and those of a folder."""
    own = ROOT / "models"
    found = {f"models/{name}": own / name for name in find_models(own) if "worlds/" not in name}
    if options.folder is not None:
        found |= {name: options.folder / name for name in listed_models(options)[0]}
    return {name: path for name, path in found.items() if options.only in name}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command line."""
    add_models(parser, optional=True)
    parser.add_argument("--only", default="", metavar="WORD", help="models with this in their name")
    parser.add_argument(
        "--seconds", type=float, default=10.0, help="processor time of a run (default: %(default)g)"
    )
    parser.add_argument("--page", action="store_true", help="write docs/data/real_time.csv")


def run(options: argparse.Namespace) -> int:
    """Measure all models."""
    os.environ |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    models, results = models_of(options), []
    with progress("measuring models", len(models)) as on_each:
        for name, path in models.items():
            results.append(measure_apart(path, name, options.seconds))
            on_each()
    print(summary(results))
    about = f"{DURATION:g} simulated seconds, or {options.seconds:g} s of processor time"
    output_tables(tables(results), page=options.page, rounds=about, beside=("mujoco",))
    return 0
