"""A program that simulates absurd bodies; that it ends by itself is what it shows.

``python -m sim.physics.wild_worlds COUNT`` prints how many worlds ran and failed.
"""

import sys

import numpy as np
from sim.physics.scenes import (
    PRISMATIC,
    REVOLUTE,
    X,
    Y,
    Z,
    at,
    child,
    floor,
    moving,
    placed,
    root,
    world,
)

from hrp_model.body import Body, ExtraJoint, ExtraJointType
from hrp_model.geometry import Box, Capsule, Cone, Cylinder, Sphere
from hrp_sim.engine.engine import PhysicsError, Solver

RESISTANCES = ("damping", "friction")
SHAPES = [
    lambda a, _: Box(np.full(3, a)),
    lambda a, _: Sphere(a),
    Cylinder,
    Capsule,
    Cone,
]
TIES = list(ExtraJointType)


def wild_world(rng):
    """Return a world of one body whose numbers spread over twenty decades."""

    def size(lowest, highest):
        return 10.0 ** rng.uniform(lowest, highest)

    def shape():
        a, b = size(-3, 2), size(-3, 2)
        return (placed(SHAPES[rng.integers(len(SHAPES))](a, b)),)

    def masses():
        return {"mass": size(-9, 9), "inertia": np.eye(3) * size(-12, 9), "collision": shape()}

    links = [root(free=True, **masses())]
    for k in range(rng.integers(0, 5)):
        kind = (REVOLUTE, PRISMATIC)[rng.integers(2)]
        axis = (X, Y, Z)[rng.integers(3)]
        rotor = size(-9, 9) * rng.integers(2)
        place = at(*rng.normal(size=3) * size(-3, 3))
        joint = {"rotor": rotor} | {x: size(-9, 9) * rng.integers(2) for x in RESISTANCES}
        links.append(child(f"L{k}", links[-1].name, kind, axis, X_PL=place, **joint, **masses()))
    ties = [
        ExtraJoint(
            type=TIES[rng.integers(len(TIES))],
            links=("BASE", links[-1].name),
            X_AJ=at(*rng.normal(size=3) * size(-3, 3)),
            axis=(X, Y, Z)[rng.integers(3)],
        )
        for _ in range(rng.integers(0, 2))
    ]
    start = moving(
        Body(name="wild", links=tuple(links), extra_joints=tuple(ties)),
        at(z=size(-3, 1)),
        v=rng.normal(size=3) * size(-3, 4),
        w=rng.normal(size=3) * size(-3, 4),
    )
    made, wild, _ = world(
        start,
        floor(),
        solver=list(Solver)[rng.integers(2)],
        time_step=size(-5, -1),
        gravity=(0.0, 0.0, -size(0, 5)),
    )
    for name, highest in (("kp", 12), ("kd", 12), ("effort", 10)):
        getattr(wild.drive, name)[:] = rng.random(len(links) - 1) * size(-3, highest)
    return made, wild


def main(count):
    rng = np.random.default_rng(1)
    ran = failed = 0
    for _ in range(count):
        engine, wild = wild_world(rng)
        start = wild.motion.copy()
        try:
            engine.step(100)
            ran += 1
        except PhysicsError as error:
            failed += 1
            if "'wild'" not in str(error) and "ODE" not in str(error):
                raise
        engine.cast_rays(np.zeros((1, 3)), X[None], 10.0)
        engine.reset()
        for name in ("p", "R", "v", "w", "q", "dq"):
            np.testing.assert_array_equal(getattr(wild.motion, name), getattr(start, name))
        engine.close()
    print(ran, failed)


if __name__ == "__main__":
    main(int(sys.argv[1]))
