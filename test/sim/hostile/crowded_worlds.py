"""A program that puts very many bodies into one world; its argument names the case.

Prints how it ended: "lived", or the error. Memory and processor time are bounded.
"""

import sys

import numpy as np
from sim.hostile.limits import bound
from sim.physics.scenes import (
    FREE,
    REVOLUTE,
    X,
    at,
    child,
    fixed,
    floor,
    lone,
    moving,
    placed,
    root,
)

from hrp_model.body import Body
from hrp_model.geometry import Box, Mesh
from hrp_sim.engine.engine import PhysicsError, PhysicsSettings, Solver
from hrp_sim.engine.ode import OdeEngine

BOX = placed(Box(np.full(3, 0.1)))


def heap(count, gap):
    """Boxes on top of each other, joined by nothing but their contacts."""
    links = [root("B0", free=True, collision=(BOX,))]
    links += [
        child(f"B{k}", "B0", FREE, X_PL=at(z=gap * k), collision=(BOX,)) for k in range(1, count)
    ]
    return moving(Body(name="heap", links=tuple(links)), at(z=0.05))


def scattered(count):
    """Pairs of boxes, each on its own: an island has few rows, all together have many."""
    side = int(np.ceil(np.sqrt(count)))
    links = [root("B0", free=True, collision=(BOX,))]
    for k in range(1, count):
        place = at(0.2 * (k % side) - 4.0, 0.2 * (k // side) - 4.0)
        links.append(child(f"B{k}", "B0", FREE, X_PL=place, collision=(BOX,)))
    return moving(Body(name="scattered", links=tuple(links)), at(z=0.0499))


def chain(count):
    links = [root("B0")]
    links += [child(f"B{k}", f"B{k - 1}", REVOLUTE, X, X_PL=at(z=0.01)) for k in range(1, count)]
    return fixed(Body(name="chain", links=tuple(links)))


def fine_mesh(bad):
    """A grid of many triangles, one of which names a vertex that is not there if ``bad``."""
    n = 300
    i = np.arange(n * n)
    corner = i // n * (n + 1) + i % n
    parts = [(corner, corner + n + 1, corner + 1), (corner + 1, corner + n + 1, corner + n + 2)]
    triangles = np.concatenate([np.stack(p, axis=1) for p in parts]).astype(np.int32)
    x = np.arange(n + 1) * 0.01 - 1.5
    vertices = np.stack([*map(np.ravel, np.meshgrid(x, x)), np.zeros((n + 1) ** 2)], axis=1)
    if bad:
        triangles[len(triangles) // 2, 1] = len(vertices)
    return moving(
        lone(placed(Mesh(vertices=vertices, triangles=triangles)), name="grid"), at(z=1e-5)
    )


def crowded(links, shapes):
    """A chain whose links have many shapes each."""
    parts = [root("B0", collision=(BOX,) * shapes)]
    for k in range(1, links):
        place = at(z=0.01)
        parts.append(
            child(f"B{k}", f"B{k - 1}", REVOLUTE, X, X_PL=place, collision=(BOX,) * shapes)
        )
    return fixed(Body(name="crowded", links=tuple(parts)))


CASES = {
    "own_shapes": (lambda: crowded(500, 20), Solver.QUICK),
    "heap_quick": (lambda: heap(2000, 0.0999), Solver.QUICK),
    "heap_world": (lambda: heap(2000, 0.0999), Solver.WORLD),
    "one_place_quick": (lambda: heap(500, 0.0), Solver.QUICK),
    "one_place_world": (lambda: heap(80, 0.0), Solver.WORLD),
    "scattered_world": (lambda: scattered(1600), Solver.WORLD),
    "chain_quick": (lambda: chain(2000), Solver.QUICK),
    "chain_world": (lambda: chain(2000), Solver.WORLD),
    "too_many_links": (lambda: chain(5001), Solver.QUICK),
    "fine_mesh": (lambda: fine_mesh(bad=False), Solver.WORLD),
    "bad_mesh": (lambda: fine_mesh(bad=True), Solver.WORLD),
}


def main(case):
    bound(memory_mib=1500, cpu_seconds=60)
    make, solver = CASES[case]
    engine = OdeEngine(PhysicsSettings(solver=solver))
    engine.add_body(floor())
    ending = "lived"
    try:
        engine.add_body(make())
        engine.step()
    except PhysicsError as error:
        ending = str(error)
    engine.reset()
    engine.add_body(moving(lone(BOX, name="late"), at(x=5.0, z=1.0)))
    print(ending)


if __name__ == "__main__":
    main(sys.argv[1])
