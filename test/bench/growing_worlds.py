"""Families of worlds, each of which grows in one number."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import ceil, sqrt

import numpy as np
from sim.physics.scenes import (
    REVOLUTE,
    Y,
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

from hrp_model import Body, load_body
from hrp_model.files.resources import share_folder
from hrp_model.geometry import Box, Sphere
from hrp_sim.control import HOLD, LIMP, ControlSettings
from hrp_sim.engine.engine import Placement

EDGE = 0.1  # of a box, in [m]


@dataclass(frozen=True, kw_only=True)
class Family:
    """Worlds of the same kind.

    Attributes:
        title: What grows.
        sizes: In ascending order.
        make: Returns the bodies of a size.
        control: Of the joints.
        settings: Of the physics, other than the defaults.
    """

    title: str
    sizes: tuple[int, ...]
    make: Callable[[int], list[Placement]]
    control: ControlSettings = LIMP
    settings: Mapping[str, int] = field(default_factory=dict)


def chain(count: int) -> list[Placement]:
    """Return a chain that hangs from its first link and swings."""
    links = [root(mass=0.0)]
    solid = {"center_of_mass": np.array([0.0, 0.0, -0.05]), "inertia": np.eye(3) * 0.005}
    for k in range(count):
        pose = at(z=-0.1 if k else 0.0)
        links.append(child(f"L{k}", links[-1].name, REVOLUTE, Y, X_PL=pose, rotor=0.001, **solid))
    return [fixed(Body(name="chain", links=tuple(links)), q=np.full(count, 0.2 / count))]


def _brick(name: str, *place: float) -> Placement:
    size = np.array([2.0, 1.0, 1.0]) * EDGE
    return moving(lone(placed(Box(size)), name=name, inertia=box_inertia(1.0, size)), at(*place))


def _square(count: int, apart: float) -> list[tuple[float, float]]:
    """Return places in a square about the origin."""
    side = ceil(sqrt(count))
    first = -apart * (side - 1) / 2.0
    return [(first + apart * (k % side), first + apart * (k // side)) for k in range(count)]


def scattered(count: int) -> list[Placement]:
    """Return boxes on a floor, each by itself."""
    places = enumerate(_square(count, 0.5))
    return [floor(), *(_brick(f"box{k}", x, y, EDGE / 2.0) for k, (x, y) in places)]


def wall(count: int) -> list[Placement]:
    """Return a wall of bricks, five in a layer, each on two others: one island."""
    boxes = []
    for k in range(count):
        layer, place = divmod(k, 5)
        x = 2.0 * EDGE * (place + 0.5 * (layer % 2))
        boxes.append(_brick(f"box{k}", x, 0.0, EDGE * (layer + 0.5)))
    return [floor(), *boxes]


def robots(count: int) -> list[Placement]:
    """Return humanoids that stand side by side."""
    body = load_body(share_folder() / "models" / "humanoid" / "humanoid.body")
    z, places = body.root.X_PL.p[2], enumerate(_square(count, 2.0))
    return [floor(), *(moving(body, at(x, y, z), f"robot{k}") for k, (x, y) in places)]


def plate(count: int) -> list[Placement]:
    """Return a plate on as many feet, with one contact each."""
    feet = [placed(Sphere(0.02), at(x, y)) for x, y in _square(count, 0.1)]
    return [floor(), moving(lone(*feet, mass=10.0, inertia=np.eye(3) * 0.005), at(z=0.02))]


FAMILIES = {
    "chain": Family(
        title="links of a chain", sizes=(5, 10, 20, 50, 100, 200), make=chain, control=HOLD
    ),
    "boxes": Family(
        title="boxes on a floor, apart", sizes=(10, 30, 100, 300, 1000), make=scattered
    ),
    "robots": Family(
        title="standing humanoids", sizes=(1, 2, 4, 8, 16, 32), make=robots, control=HOLD
    ),
    "contacts": Family(
        title="contacts of one body",
        sizes=(4, 9, 16, 36, 64, 100),
        make=plate,
        settings={"max_contacts": 128},
    ),
    "wall": Family(title="boxes of a wall, touching", sizes=(5, 10, 20, 40, 60), make=wall),
}
