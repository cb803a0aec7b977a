"""A program that steps worlds that are hard to solve; its argument names the solver.

Before each world its name is printed, so that the last line names the one that ended the process.
Anything but a PhysicsError ends it with a traceback, and so does a number that is not finite.
The last line has the name of each world with how it ended, "lived" or "refused".
"""

import json
import logging
import sys
import warnings
from dataclasses import fields

import numpy as np
from sim.hostile.limits import bound
from sim.physics.scenes import (
    PRISMATIC,
    REVOLUTE,
    X,
    Y,
    Z,
    at,
    box_inertia,
    child,
    fixed,
    floor,
    lone,
    moving,
    placed,
    root,
)

from hrp_model.body import Body, ExtraJoint, ExtraJointType, Range
from hrp_model.geometry import Box
from hrp_sim.engine.engine import PhysicsError, PhysicsSettings, Solver
from hrp_sim.engine.ode import OdeEngine

STEPS = 20
SIDE = 0.1
# Cubes in one point: all touch all. ODE's exact solver takes a second for 22, minutes for 60; ours
# 0.2 s a step for 40.
CROWDS = {Solver.QUICK: 40, Solver.WORLD: 30}
FEW = 16


def cube(mass=1.0, z=SIDE / 2.0, name="cube"):
    size = np.full(3, SIDE)
    return moving(
        lone(placed(Box(size)), mass=mass, inertia=box_inertia(mass, size)), at(z=z), name
    )


def tie(kind, a, b, X_AJ, X_BJ, axis=Z):
    return ExtraJoint(type=kind, links=(a, b), X_AJ=X_AJ, X_BJ=X_BJ, axis=axis)


def stack(*masses):
    return [cube(m, SIDE * (k + 0.5), f"cube{k}") for k, m in enumerate(masses)]


def uneven_chain():
    """Links of 1 g and 1 t in turn, on hinges and sliders, with rotors of all sizes."""
    links = [root("B0")]
    for k in range(1, 9):
        mass = 1e3 if k % 2 else 1e-3
        kind = PRISMATIC if k % 4 == 2 else REVOLUTE
        inertia = np.eye(3) * mass * 0.01
        rotor = 10.0 ** (k - 6)
        parent = f"B{k - 1}"
        links.append(
            child(f"B{k}", parent, kind, Y, X_PL=at(0.2), mass=mass, inertia=inertia, rotor=rotor)
        )
    return fixed(Body(name="chain", links=tuple(links)), at(z=2.0))


def door():
    """Twenty hinges on one axis, where one is enough."""
    ties = [
        tie(ExtraJointType.HINGE, "DOOR", "BASE", at(z=0.1 * k), at(z=0.1 * k)) for k in range(20)
    ]
    links = (root(), child("DOOR", "BASE", REVOLUTE, Z, center_of_mass=0.4 * X))
    return fixed(Body(name="door", links=links, extra_joints=tuple(ties)), dq=np.ones(1))


def truss(length):
    """Three bars that are welded into a triangle, the last of which is too long to close it."""
    turn = np.pi * 2.0 / 3.0
    bend = np.array([[np.cos(turn), -np.sin(turn), 0], [np.sin(turn), np.cos(turn), 0], [0, 0, 1]])
    links = (
        root(free=True),
        child("B", "BASE", REVOLUTE, Z, X_PL=at(0.3, R=bend)),
        child("C", "B", REVOLUTE, Z, X_PL=at(0.3, R=bend)),
    )
    ties = [
        tie(kind, "C", "BASE", at(length), at())
        for kind in (ExtraJointType.FIXED, ExtraJointType.HINGE, ExtraJointType.BALL)
    ]
    return moving(Body(name="truss", links=links, extra_joints=tuple(ties)), at(z=1.0))


def contradictory_limits():
    """Two hinges that a weld makes one, whose ranges have nothing in common."""
    links = (
        root(),
        child("A", "BASE", REVOLUTE, Z, position=Range(0.5, 0.6)),
        child("B", "BASE", REVOLUTE, Z, position=Range(-0.6, -0.5)),
        child("C", "B", PRISMATIC, X, position=Range(1.0, 1.0)),
        child("D", "C", PRISMATIC, X, position=Range(2.0, -2.0)),
    )
    weld = tie(ExtraJointType.FIXED, "A", "B", at(), at())
    return fixed(Body(name="limits", links=links, extra_joints=(weld,)))


def vice():
    """A cube between two walls that are closer than it is wide."""
    walls = [
        placed(Box(np.array([0.2, 1.0, 1.0])), at(sign * (0.1 + 0.45 * SIDE))) for sign in (-1, 1)
    ]
    return fixed(Body(name="vice", links=(root("VICE", mass=0.0, collision=tuple(walls)),)))


def stiff_arm():
    links = (root(), child("A", "BASE", REVOLUTE, X), child("B", "A", REVOLUTE, X, X_PL=at(z=0.3)))
    return fixed(Body(name="arm", links=links), at(z=2.0))


WORLDS = {
    "a heavy cube on a light one": [floor(), *stack(1.0, 1e6)],
    "a light cube on a heavy one": [floor(), *stack(1e6, 1.0)],
    "light and heavy cubes in turn": [floor(), *stack(1.0, 1e3, 1.0, 1e6, 1e-3)],
    "a chain of light and heavy links": [uneven_chain()],
    "a door on twenty hinges": [door()],
    "a triangle that closes": [truss(0.3)],
    "a triangle that cannot close": [truss(0.7)],
    "limits that exclude each other": [contradictory_limits()],
    "a cube in a vice": [floor(), vice(), cube(z=0.5)],
    "a stiff arm": [stiff_arm()],
}


def crowd(count):
    return [floor(), *(cube(z=0.5, name=f"cube{k}") for k in range(count))]


def is_finite(engine):
    motions = [body.motion for body in engine.state.bodies.values()]
    return all(np.isfinite(getattr(m, f.name)).all() for m in motions for f in fields(m))


def run(name, placements, solver):
    """Return how a world ended; it can go on after a reset in any case."""
    engine = OdeEngine(PhysicsSettings(solver=solver))
    bodies = [engine.add_body(placement) for placement in placements]
    if name == "a stiff arm":
        bodies[0].drive.kp[:] = bodies[0].drive.kd[:] = 1e11
        bodies[0].drive.q[:] = 1.0, -1.0
    ending = "lived"
    try:
        for _ in range(STEPS):
            engine.step()
            assert is_finite(engine)
    except PhysicsError:
        ending = "refused"
    assert is_finite(engine)
    engine.reset()
    assert is_finite(engine)
    engine.close()
    return ending


def main(name):
    solver = Solver(name)
    bound(memory_mib=1500, cpu_seconds=60)
    logging.disable(logging.WARNING)
    warnings.simplefilter("error")
    endings = {}
    for world, placements in {
        **WORLDS,
        "cubes in one point": crowd(CROWDS.get(solver, FEW)),
    }.items():
        print(world, flush=True)
        endings[world] = run(world, placements, solver)
    print(json.dumps(endings))


if __name__ == "__main__":
    main(sys.argv[1])
