#!/usr/bin/env python3
"""Measure collision detection of models alone on a floor; write the tables of docs/collision.md.

python scripts/collision_table.py FOLDER... [--steps 300] [-o docs/collision.md]

Every model in the folders that loads and can move is simulated, held by its servos, with the
default settings, each value of convex_meshes, and without self-collision; and limp with the default
settings. Times are CPU times.
The parts of meshes are computed once and cached, which may take minutes.
"""

from __future__ import annotations

import argparse
import logging
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from model_table import find_models
from page_section import table, write_section

from hrp_model import Diagnostics, ModelError
from hrp_sim import Simulation, load_world
from hrp_sim.articulation.flatten import flatten
from hrp_sim.control.settings import LIMP
from hrp_sim.physics.engine import PhysicsError, PhysicsSettings
from hrp_sim.world.config import WorldConfig

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "collision.md"
STEP = PhysicsSettings().time_step
DEAR = 2.0  # [us] that are noise
REAL_TIME = 3.0  # slower models are listed, with the cause
WARM_UP, SAMPLED = 5, 10  # steps; every tenth is measured pair by pair
MAX_TIME = 2.0  # of a run, in [s]
VARIANTS: dict[str, dict[str, object]] = {
    "auto": {},
    "false": {"convex_meshes": False},
    "true": {"convex_meshes": True},
    "parts": {"convex_meshes": "parts"},
    "apart": {"self_collision": False},
}
MARKS = {
    name: (f"<!-- {name}: made by scripts/collision_table.py -->", f"<!-- end of {name} -->")
    for name in ("Self-collision", "Meshes", "Slow models")
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


def silent() -> Diagnostics:
    """Return diagnostics that nobody reads."""
    return Diagnostics.silent()


def run(world: WorldConfig, steps: int) -> Run:
    """Simulate a world.

    Raises:
        PhysicsError: It cannot be simulated.
    """
    start = time.process_time()
    with Simulation(world, defer_images=True, diagnostics=silent()) as sim:
        load = time.process_time() - start
        sim.wanted, engine = lambda _: False, sim.engine
        engine.record_contacts = True
        engine.step()
        points = engine.contact_points()
        own = {
            tuple(sorted(links))
            for (a, b), links in zip(points.bodies, points.links.tolist(), strict=True)
            if a == b
        }
        engine.record_contacts = False
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
        n = len(contacts)
        return Run(1e6 * used / n / SAMPLED, median(collisions), sum(contacts) / n, len(own), load)


def measure(path: Path, name: str, steps: int) -> Model | None:
    """Measure one model; None if it does not load or cannot move."""
    try:
        world = load_world(path, silent())
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
            if model.triangles or key not in ("false", "true", "parts"):
                changed = replace(world, physics=replace(world.physics, **settings))
                model.runs[key] = run(changed, steps)
        bodies = tuple(replace(entry, control=LIMP) for entry in world.bodies)
        model.runs["limp"] = run(replace(world, bodies=bodies), steps)
    except PhysicsError as error:
        model.error = str(error)
    return model


def self_collision(models: Sequence[Model]) -> str:
    """Return what self-collision costs and finds."""
    both = [m for m in models if {"auto", "apart"} <= m.runs.keys()]
    ratios = [m.runs["auto"].step / m.runs["apart"].step for m in both]
    longer = [m.runs["auto"].step - m.runs["apart"].step for m in both]
    dear = [m for m, r, t in zip(both, ratios, longer, strict=True) if r > 1.1 and t > DEAR]
    touching = [m for m in both if m.runs["auto"].touching]
    text = (
        f"Of {len(both)} models that move, self-collision makes the step of the median one "
        f"{median(ratios):.2f} times as long, and that of {len(dear)} by more than 10 % and "
        f"{DEAR:g} us longer. "
        f"In {len(touching)}, links touch each other in the first step.\n\n"
    )
    listed = sorted({m.name: m for m in (*dear, *touching)}.values(), key=lambda m: m.name)
    rows = [
        [
            m.name,
            str(m.runs["auto"].touching),
            f"{m.runs['auto'].step:.0f}",
            f"{m.runs['apart'].step:.0f}",
            f"{m.runs['auto'].contacts:.0f}",
            f"{m.runs['apart'].contacts:.0f}",
        ]
        for m in listed
    ]
    header = ["model", "pairs touching at first", "us, on", "us, off", "points, on", "points, off"]
    return text + table(header, rows)


def meshes(models: Sequence[Model]) -> str:
    """Return the time of collision detection with each value of convex_meshes."""
    rows = []
    for m in sorted(models, key=lambda m: m.name):
        if not m.triangles or "auto" not in m.runs or "false" not in m.runs:
            continue
        times = [m.runs.get(key) for key in ("false", "auto", "true", "parts")]
        loads = [m.runs[key].load for key in ("false", "auto")]
        rows.append(
            [
                *(m.name, str(m.triangles)),
                *(f"{x.collision:.1f}" if x else "" for x in times),
                *(f"{1e3 * x:.0f}" for x in loads),
            ]
        )
    header = ["model", "triangles", "false", "auto", "true", "parts", "load false", "load auto"]
    return table(header, rows)


def slow(models: Sequence[Model]) -> str:
    """Return the models that are slow, and why."""
    rows = []
    for m in sorted(models, key=lambda m: m.name):
        for name, key in (("held", "auto"), ("limp", "limp")):
            found = m.runs.get(key)
            if found and 1e6 * STEP / found.step < REAL_TIME:
                collision = found.collision / found.step
                cells = [f"{found.step:.0f}", f"{1e6 * STEP / found.step:.2f}"]
                cells += [f"{collision:.0%}", f"{found.contacts:.0f}"]
                rows.append([m.name, name, *cells])
    count = sum("limp" in m.runs for m in models)
    text = f"Of {count} models, those below {REAL_TIME:g} times real time:\n\n"
    return text + table(
        ["model", "servos", "us a step", "real time", "of it collision", "points"], rows
    )


def find(folders: Sequence[Path]) -> Iterator[tuple[Path, str]]:
    """Yield the files in the folders that may be models, and their names in the tables."""
    for folder in folders:
        for name in find_models(folder):
            yield folder / name, f"models/{name}" if folder.resolve() == ROOT / "models" else name


def main() -> None:
    """Measure, and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("-o", "--output", type=Path, default=PAGE)
    options = parser.parse_args()
    logging.getLogger("hrp_sim").setLevel(logging.ERROR)
    models = []
    for path, name in find(options.folders):
        model = measure(path, name, options.steps)
        if model is not None:
            models.append(model)
            print(name, model.error, file=sys.stderr)
    makers = {"Self-collision": self_collision, "Meshes": meshes, "Slow models": slow}
    for name, maker in makers.items():
        write_section(options.output, *MARKS[name], maker(models))


if __name__ == "__main__":
    main()
