"""Collision meshes: a note on what each link collides as, and a warning where that is slow."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from hrp_model import Diagnostic, Link
from hrp_model.geometry import Mesh, Shape

from ...engine.articulation.collision_shapes import replaced_shapes
from ...engine.contact_points import PairCost
from ...engine.engine import PhysicsSettings
from .initial_state import InitialState, Starts

# Collision meshes, each with a shape that is used in its place: itself, or a convex one.
_Used: TypeAlias = list[tuple[Shape, Shape]]


def meshes_collide_as(physics: PhysicsSettings, starts: Starts) -> Iterator[Diagnostic]:
    """Note for each moving link with collision meshes as what they collide."""
    for start in starts:
        for link, used in _used_shapes(physics, start).items():
            message = f"the collision meshes of link '{link.name}' collide as {_listed(used)}"
            yield start.note("collision-meshes", message, link)


def slow_meshes(
    physics: PhysicsSettings, starts: Starts, costs: Sequence[PairCost]
) -> Iterator[Diagnostic]:
    """Warn if collision detection takes longer than the time step, and name the costliest mesh.

    Args:
        physics: Settings of the world.
        starts: Its bodies.
        costs: Of one step.
    """
    total = sum(cost.seconds for cost in costs)
    if total <= physics.time_step:
        return
    seconds: dict[tuple[str, int], float] = defaultdict(float)
    for cost in costs:
        for side in zip(cost.bodies, cost.links, strict=True):
            seconds[side] += cost.seconds
    meshes = {
        (start.name, start.body.link_index(link.name)): (start, link, _triangles(used))
        for start in starts
        for link, used in _used_shapes(physics, start).items()
        if _triangles(used)
    }
    worst = max(meshes, key=lambda side: seconds[side], default=None)
    if worst is None:
        return
    start, link, count = meshes[worst]
    remedies = [x for x in ("parts", "true") if x != str(physics.convex_meshes).lower()]
    yield start.warning(
        "slow-meshes",
        f"finding contacts takes {1e3 * total:.3g} ms of a step of {1e3 * physics.time_step:.3g} "
        f"ms, {seconds[worst] / total:.0%} of it for the {count} triangles of link "
        f"'{link.name}'; write convex_meshes: {' or '.join(remedies)}, or give the link simpler "
        "collision shapes",
        link,
    )


def _used_shapes(physics: PhysicsSettings, start: InitialState) -> dict[Link, _Used]:
    """Return the collision meshes of each moving link that has some."""
    links = [x for x, is_mobile in zip(start.body.links, start.mobile, strict=True) if is_mobile]
    replaced = replaced_shapes(start.entry.placement, links, physics)
    found = {x: [(s, u) for s in x.collision for u in replaced.get(s, ())] for x in links}
    return {link: used for link, used in found.items() if used}


def _triangles(used: _Used) -> int:
    """Return the number of triangles, those of convex hulls included."""
    geometries = (shape.geometry for _, shape in used)
    return sum(len(x.triangles) for x in geometries if isinstance(x, Mesh))


def _listed(used: _Used) -> str:
    """Return the kinds of shapes, such as "2 boxes and 988 triangles"."""
    kept = [pair for pair in used if pair[0] is pair[1]]
    hulls = [x for x in used if x not in kept and isinstance(x[1].geometry, Mesh)]
    others = [type(x[1].geometry).__name__.lower() for x in used if x not in kept + hulls]
    parts = [_counted(count, kind) for kind, count in Counter(others).items()]
    if hulls:
        parts.append(f"{_counted(len(hulls), 'convex hull')} of {_triangles(hulls)} triangles")
    if kept:
        parts.append(f"{_counted(len(kept), 'mesh')} of {_triangles(kept)} triangles")
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def _counted(count: int, kind: str) -> str:
    plural = "es" if kind[-1] in "xh" else "s"
    return f"{count} {kind}{plural if count != 1 else ''}"
