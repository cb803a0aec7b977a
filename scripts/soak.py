#!/usr/bin/env python3
"""Add and remove bodies, step and read sensors for a long time; check that memory does not grow.

python scripts/soak.py [--cycles 1000000] [--steps 10000000] [--sensors 3600] [--bound MIB]

The memory of the process is sampled after a warm-up of a tenth. The script prints its growth, by a
line fitted to the samples, and the growth of the memory allocated by malloc between the first and
the last sample. The exit status is 1 if either exceeds the bound. A mistimed reading of a sensor
ends the run. See docs/safety.md.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import logging
import resource
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import cycle
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from sensor_soak import Sensors

from hrp_model import Body, Link, Pose
from hrp_model.body import ExtraJoint, ExtraJointType, Joint, JointType
from hrp_model.devices import ForceSensor
from hrp_model.geometry import Box, Capsule, Cylinder, Mesh, Shape, Sphere
from hrp_sim.ode import OdeEngine
from hrp_sim.physics.engine import PhysicsSettings, Placement, Solver

SAMPLES = 100
MIB = 2**20
X, Y, Z = np.eye(3)
ALIVE = 6  # bodies in the world at a time, besides the floor
TETRAHEDRON = Mesh(
    vertices=np.array([[0, 0, 0], [0.1, 0, 0], [0, 0.1, 0], [0, 0, 0.1]]) - 0.025,
    triangles=np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]], dtype=np.int32),
)


def _link(name: str, parent: str | None, kind: JointType, *shapes: Shape, **more: object) -> Link:
    joint = Joint(type=kind, name=name, axis=Y, equivalent_rotor_inertia=0.01)
    options = {"mass": 1.0, "inertia": np.eye(3) * 0.01, "collision": shapes}
    return Link(name=name, parent=parent, joint=joint, **{**options, **more})


def _box() -> Body:
    shape = Shape(Box(np.full(3, 0.1)))
    return Body(name="box", links=(_link("BOX", None, JointType.FREE, shape),))


def _arm() -> Body:
    links = [_link("BASE", None, JointType.FREE, Shape(Sphere(0.05)))]
    for k, kind in enumerate((JointType.REVOLUTE, JointType.PRISMATIC, JointType.REVOLUTE)):
        pose = Pose(p=np.array([0.2, 0.0, 0.0]))
        shape = Shape(Capsule(0.03, 0.1))
        links.append(_link(f"L{k}", links[-1].name, kind, shape, X_PL=pose))
    return Body(name="arm", links=tuple(links), devices=(ForceSensor(name="f", link="L2"),))


def _loop(kind: ExtraJointType) -> Body:
    """Two arms on one base with connected ends."""
    links = [_link("BASE", None, JointType.FREE)]
    for side, y in (("LEFT", 0.1), ("RIGHT", -0.1)):
        pose = Pose(p=np.array([0.0, y, 0.0]))
        links.append(_link(side, "BASE", JointType.REVOLUTE, X_PL=pose))
    tie = ExtraJoint(type=kind, links=("LEFT", "RIGHT"), X_BJ=Pose(p=np.array([0.0, 0.2, 0.0])))
    return Body(name=f"loop_{kind.value}", links=tuple(links), extra_joints=(tie,))


def _tracks() -> Body:
    links = [_link("HULL", None, JointType.FREE, Shape(Box(np.array([0.4, 0.2, 0.1]))))]
    for side, y in (("LEFT", 0.15), ("RIGHT", -0.15)):
        pose = Pose(p=np.array([0.0, y, 0.0]))
        shape = Shape(Cylinder(0.08, 0.05))
        links.append(_link(side, "HULL", JointType.TRACK, shape, X_PL=pose))
    return Body(name="tracks", links=tuple(links))


def _mesh() -> Body:
    return Body(name="mesh", links=(_link("MESH", None, JointType.FREE, Shape(TETRAHEDRON)),))


def bodies() -> list[Body]:
    """Return one body of each kind that is added and removed."""
    return [_box(), _arm(), *map(_loop, ExtraJointType), _tracks(), _mesh()]


def _floor() -> Placement:
    shape = Shape(Box(np.array([20.0, 20.0, 1.0])))
    link = _link("FLOOR", None, JointType.FIXED, shape)
    pose = Pose(p=np.array([0.0, 0.0, -0.5]))
    return Placement(name="floor", body=Body(name="floor", links=(link,)), X_WL=pose, fixed=True)


class Cycles:
    """Each call adds a body to a world, steps, and removes one when there are enough.

    From time to time one is moved, or the world is reset, or saved and restored.
    """

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)
        self._bodies = bodies()
        self._alive: list[Placement] = []
        self._made = 0
        self._engine = OdeEngine(PhysicsSettings())
        self._engine.add_body(_floor())

    def __call__(self) -> None:
        """Add a body, and remove one when there are enough."""
        engine, rng = self._engine, self._rng
        body = self._bodies[rng.integers(len(self._bodies))]
        fixed = bool(rng.random() < 0.1)
        placed = Placement(
            name=f"{body.name}{self._made}", body=body, X_WL=self._pose(), fixed=fixed
        )
        engine.add_body(placed).drive.track_speed[:] = [
            0.1 if link.joint.type is JointType.TRACK else 0.0 for link in body.links
        ]
        self._made += 1
        self._alive.append(placed)
        engine.step()
        if len(self._alive) > ALIVE:
            engine.remove_body(self._alive.pop(rng.integers(len(self._alive))).name)
        if self._made % 3 == 0:
            engine.reset()
        elif self._made % 4 == 0:
            moved = self._alive[rng.integers(len(self._alive))]
            engine.move_body(replace(moved, X_WL=self._pose()))
        elif self._made % 5 == 0:
            saved = engine.save()
            engine.step()
            engine.restore(saved)

    def _pose(self) -> Pose:
        return Pose(p=self._rng.uniform([-2.0, -2.0, 0.0], [2.0, 2.0, 1.0]))


class Steps:
    """Each call takes many steps of a box, an arm and a tracked vehicle on a floor.

    A failed step, which is a defect, ends the run.
    """

    BATCH = 100

    def __init__(self, solver: Solver = Solver.WORLD) -> None:
        self._engine = OdeEngine(PhysicsSettings(solver=solver))
        self._engine.add_body(_floor())
        for k, body in enumerate((_box(), _arm(), _tracks())):
            pose = Pose(p=np.array([0.0, float(k), 0.3]))
            self._engine.add_body(Placement(name=body.name, body=body, X_WL=pose))

    def __call__(self) -> None:
        """Take the steps."""
        self._engine.step(self.BATCH)


@dataclass(frozen=True)
class Growth:
    """Growth of the memory of the process after the warm-up, in [byte].

    Attributes:
        before, after: Resident memory at the first and the last sample.
        slope: Of the line fitted to the resident memory, per call.
        heap: Growth of the memory allocated by malloc; 0 if the C library does not report it.
        calls: Calls between the first and the last sample.
        seconds: Processor time of these calls, in [s].
    """

    before: int
    after: int
    slope: float
    heap: int
    calls: int
    seconds: float

    def exceeds(self, bound: float) -> bool:
        """Return whether either kind of memory has grown by more than a bound."""
        return max(self.after - self.before, self.slope * self.calls, self.heap) > bound


def resident() -> int:
    """Return the resident memory of this process, in [byte]."""
    with open("/proc/self/statm", encoding="ascii") as statm:
        return int(statm.read().split()[1]) * resource.getpagesize()


class _MallInfo(ctypes.Structure):
    _names = "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost"
    _fields_ = [(name, ctypes.c_size_t) for name in _names.split()]


def heap() -> int:
    """Return the memory allocated by malloc, in [byte]; 0 if the C library does not report it."""
    mallinfo = getattr(ctypes.CDLL(None), "mallinfo2", None)
    if mallinfo is None:
        return 0
    mallinfo.restype = _MallInfo
    info = mallinfo()
    return int(info.uordblks) + int(info.hblkhd)


def watch(
    call: Callable[[], None], calls: int, report: Callable[[str], None] = lambda _: None
) -> Growth:
    """Call a function repeatedly and return the growth of memory after a tenth of the calls."""
    warm_up = calls // 10
    for _ in range(warm_up):
        call()
    done, samples, heaps = 0, [], []
    began = time.process_time()
    for k in range(SAMPLES + 1):
        while done < (calls - warm_up) * k // SAMPLES:
            call()
            done += 1
        gc.collect()
        samples.append((done, resident()))
        heaps.append(heap())
        seconds = time.process_time() - began
        each = seconds / done * 1e6 if done else 0.0
        report(
            f"{warm_up + done}/{calls} calls, {samples[-1][1] / MIB:.2f} MiB, {each:.0f} us each"
        )
    slope = float(np.polyfit(*np.array(samples, dtype=np.float64).T, 1)[0]) if done else 0.0
    return Growth(samples[0][1], samples[-1][1], slope, heaps[-1] - heaps[0], done, seconds)


def _progress(what: str) -> Callable[[str], None]:
    if sys.stderr.isatty():
        return lambda line: print(f"\r\033[K{what}: {line}", end="", file=sys.stderr, flush=True)
    left = cycle(range(SAMPLES // 10))  # of a file, a line for each tenth

    def print_some(line: str) -> None:
        if next(left) == 0:
            print(f"{what}: {line}", file=sys.stderr, flush=True)

    return print_some


def _soak(what: str, call: Callable[[], None], calls: int, each: int, bound: float) -> bool:
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


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--cycles", type=int, default=1_000_000, help="number of bodies to add (default: 1,000,000)"
    )
    parser.add_argument(
        "--steps", type=int, default=10_000_000, help="number of steps (default: 10,000,000)"
    )
    parser.add_argument(
        "--sensors",
        type=int,
        default=3600,
        help="simulation time of the sensors, in [s] (default: 3600)",
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of the bodies and their poses")
    parser.add_argument(
        "--bound", type=float, default=4.0, help="maximum growth, in [MiB] (default: 4)"
    )
    options = parser.parse_args(arguments)
    if min(options.cycles, options.steps, options.sensors, options.seed) < 0:
        parser.error("counts and seed must not be negative")
    logging.getLogger("hrp_sim").setLevel(logging.ERROR)
    bound, stays = options.bound * MIB, True
    if options.cycles:
        stays &= _soak("cycles", Cycles(options.seed), options.cycles, 1, bound)
    for solver in Solver if options.steps else ():
        calls = max(1, options.steps // Steps.BATCH)
        stays &= _soak(f"steps, solver '{solver.value}'", Steps(solver), calls, Steps.BATCH, bound)
    if options.sensors:
        sensors = Sensors()
        stays &= _soak("seconds of sensors", sensors, options.sensors, 1, bound)
        sensors.close()
        print(", ".join(f"{name} {count}" for name, count in sensors.counts.items()))
    return 0 if stays else 1


if __name__ == "__main__":
    sys.exit(main())
