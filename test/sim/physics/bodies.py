"""Bodies whose motion is known, or is computed by others, and oblique in every way."""

from dataclasses import replace

import numpy as np
from sim.physics.scenes import PRISMATIC, REVOLUTE, X, Z, at, child, root

from hrp_model.body import Body
from hrp_model.devices import ForceSensor
from hrp_model.rigid import axis_angle_matrix


def _inertia(rng, size):
    """A physical inertia: that of a cloud of points."""
    points = rng.normal(size=(8, 3)) * size
    points -= points.mean(axis=0)
    return (np.sum(points**2) * np.eye(3) - points.T @ points) / len(points)


def chain(*, free=False, rotors=True, seed=3):
    """Two branches of oblique hinges and a slider on one base, rotors of very different size."""
    rng = np.random.default_rng(seed)
    kinds = [REVOLUTE, REVOLUTE, PRISMATIC, REVOLUTE, REVOLUTE]
    parents = ["BASE", "L0", "L1", "BASE", "L3"]
    rotor = [0.05, 0.0, 0.8, 0.002, 0.01]
    links = [root(free=free, mass=2.0, inertia=_inertia(rng, 0.2), center_of_mass=0.05 * X)]
    for i, (kind, parent) in enumerate(zip(kinds, parents, strict=True)):
        axis = rng.normal(size=3)
        R = axis_angle_matrix(_unit(rng.normal(size=3)), rng.uniform(0.2, 1.0))
        links.append(
            child(
                f"L{i}",
                parent,
                kind,
                _unit(axis),
                X_PL=at(*rng.uniform(-0.2, 0.2, 3), R),
                mass=rng.uniform(0.5, 1.5),
                inertia=_inertia(rng, 0.15),
                center_of_mass=rng.uniform(-0.15, 0.15, 3),
                rotor=rotor[i] if rotors else 0.0,
            )
        )
    return Body(name="chain", links=tuple(links))


def with_sensors(body):
    """The same body with a force sensor in every joint, of the link's name."""
    sensors = tuple(ForceSensor(name=link.name, link=link.name) for link in body.links[1:])
    return replace(body, devices=sensors)


def _unit(vector):
    return vector / np.linalg.norm(vector)


def top(*, mass, length, across, along):
    """A symmetric top in light gimbals: precession about Z, nutation about X, spin about Z.

    Args:
        mass: In [kg].
        length: From the fixed point to the centre of mass, in [m].
        across, along: Moments of inertia about the centre of mass, in [kg m^2].
    """
    light = {"mass": 1e-3, "inertia": np.eye(3) * 1e-9}
    links = (
        root(),
        child("PRECESSION", "BASE", REVOLUTE, Z, **light),
        child("NUTATION", "PRECESSION", REVOLUTE, X, **light),
        child(
            "SPIN",
            "NUTATION",
            REVOLUTE,
            Z,
            mass=mass,
            inertia=np.diag([across, across, along]),
            center_of_mass=length * Z,
        ),
    )
    return Body(name="top", links=links)
