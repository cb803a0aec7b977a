"""Random bodies, drives and pushes, and steps from a state without what it knows of contacts."""

from dataclasses import fields, replace

import numpy as np
from sim.physics.scenes import FIXED, PRISMATIC, REVOLUTE, TRACK, at, child, moving, root

from hrp_model.body import Body, Range
from hrp_model.devices import ForceSensor
from hrp_model.rigid import axis_angle_matrix
from hrp_sim.engine.engine import PhysicsSettings, make_ode_engine
from hrp_sim.engine.snapshot import settings_lines


def make_world(placements, solver, drive=lambda _engine: None, **settings):
    """Return an engine that records contacts, with these bodies, driven."""
    engine = make_ode_engine(PhysicsSettings(solver=solver, **settings))
    engine.record_contacts = True
    for placement in placements:
        engine.add_body(placement)
    drive(engine)
    return engine


def transfer(saved, engine):
    """Restore a state without what it knows of contacts."""
    arrays = engine.save()
    assert {k for k in arrays if "/" in k} == {k for k in saved if "/" in k}
    kept = {k: saved[k] for k in saved if "/" in k or k in ("time_ns", "random", "bodies")}
    fresh = {"settings": settings_lines(engine.settings), "habits": arrays["habits"][:0]}
    engine.restore(arrays | kept | fresh)


def random_tree(rng, *, free=None):
    """Return a tree of 2 to 12 joints with everything that a joint may have.

    Sliders, rotors from none to heavier than the links, damping, Coulomb friction, ranges of
    positions and efforts, and force sensors, in moving and in fixed joints.
    """
    free = bool(rng.random() < 0.5) if free is None else free
    links = [root(free=free, mass=rng.uniform(1.0, 5.0), inertia=_inertia(rng, 0.3))]
    for i in range(rng.integers(3, 13)):
        kind = (REVOLUTE, REVOLUTE, PRISMATIC, FIXED)[rng.integers(4)] if i else REVOLUTE
        has = dict(zip(("rotor", "oil", "rub", "stops", "weak"), rng.random(5) < 0.4, strict=True))
        width = rng.uniform(0.2, 0.6)
        parent = links[int(rng.integers(max(0, len(links) - 3), len(links)))].name
        link = child(
            f"L{i}",
            parent,
            kind,
            _unit(rng.normal(size=3)),
            X_PL=at(*rng.uniform(-0.2, 0.2, 3), _rotation(rng)),
            mass=rng.uniform(0.3, 2.0),
            inertia=_inertia(rng, 0.15),
            center_of_mass=rng.uniform(-0.1, 0.1, 3),
            rotor=10.0 ** rng.uniform(-3.0, 0.0) if has["rotor"] else 0.0,
            damping=rng.uniform(0.01, 1.0) if has["oil"] else 0.0,
            friction=10.0 ** rng.uniform(-1.0, 2.0) if has["rub"] else 0.0,
            position=Range(-width, width) if has["stops"] else Range(-np.inf, np.inf),
            effort=_efforts(rng) if has["weak"] else Range(),
        )
        links.append(link)
    watchers = [link.name for link in links[1:] if rng.random() < 0.5]
    sensors = tuple(ForceSensor(name=f"f_{link}", link=link) for link in watchers)
    return Body(name="tree", links=tuple(links), devices=sensors)


def randomly(rng, body, *, z=0.0, spread=0.7, speed=2.0):
    """Return a placement of a body with random positions and velocities."""
    n = len(body.moving_links)
    free = body.root.joint.type is not FIXED
    placement = moving(
        body,
        at(z=z, R=_rotation(rng) if free else None),
        q=rng.uniform(-spread, spread, n),
        dq=rng.normal(size=n) * speed * (rng.random(n) < 0.7),
    )
    if not free:
        return replace(placement, fixed=True)
    return replace(placement, v=rng.normal(size=3), w=rng.normal(size=3) * speed)


def drive_randomly(rng, engine, stiffness=1000.0):
    """Drive every joint: some stiffly, some softly, some with an effort, some not at all."""
    for simulated in engine.state.bodies.values():
        drive, n = simulated.drive, len(simulated.body.moving_links)
        held = rng.random(n) < 0.6
        drive.kp[:] = np.where(held, stiffness ** rng.uniform(0.0, 1.0, n), 0.0)
        drive.kd[:] = drive.kp * rng.uniform(0.0, 0.1, n)
        drive.q[:] = rng.uniform(-1.0, 1.0, n)
        drive.dq[:] = rng.uniform(-1.0, 1.0, n)
        drive.effort[:] = np.where(rng.random(n) < 0.5, rng.normal(size=n) * 5.0, 0.0)
        drive.track_speed[:] = [
            rng.uniform(-1.0, 1.0) if link.joint.type is TRACK else 0.0
            for link in simulated.body.links
        ]


def push_randomly(rng, engine, force=20.0):
    """Push a few links of each body."""
    for simulated in engine.state.bodies.values():
        wrench = simulated.wrench
        chosen = rng.random((len(simulated.body.links), 1)) < 0.3
        for f in fields(wrench):
            array = getattr(wrench, f.name)
            array[:] = np.where(chosen, rng.normal(size=array.shape) * force, 0.0)


def _inertia(rng, size):
    points = rng.normal(size=(8, 3)) * size
    points -= points.mean(axis=0)
    return (np.sum(points**2) * np.eye(3) - points.T @ points) / len(points)


def _efforts(rng):
    """Return a range of efforts."""
    lower, upper = rng.uniform(0.0, 20.0, 2)
    return Range(-lower, upper)


def _rotation(rng):
    return axis_angle_matrix(_unit(rng.normal(size=3)), rng.uniform(0.1, 3.0))


def _unit(vector):
    return vector / np.linalg.norm(vector)
