"""Random worlds of primitives, the same in every engine."""

import numpy as np
from sim.physics.scenes import (
    FIXED,
    PRISMATIC,
    REVOLUTE,
    at,
    box_inertia,
    child,
    floor,
    lone,
    moving,
    placed,
    root,
)

from hrp_model.body import Body, Range
from hrp_model.devices import ForceSensor
from hrp_model.geometry import Box, Capsule, Sphere
from hrp_model.rigid import axis_angle_matrix
from hrp_sim.engine.engine import ENGINES, PhysicsSettings, Placement, make_engine


def in_both(*placements, **settings):
    """Return the same world in each engine."""
    engines = [make_engine(name, PhysicsSettings(**settings)) for name in ENGINES]
    for engine in engines:
        for placement in placements:
            engine.add_body(placement)
    return engines


def unit(rng):
    v = rng.normal(size=3)
    return v / np.linalg.norm(v)


def rotation(rng):
    return axis_angle_matrix(unit(rng), rng.uniform(0.0, 3.0))


def shape(rng):
    a, b, c = rng.uniform(0.05, 0.2, size=3)
    return [Box(np.array([a, b, c])), Sphere(a), Capsule(a, b)][rng.integers(3)]


def inertia(rng):
    R = rotation(rng)
    return R @ np.diag(rng.uniform(0.01, 0.02, size=3)) @ R.T


def robot(rng, *, collision=False):
    """Return a tree of hinges, sliders and fixed joints with all that joints can have.

    Their stops are out of reach: the engines bounce off these in different ways.
    """
    links = [root(free=True, mass=2.0, inertia=inertia(rng))]
    for k in range(rng.integers(2, 6)):
        kind = [REVOLUTE, REVOLUTE, PRISMATIC, FIXED][rng.integers(4)]
        reach, most = rng.uniform(2.0, 3.0), rng.uniform(1.0, 10.0)
        options = {
            "position": Range(-reach, reach),
            "effort": [Range(-most, 2 * most), Range(-most, np.inf), Range(-np.inf, np.inf)][
                rng.integers(3)
            ],
            "damping": rng.uniform(0.0, 0.5) * rng.integers(2),
            "friction": rng.uniform(0.0, 0.5) * rng.integers(2),
            "rotor": rng.uniform(0.0, 0.1) * rng.integers(2),
        }
        links.append(
            child(
                f"L{k}",
                links[rng.integers(len(links))].name,
                kind,
                unit(rng),
                X_PL=at(*rng.uniform(-0.3, 0.3, size=3), rotation(rng)),
                mass=rng.uniform(0.3, 1.5),
                inertia=inertia(rng),
                center_of_mass=rng.uniform(-0.1, 0.1, size=3),
                collision=(placed(shape(rng), at(R=rotation(rng))),) if collision else (),
                **options,
            )
        )
    sensors = tuple(ForceSensor(name=x.name, link=x.name) for x in links[1:] if rng.integers(2))
    return Body(name="robot", links=tuple(links), devices=sensors)


def robot_in_motion(rng, *, is_fixed, speed=1.0, **options):
    body = robot(rng, **options)
    n = len(body.moving_links)
    still = np.zeros(3)
    return Placement(
        name="robot",
        body=body,
        X_WL=at(*rng.uniform(-0.5, 0.5, size=3), rotation(rng)),
        q=rng.uniform(-0.5, 0.5, size=n),
        dq=speed * rng.normal(size=n),
        v=still if is_fixed else speed * rng.normal(size=3),
        w=still if is_fixed else speed * rng.normal(size=3),
        fixed=is_fixed,
    )


def drive(rng, engines):
    """Drive and push a robot in the same way in each engine."""
    drive = engines[0].state.bodies["robot"].drive
    wrench = engines[0].state.bodies["robot"].wrench
    n, links = len(drive.q), len(wrench.force)
    values = {
        "q": rng.uniform(-1.0, 1.0, size=n),
        "dq": rng.uniform(-1.0, 1.0, size=n),
        "kp": 10.0 ** rng.uniform(0, 2, size=n) * rng.integers(2, size=n),
        "kd": 10.0 ** rng.uniform(-1, 1, size=n) * rng.integers(2, size=n),
        "effort": rng.uniform(-5.0, 5.0, size=n),
    }
    force, torque = rng.normal(size=(2, links, 3)) * rng.integers(2, size=(1, links, 1))
    for engine in engines:
        simulated = engine.state.bodies["robot"]
        for key, value in values.items():
            getattr(simulated.drive, key)[:] = value
        simulated.wrench.force[:], simulated.wrench.torque[:] = force, 0.1 * torque


def pile(rng, count=6):
    """Return a floor, and shapes above and in each other."""
    yield floor()
    for k in range(count):
        mass = rng.uniform(0.5, 2.0)
        body = lone(placed(shape(rng)), inertia=box_inertia(mass, [0.2, 0.2, 0.2]), mass=mass)
        place = at(*rng.uniform(-0.2, 0.2, size=2), rng.uniform(0.02, 0.3), rotation(rng))
        yield moving(body, place, name=f"thing{k}")


def difference(engines, *names):
    """Return by how much arrays of the motions differ, relative to the largest number in each."""
    worst = 0.0
    for body in engines[0].state.bodies:
        for name in names:
            one, other = (getattr(e.state.bodies[body].motion, name) for e in engines)
            scale = max(1.0, np.abs(one).max(initial=0.0))
            worst = max(worst, np.abs(one - other).max(initial=0.0) / scale)
    return worst
