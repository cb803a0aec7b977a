"""A world that tumbles, and a digest of its state.

``python -m sim.ode.tumbling TIME_STEP COUNT [PREFIX]`` prints the digest after COUNT steps, for
each solver. With a prefix it starts from the snapshots PREFIX + solver + ``.npz``.
"""

import hashlib
import sys

import numpy as np
from sim.physics.scenes import REVOLUTE, X, Y, at, child, floor, lone, moving, placed, root, world

from hrp_model.body import Body
from hrp_model.geometry import Box, Sphere
from hrp_sim.engine.engine import Solver


def tumbling(solver=Solver.WORLD, **settings):
    """A jointed thing and some boxes and balls that fall on each other."""
    arm = (placed(Box(np.array([0.1, 0.3, 0.1])), at(y=0.2)),)
    links = (
        root(free=True, collision=(placed(Box(np.array([0.3, 0.2, 0.1]))),)),
        child("A", "BASE", REVOLUTE, X, X_PL=at(y=0.15), collision=arm, rotor=0.01),
        child("B", "A", REVOLUTE, Y, X_PL=at(y=0.4), collision=arm),
    )
    things = [moving(Body(name="arm", links=links), at(z=0.5))]
    for k in range(4):
        shape = placed(Sphere(0.1)) if k % 2 else placed(Box(np.full(3, 0.15)))
        things.append(moving(lone(shape), at(0.02 * k, 0.01 * k, 0.8 + 0.2 * k), name=f"t{k}"))
    engine, arm, *_ = world(floor(), *things, solver=solver, **settings)
    engine.state.bodies["arm"].drive.kp[:] = 5.0
    return engine


def digest(engine):
    sha = hashlib.sha256(str(engine.state.time_ns).encode())
    for simulated in engine.state.bodies.values():
        m = simulated.motion
        for array in (m.p, m.R, m.v, m.w, m.a, m.alpha, m.q, m.dq, m.effort):
            sha.update(array.tobytes())
    return sha.hexdigest()


def main(time_step, count, *prefix):
    for solver in Solver:
        engine = tumbling(solver, time_step=float(time_step))
        if prefix:
            with np.load(f"{prefix[0]}{solver.value}.npz") as file:
                engine.restore(dict(file))
        done = round(engine.state.time_ns * 1e-9 / float(time_step))
        engine.step(int(count) - done)
        print(digest(engine))


if __name__ == "__main__":
    main(*sys.argv[1:])
