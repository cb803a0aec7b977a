#!/usr/bin/env python3
"""Simulate for a long time; check that memory does not grow, and that no step fails.

python scripts/soak.py memory [--cycles 1000000] [--steps 10000000] [--sensors 3600] [--bound MIB]
python scripts/soak.py scenes FOLDER [--scene NAME] [--solver NAME] [--steps 10000000] [--bound MIB]

memory: Bodies are added and removed, steps taken, sensors read. The memory of the process is
sampled after a warm-up of a tenth. Printed are its growth, by a line fitted to the samples, and the
growth of the memory allocated by malloc between the first and the last sample. A mistimed reading
of a sensor ends the run.

scenes: The humanoid, the pile and the tracks of the benchmark are stepped. Robots are pushed and
driven, boxes thrown, at random but the same in every run; each scene starts anew from time to time.
The state is written to FOLDER after each part, so a run that was ended goes on from there when the
same command is given again. FOLDER/SCENE-SOLVER.json has the progress: steps, failed steps, memory,
time of a step, digest of the state. In the background:

nohup python scripts/soak.py scenes /tmp/soak > /tmp/soak.log 2>&1 &

The exit status is 1 if memory grows by more than the bound, or a step failed. See docs/safety.md.
"""

from __future__ import annotations

import argparse
import json
import logging
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import cycle, product
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "test" / "support"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "test"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench.comparison.contenders import add_bodies
from bench.comparison.scenes import make_scene
from memory import MIB, SAMPLES, WARM_UP, heap, resident, watch
from sim.soaked import Cycles, Sensors, Steps

from hrp_model.body import JointType
from hrp_model.files.writer import write_atomically
from hrp_sim.engine.engine import PhysicsError, Solver, make_ode_engine
from hrp_sim.engine.snapshot import Snapshot
from hrp_sim.engine.state import SimulatedBody

SCENES = ("humanoid", "pile", "tracks")
BATCH = 200  # steps of constant drives
PART = 100 * BATCH  # steps between two that are written
RESTART = 300  # batches after which a scene starts anew
MESSAGES = 10  # of failures that are kept


