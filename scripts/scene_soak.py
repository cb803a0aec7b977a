#!/usr/bin/env python3
"""Step the humanoid, the pile and the tracks of the benchmark for a long time, in parts.

python scripts/scene_soak.py FOLDER [--scene NAME] [--solver NAME] [--steps 10000000] [--bound MIB]

Robots are pushed and driven, boxes thrown, at random but the same in every run; each scene starts
anew from time to time. The state is written to FOLDER after each part, so a run that was ended
goes on from there when the same command is given again. FOLDER/SCENE-SOLVER.json has the progress:
steps, failed steps, memory, time of a step, digest of the state. The exit status is 1 if a step
failed or memory grew by more than the bound. In the background:

nohup python scripts/scene_soak.py /tmp/soak > /tmp/soak.log 2>&1 &
"""

from __future__ import annotations

import argparse
import json
import logging
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from itertools import product
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "test"))

from bench.comparison.contenders import add_bodies
from bench.comparison.scenes import make_scene
from soak import MIB, heap, resident

from hrp_model.body import JointType
from hrp_model.files.writer import write_atomically
from hrp_sim.engines import make_engine
from hrp_sim.physics.engine import PhysicsError, Solver
from hrp_sim.physics.snapshot import Snapshot
from hrp_sim.physics.state import SimulatedBody

SCENES = ("humanoid", "pile", "tracks")
BATCH = 200  # steps of constant drives
PART = 100 * BATCH  # steps between two that are written
RESTART = 300  # batches after which a scene starts anew
MESSAGES = 10  # of failures that are kept
_WARM_UP = 0.1  # share of the parts of a process, before which memory may grow


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
            warm = samples[round(_WARM_UP * len(samples)) :]
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
        self._engine = make_engine("ode", world.physics)
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


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="of states and progress")
    choices = {"action": "append", "default": []}
    parser.add_argument("--scene", choices=SCENES, help="may be repeated; default: all", **choices)
    parser.add_argument(
        "--solver",
        choices=[s.value for s in Solver],
        help="may be repeated; default: world",
        **choices,
    )
    parser.add_argument(
        "--steps", type=int, default=10_000_000, help="of each scene (default: %(default)d)"
    )
    parser.add_argument(
        "--bound", type=float, default=4.0, help="maximum growth of memory, in [MiB] (default: 4)"
    )
    options = parser.parse_args(arguments)
    if options.steps < BATCH:
        parser.error(f"--steps must be {BATCH} or more, not {options.steps}")
    logging.getLogger("hrp_sim").setLevel(logging.ERROR)
    options.folder.mkdir(parents=True, exist_ok=True)
    is_good = True
    for name, solver in product(options.scene or SCENES, options.solver or [Solver.WORLD.value]):
        is_good &= _soak(SceneSoak(name, Solver(solver), options.folder), options)
    return 0 if is_good else 1


def _soak(soak: SceneSoak, options: argparse.Namespace) -> bool:
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


if __name__ == "__main__":
    sys.exit(main())
