"""A program that spawns, moves, pushes, saves, damages and restores, with hostile numbers.

Arguments: seed, count. It prints the number of each world before it begins. What is refused is a
PhysicsError, a KeyError or a ValueError, and leaves the world as it was.
"""

import logging
import sys
import warnings
from dataclasses import replace

import numpy as np
from sim.hostile.hostile_bodies import Hostile
from sim.hostile.limits import bound
from sim.physics.scenes import REVOLUTE, X, Z, at, fixed, floor, lone, moving, one_joint, placed

from hrp_model.geometry import Box, Sphere
from hrp_sim.engine.engine import PhysicsError, PhysicsSettings, Solver
from hrp_sim.engine.snapshot import Snapshot
from hrp_sim.simulation import Simulation
from hrp_sim.world.config import BodyEntry, WorldConfig

REFUSALS = (PhysicsError, KeyError, ValueError)
BALL = lone(placed(Sphere(0.1)), name="ball")
ARM = one_joint(REVOLUTE, X, collision=(placed(Box(np.full(3, 0.1)), at(z=0.3)),))


class Caller(Hostile):
    """Calls every service of a simulation with numbers that may be hostile."""

    def __init__(self, seed):
        super().__init__(seed)
        settings = PhysicsSettings(solver=self.pick(list(Solver)))
        placements = (floor(), fixed(ARM, at(z=1.0)), moving(BALL, at(1.0, z=0.5)))
        bodies = tuple(BodyEntry(placement=p) for p in placements)
        self.simulation = Simulation(WorldConfig(physics=settings, bodies=bodies))
        self.saved = self.simulation.save()
        self.calls = (self.spawn, self.remove, self.move, self.push, self.restore, self.drive)

    def spawn(self):
        name = self.pick(["ball", "new", "other"])
        self.simulation.spawn(BodyEntry(placement=replace(self.placement(), name=name)))

    def remove(self):
        self.simulation.remove(self.pick(["ball", "new", "other"]))

    def move(self):
        body = self.pick([BALL, ARM])
        n = len(body.moving_links)
        self.simulation.move(
            replace(
                moving(body, self.pose(0.0, 0.0, 1.0)),
                q=self.array(np.zeros(n)),
                dq=self.array(np.zeros(n)),
                v=self.array(np.zeros(3)),
                w=self.array(np.zeros(3)),
                fixed=body is ARM,
            )
        )

    def push(self):
        body, link = self.pick([("ball", "BASE"), ("one", "ARM"), ("one", "NONE")])
        force, torque = self.array(X), self.array(Z)
        self.simulation.push(body, link, force, torque, self.number(0.01))

    def restore(self):
        arrays = dict(self.pick([self.saved, self.simulation.save()]).arrays)
        for name, array in arrays.items():
            if self.rng.random() >= 2.0 * self.rate:
                continue
            if array.dtype == np.float64:
                arrays[name] = self.array(array)
            elif array.dtype.kind == "i":
                extreme = self.pick(
                    [-1, 0, 1, np.iinfo(array.dtype).min, np.iinfo(array.dtype).max]
                )
                arrays[name] = np.full_like(array, extreme)
        self.simulation.restore(Snapshot(arrays))

    def drive(self):
        drive = self.simulation.bodies["one"].drive
        getattr(drive, self.pick(["q", "dq", "kp", "kd", "effort"]))[0] = self.number(1.0)

    def step(self):
        """Step; if the world cannot go on, reset it."""
        try:
            for _ in range(3):
                self.simulation.step()
        except PhysicsError:
            self.simulation.reset()
            self.simulation.bodies["one"].drive.effort[:] = 0.0


def refused(simulation, call):
    """Tell whether a call is refused, which must change nothing."""
    before = simulation.state_hash()
    try:
        call()
    except REFUSALS:
        assert simulation.state_hash() == before
        return True
    return False


def live(seed):
    """Call services at random; return how many were refused, and how many not."""
    caller = Caller(seed)
    counts = [0, 0]
    for _ in range(15):
        counts[refused(caller.simulation, caller.pick(caller.calls))] += 1
        caller.step()
        for simulated in caller.simulation.bodies.values():
            assert np.all(np.isfinite(simulated.motion.p))
    caller.simulation.close()
    return counts


def main(first, count):
    bound(memory_mib=2000, cpu_seconds=100)
    logging.disable()
    warnings.simplefilter("ignore")
    counts = np.zeros(2, dtype=int)
    for seed in range(first, first + count):
        print(f"world {seed}", flush=True)
        counts += live(seed)
    print(*counts)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