def _progress(what: str) -> Callable[[str], None]:
    if sys.stderr.isatty():
        return lambda line: print(f"\r\033[K{what}: {line}", end="", file=sys.stderr, flush=True)
    left = cycle(range(SAMPLES // 10))  # of a file, a line for each tenth

    def print_some(line: str) -> None:
        if next(left) == 0:
            print(f"{what}: {line}", file=sys.stderr, flush=True)

    return print_some


def _watched(what: str, call: Callable[[], None], calls: int, each: int, bound: float) -> bool:
    """Measure the growth of memory, print it, and return whether it is within the bound."""
    growth = watch(call, calls, _progress(what))
    if sys.stderr.isatty():
        print(file=sys.stderr)
    grown = growth.exceeds(bound)
    growth = replace(growth, slope=growth.slope / each, calls=growth.calls * each)
    print(
        f"{what}: {calls * each} in all; over the last {growth.calls}: "
        f"resident {growth.before / MIB:.2f} -> {growth.after / MIB:.2f} MiB "
        f"({growth.slope:+.4f} bytes each), heap {growth.heap:+d} bytes; "
        f"{growth.seconds / growth.calls * 1e6:.1f} us each; "
        f"{'GROWS by more than' if grown else 'within'} {bound / MIB:g} MiB",
        flush=True,
    )
    return not grown


@dataclass
class Progress:
    """What has been done of one scene with one solver.

    Attributes:
        scene, solver: Their names.
        steps: Steps taken, with those that were left of a batch in which one failed.
        failures: Steps that failed, after each of which the scene starts anew.
        messages: Of the first failures.
        seconds: Processor time of all steps, in [s].
        resident, heap: Samples after each part: memory of the process and of malloc, in [byte],
            a list for each process that has worked on it.
        digest: Of the state: equal for equal runs, however often they were ended.
    """

    scene: str
    solver: str
    steps: int = 0
    failures: int = 0
    messages: list[str] = field(default_factory=list)
    seconds: float = 0.0
    resident: list[list[int]] = field(default_factory=list)
    heap: list[list[int]] = field(default_factory=list)
    digest: str = ""

    @property
    def growth(self) -> int:
        """Largest growth of memory in one process after its warm-up, in [byte]."""
        growths = [0]
        for samples in (*self.resident, *self.heap):
            warm = samples[round(WARM_UP * len(samples)) :]
            if len(warm) > 1:
                growths.append(warm[-1] - warm[0])
        return max(growths)

    def __str__(self) -> str:
        us = self.seconds / max(self.steps, 1) * 1e6
        return (
            f"{self.scene}, {self.solver}: {self.steps} steps, {self.failures} failed, "
            f"{us:.1f} us each, memory grew by {self.growth / MIB:.2f} MiB"
        )


class SceneSoak:
    """One scene with one solver, which goes on where it was left."""

    def __init__(self, scene: str, solver: Solver, folder: Path) -> None:
        self._report = folder / f"{scene}-{solver.value}.json"
        self._state = folder / f"{scene}-{solver.value}.npz"
        self._scene = make_scene(scene)
        world = self._scene.world.with_physics(solver=solver)
        self._engine = make_ode_engine(world.physics)
        add_bodies(self._engine, self._scene)
        self._engine.reset()
        self._start = self._engine.save()
        self.progress = Progress(scene, solver.value)
        if self._report.exists() and self._state.exists():
            self.progress = Progress(**json.loads(self._report.read_text(encoding="utf-8")))
            self._engine.restore(Snapshot.from_file(self._state).arrays)
        self.progress.resident.append([])
        self.progress.heap.append([])

    def advance(self, steps: int) -> None:
        """Take steps in batches, and write the state."""
        begun = time.process_time()
        for _ in range(steps // BATCH):
            self._batch()
        progress = self.progress
        progress.seconds += time.process_time() - begun
        progress.resident[-1].append(resident())
        progress.heap[-1].append(heap())
        progress.digest = self._engine.state.digest()
        Snapshot(self._engine.save()).to_file(self._state)
        write_atomically(self._report, json.dumps(asdict(progress)).encode())

    def close(self) -> None:
        """Free the engine."""
        self._engine.close()

    def _batch(self) -> None:
        number = self.progress.steps // BATCH
        if number % RESTART == 0:
            self._engine.restore(self._start)
        rng = np.random.default_rng(number)  # depends on the place in the run alone
        for name, body in self._engine.state.bodies.items():
            if not body.body.is_static:
                self._disturb(name, body, rng)
        try:
            self._engine.step(BATCH)
        except PhysicsError as error:
            self.progress.failures += 1
            self.progress.messages = [*self.progress.messages, str(error)][:MESSAGES]
            self._engine.reset()
            self._engine.restore(self._start)
        self.progress.steps += BATCH

    def _disturb(self, name: str, body: SimulatedBody, rng: np.random.Generator) -> None:
        """Push a body in one batch of ten, and change what its drives aim at."""
        weight = 10.0 * sum(link.mass for link in body.body.links)
        is_pushed = rng.random() < 0.1
        body.wrench.force[0] = rng.normal(size=3) * 0.3 * weight * is_pushed
        target = self._start[f"{name}/drive_q"]
        body.drive.q[:] = target + rng.uniform(-0.05, 0.05, len(target))
        for i, link in enumerate(body.body.links):
            if link.joint.type is JointType.TRACK:
                body.drive.track_speed[i] = rng.uniform(-0.5, 1.0)


def soak_memory(options: argparse.Namespace) -> bool:
    """Soak bodies that come and go, steps, and sensors; return whether memory stays."""
    bound, stays = options.bound * MIB, True
    if options.cycles:
        stays &= _watched("cycles", Cycles(options.seed), options.cycles, 1, bound)
    for solver in Solver if options.steps else ():
        calls, what = max(1, options.steps // Steps.BATCH), f"steps, solver '{solver.value}'"
        stays &= _watched(what, Steps(solver), calls, Steps.BATCH, bound)
    if options.sensors:
        sensors = Sensors()
        stays &= _watched("seconds of sensors", sensors, options.sensors, 1, bound)
        sensors.close()
        print(", ".join(f"{name} {count}" for name, count in sensors.counts.items()))
    return stays


def soak_scenes(options: argparse.Namespace) -> bool:
    """Soak scenes; return whether no step failed and memory stays."""
    options.folder.mkdir(parents=True, exist_ok=True)
    is_good = True
    for name, solver in product(options.scene or SCENES, options.solver or [Solver.WORLD.value]):
        is_good &= _soaked(SceneSoak(name, Solver(solver), options.folder), options)
    return is_good


def _soaked(soak: SceneSoak, options: argparse.Namespace) -> bool:
    """Take the steps of one scene; return whether none failed and memory stayed."""
    progress = soak.progress
    parts = max(1, options.steps // PART)
    while (left := options.steps - progress.steps) >= BATCH:
        soak.advance(min(left, PART))
        if sys.stderr.isatty():
            print(f"\r\033[K{progress}", end="", file=sys.stderr, flush=True)
        elif progress.steps // PART % max(1, parts // 100) == 0:  # of a file, a line for each %
            print(progress, file=sys.stderr, flush=True)
    soak.close()
    if sys.stderr.isatty():
        print(file=sys.stderr)
    is_good = progress.failures == 0 and progress.growth <= options.bound * MIB
    print(f"{progress}: {'good' if is_good else 'BAD'}", *progress.messages, sep="\n  ", flush=True)
    return is_good


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    commands = parser.add_subparsers(required=True, metavar="memory | scenes")
    memory, scenes = commands.add_parser("memory"), commands.add_parser("scenes")
    memory.set_defaults(soak=soak_memory)
    scenes.set_defaults(soak=soak_scenes)
    counts = {"cycles": "bodies to add", "sensors": "simulated seconds", "seed": "of the bodies"}
    for name, default in (("cycles", 1_000_000), ("sensors", 3600), ("seed", 0)):
        memory.add_argument(f"--{name}", type=_count, default=default, help=counts[name])
    choices = {"action": "append", "default": []}
    scenes.add_argument("folder", type=Path, metavar="FOLDER", help="of states and progress")
    scenes.add_argument("--scene", choices=SCENES, help="may be repeated; default: all", **choices)
    solvers = [solver.value for solver in Solver]
    scenes.add_argument(
        "--solver", choices=solvers, help="may be repeated; default: world", **choices
    )
    for command in (memory, scenes):
        command.add_argument("--steps", type=_count, default=10_000_000, help="number of steps")
        command.add_argument("--bound", type=float, default=4.0, help="of the growth, in [MiB]")
    return parser


def _count(text: str) -> int:
    if (count := int(text)) < 0:
        raise argparse.ArgumentTypeError("it must not be negative")
    return count


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    options = _parser().parse_args(arguments)
    logging.getLogger("hrp_sim").setLevel(logging.ERROR)
    return 0 if options.soak(options) else 1


if __name__ == "__main__":
    sys.exit(main())
