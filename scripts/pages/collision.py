"""Measure collision detection of models alone on a floor; write tables in docs/data.

Every model in the folders that loads and can move is simulated, held by its servos, with the
default settings, each value of convex_meshes, and without self-collision. Times are CPU times. The
parts of meshes are computed once and cached, which may take minutes.
"""

from __future__ import annotations

import argparse
import logging
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import mean, median

from hrp_model import Diagnostics, ModelError
from hrp_sim import Simulation, load_world
from hrp_sim.engine.articulation.flatten import flatten
from hrp_sim.engine.engine import Engine, PhysicsError
from hrp_sim.world.config import WorldConfig
from scripts.data_tables import DATA, Table, model_name, write_tables
from scripts.program import ROOT, find_models

DEAR = 2.0  # [us] that are noise
WARM_UP, SAMPLED = 5, 10  # steps; every tenth is measured pair by pair
MAX_TIME = 2.0  # of a run, in [s]
MESHES = ("false", "auto", "true", "parts")
VARIANTS: dict[str, dict[str, object]] = {
    "auto": {},
    "false": {"convex_meshes": False},
    "true": {"convex_meshes": True},
    "parts": {"convex_meshes": "parts"},
    "apart": {"self_collision": False},
}


@dataclass
class Run:
    """A model with one setting; times are per step, in [us].

    Attributes:
        step: Time of a step.
        collision: The part of it that finds contacts.
        contacts: Mean number of contact points.
        touching: Number of pairs of its own links that touch in the first step.
        load: Time to create the simulation, in [s].
    """

    step: float
    collision: float
    contacts: float
    touching: int
    load: float


@dataclass
class Model:
    """A model, its triangles on moving links as written, and its runs by name."""

    name: str
    triangles: int = 0
    runs: dict[str, Run] = field(default_factory=dict)
    error: str = ""


def simulate(world: WorldConfig, steps: int) -> Run:
    """Simulate a world.

    Raises:
        PhysicsError: It cannot be simulated.
    """
    silent = Diagnostics.silent()
    start = time.process_time()
    with Simulation(world, defer_images=True, diagnostics=silent) as sim:
        load = time.process_time() - start
        sim.wanted, engine = lambda _: False, sim.engine
        touching = _touching(engine)
        sim.reset()
        engine.step(WARM_UP)
        used, collisions, contacts = 0.0, [], []
        for _ in range(steps // SAMPLED):
            if used > MAX_TIME:
                break
            start = time.process_time()
            engine.step(SAMPLED)
            used += time.process_time() - start
            contacts.append(engine.contacts)
            engine.record_pair_costs = True
            engine.step()
            collisions.append(1e6 * sum(cost.seconds for cost in engine.pair_costs()))
            engine.record_pair_costs = False
    step = 1e6 * used / len(contacts) / SAMPLED
    return Run(step, median(collisions), mean(contacts), touching, load)


def _touching(engine: Engine) -> int:
    """Step, and return how many pairs of links of one body touch."""
    engine.record_contacts = True
    engine.step()
    points = engine.contact_points()
    engine.record_contacts = False
    pairs = zip(points.bodies, points.links.tolist(), strict=True)
    return len({tuple(sorted(links)) for (a, b), links in pairs if a == b})


def measure(path: Path, name: str, steps: int) -> Model | None:
    """Measure one model; None if it does not load or cannot move."""
    try:
        world = load_world(path, Diagnostics.silent())
    except (ModelError, OSError):
        return None
    moving = [x.placement for x in world.bodies if not x.placement.body.is_static]
    if not moving:
        return None
    model = Model(name)
    try:
        as_written = replace(world.physics, convex_meshes=False)
        model.triangles = sum(len(flatten(x, as_written).geoms.triangles) for x in moving)
        for key, settings in VARIANTS.items():
            if model.triangles or "convex_meshes" not in settings:
                changed = replace(world, physics=replace(world.physics, **settings))
                model.runs[key] = simulate(changed, steps)
    except PhysicsError as error:
        model.error = str(error)
    return model


def self_collision(models: Sequence[Model]) -> Table:
    """Return what self-collision costs and finds; print the sums."""
    both = [m for m in models if {"auto", "apart"} <= m.runs.keys()]
    ratios = [m.runs["auto"].step / m.runs["apart"].step for m in both]
    longer = [m.runs["auto"].step - m.runs["apart"].step for m in both]
    dear = [m for m, r, t in zip(both, ratios, longer, strict=True) if r > 1.1 and t > DEAR]
    touching = [m for m in both if m.runs["auto"].touching]
    if both:
        print(
            f"Of {len(both)} models that move, self-collision makes the step of the median one "
            f"{median(ratios):.2f} times as long, and that of {len(dear)} by more than 10 % and "
            f"{DEAR:g} us longer. In {len(touching)}, links touch each other in the first step."
        )
    listed = sorted({m.name: m for m in (*dear, *touching)}.values(), key=lambda m: m.name)
    rows = []
    for m in listed:
        on, off = m.runs["auto"], m.runs["apart"]
        times = [f"{x:.0f}" for x in (on.step, off.step, on.contacts, off.contacts)]
        rows.append([model_name(m.name), str(on.touching), *times])
    header = ["model", "pairs touching at first", "us, on", "us, off", "points, on", "points, off"]
    return header, rows


def meshes(models: Sequence[Model]) -> Table:
    """Return the time of collision detection with each value of convex_meshes."""
    rows = []
    for m in models:
        if not m.triangles or not {"auto", "false"} <= m.runs.keys():
            continue
        found = [m.runs.get(key) for key in MESHES]
        times = [f"{x.collision:.1f}" if x else "" for x in found]
        loads = [f"{1e3 * m.runs[key].load:.0f}" for key in ("false", "auto")]
        rows.append([model_name(m.name), str(m.triangles), *times, *loads])
    return ["model", "triangles", *MESHES, "load false", "load auto"], rows


def find(folders: Sequence[Path]) -> Iterator[tuple[Path, str]]:
    """Yield the files in the folders that may be models, and their names in the tables."""
    for folder in folders:
        for name in find_models(folder):
            yield folder / name, f"models/{name}" if folder.resolve() == ROOT / "models" else name


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command line."""
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument("--steps", type=int, default=300, help="of each run; default: 300")
    parser.add_argument("-o", "--output", type=Path, default=DATA, help="folder of the tables")


def run(options: argparse.Namespace) -> int:
    """Measure, and write the tables."""
    logging.getLogger("hrp_sim").setLevel(logging.ERROR)
    models = []
    for path, name in find(options.folders):
        model = measure(path, name, options.steps)
        if model is not None:
            models.append(model)
            print(name, model.error, file=sys.stderr)
    models.sort(key=lambda m: m.name)
    makers = {"self_collision": self_collision, "collision_meshes": meshes}
    found = {name: maker(models) for name, maker in makers.items()}
    write_tables(found, options.output, rounds=f"{options.steps} steps of each setting")
    return 0
