"""The speed of this machine: the engine beside the same scene in plain C.

The plain C program is compiled on the spot from ``test/bench/loop.c``, so this needs a
checkout of the source and a C compiler.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from statistics import median
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

from hrp_model.resources import share_folder
from hrp_model.rigid import Array

from .articulation import Articulation, GeomKind, IntArray
from .config import WorldConfig
from .engine import PhysicsSettings, Solver
from .flatten import flatten
from .load import load_world
from .ode import OdeEngine

GOOD, PROBLEM = 0, 1
LOOP_SOURCE = Path(__file__).resolve().parents[1] / "test" / "bench" / "loop.c"


class Speed(NamedTuple):
    """CPU time of a step, in [us], and where the last group ended, in [m]."""

    step_us: float
    height: float


def bench(model: Path | None, solver: str, duration: float, runs: int) -> int:
    """Measure a model, limp on a floor, or a world file; print a table.

    Args:
        model: Path of a model or a world; None means the package's humanoid.
        solver: Name of a ``Solver``.
        duration: Of one run, in simulated [s].
        runs: How many of each, taking turns.

    Returns:
        The exit status: 0, or 1 when the C loop cannot be made.

    Raises:
        ModelError, PhysicsError: The model cannot be read or simulated.
    """
    path = share_folder() / "models" / "humanoid" / "humanoid.body" if model is None else model
    world = load_world(path).with_physics(solver=Solver(solver))
    with tempfile.TemporaryDirectory() as folder:
        loop = _compile(Path(folder))
        if loop is None:
            return PROBLEM
        scene = Path(folder) / "scene.txt"
        write_scene(world, scene)
        steps = max(1, round(duration / world.physics.time_step))
        turns = [
            (
                run_engine(world, steps),
                run_engine(world, steps, steps),
                run_loop(loop, scene, steps),
            )
            for _ in range(max(1, runs))
        ]
    names = ("engine, one step a call", "engine, all steps in one call", "plain C")
    columns = dict(zip(names, zip(*turns, strict=True), strict=True))
    _print(f"{path.name}, {solver} solver", columns, world.physics.time_step * 1e6)
    return GOOD


def run_engine(world: WorldConfig, steps: int, per_call: int = 1) -> Speed:
    """Step a limp world with the engine, ``per_call`` steps at a time."""
    engine = OdeEngine(world.physics)
    bodies = [engine.add_body(entry.placement) for entry in world.bodies]
    engine.reset()
    start = time.process_time()
    for _ in range(0, steps, per_call):
        engine.step(per_call)
    taken = time.process_time() - start
    last = bodies[-1]
    com = last.motion.R[-1] @ last.body.links[-1].center_of_mass + last.motion.p[-1]
    engine.close()
    return Speed(taken / steps * 1e6, float(com[2]))


def run_loop(loop: Path, scene: Path, steps: int) -> Speed:
    """Step a scene file with the plain C program."""
    done = subprocess.run([loop, scene, str(steps)], capture_output=True, text=True, check=True)
    return Speed(*map(float, done.stdout.split()))


def write_scene(world: WorldConfig, path: Path) -> None:
    """Write a limp world as the numbers that ``loop.c`` reads."""
    flat = [flatten(entry.placement, world.physics) for entry in world.bodies]
    values = [*_settings(world.physics), len(flat)]
    with path.open("w", encoding="ascii") as file:
        for part in (values, *map(_body, flat)):
            file.write("\n".join(repr(float(v)) for v in part) + "\n")


def compile_loop(source: Path, folder: Path) -> Path:
    """Compile the plain C program into a folder; raises CalledProcessError."""
    program = folder / "loop"
    compiler = os.environ.get("CC") or "cc"
    command = [compiler, "-O2", "-std=gnu11", str(source), "-o", str(program), "-lode", "-lm"]
    subprocess.run(command, check=True)
    return program


def _compile(folder: Path) -> Path | None:
    if not LOOP_SOURCE.is_file():
        print(f"error: this needs a source checkout with {LOOP_SOURCE}", file=sys.stderr)
        return None
    if shutil.which(os.environ.get("CC") or "cc") is None:
        print("error: no C compiler: install one (apt install build-essential)", file=sys.stderr)
        return None
    try:
        return compile_loop(LOOP_SOURCE, folder)
    except subprocess.CalledProcessError:
        print("error: the C loop does not compile; is libode-dev installed?", file=sys.stderr)
        return None


def _settings(s: PhysicsSettings) -> Iterator[float]:
    yield from (s.time_step, s.solver is Solver.QUICK, *s.gravity, s.erp, s.cfm, s.iterations)
    yield from (s.over_relaxation, s.max_correcting_velocity, s.surface_layer, s.max_contacts)
    yield from (s.joint_limits, s.self_collision, s.seed, s.friction)


def _body(a: Articulation) -> Iterator[float]:
    yield from (len(a.links.group), len(a.groups.mass), len(a.joints.kind), len(a.geoms.kind))
    yield from a.contacts.ravel().tolist()
    g, j = a.groups, a.joints
    yield from _rows(g.mass, g.inertia, g.zero_R, g.zero_p)
    yield from _rows(j.kind, j.child, j.parent, j.anchor, j.axis, j.lower, j.upper, j.rotor_inertia)
    yield from _rows(g.R, g.p, g.v, g.w)
    shapes = a.geoms
    for k, kind in enumerate(shapes.kind):
        yield from (kind, shapes.link[k], a.links.group[shapes.link[k]])
        yield from np.concatenate([shapes.size[k], shapes.R[k].ravel(), shapes.p[k]])
        if kind == GeomKind.MESH:
            vertices = shapes.vertices[shapes.first_vertex[k] : shapes.first_vertex[k + 1]]
            triangles = shapes.triangles[shapes.first_triangle[k] : shapes.first_triangle[k + 1]]
            yield from (len(vertices), len(triangles))
            yield from vertices.ravel()
            yield from triangles.ravel().tolist()


def _rows(*columns: Array | IntArray) -> Iterable[float]:
    """Return arrays of equal length side by side, row by row."""
    rows = zip(*columns, strict=True)
    return (float(v) for row in rows for column in row for v in np.ravel(column))


def _print(title: str, columns: dict[str, tuple[Speed, ...]], step_us: float) -> None:
    reference = median(speed.step_us for speed in columns["plain C"])
    table = Table(title=title)
    for heading in ("", "us per step", "real-time factor", "ratio to plain C", "ends at [m]"):
        table.add_column(heading, justify="right" if heading else "left")
    for name, speeds in columns.items():
        middle = median(speed.step_us for speed in speeds)
        table.add_row(
            name,
            f"{middle:.1f}",
            f"{step_us / middle:.2f}",
            f"{middle / reference:.3f}",
            f"{speeds[0].height:.4f}",
        )
    Console().print(table)
