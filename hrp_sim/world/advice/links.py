"""Rules for single links: missing masses and inertias, and what collision meshes collide as."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

import numpy as np

from hrp_model import Diagnostic, Link
from hrp_model.diagnostics import listed, number_text
from hrp_model.geometry import Mesh, Shape
from hrp_model.rigid import Array

from ...engine.articulation.collision_shapes import replaced_shapes
from ...engine.articulation.numeric_limits import MassRepair
from ...engine.engine import PhysicsSettings, Solver
from ...engine.state import PairCost
from .initial_state import InitialState, Starts

# Up to this many links of a body are reported separately, more of them in one message.
_MAX_SEPARATE = 3
_MAX_NAMES = 4
_HINT_FOR_QUICK = "; solver: world needs much smaller replacements"


def movable_links_have_mass_and_inertia(
    physics: PhysicsSettings, starts: Starts
) -> Iterator[Diagnostic]:
    """All links that are accelerated have a mass and a positive definite inertia."""
    is_quick = physics.solver is Solver.QUICK
    tail = _HINT_FOR_QUICK if is_quick else ""
    for start in starts:
        # The inertia of a link that stands still does not matter, and only QUICK needs more mass
        # between joints than would be noticed.
        found = [
            x
            for x in start.mass_repairs.values()
            if (x.lacked_mass or not x.is_static) and (is_quick or not x.link.is_between_joints)
        ]
        for text, link in _messages([x for x in found if x.lacked_mass], _mass, _masses):
            yield start.warning("mended-mass", text + tail, link)
        for text, link in _messages([x for x in found if not x.lacked_mass], _inertia, _inertias):
            yield start.warning("mended-inertia", text + tail, link)


def _messages(
    found: Sequence[MassRepair],
    single: Callable[[MassRepair], str],
    combined: Callable[[Sequence[MassRepair]], str],
) -> list[tuple[str, Link]]:
    if len(found) > _MAX_SEPARATE:
        return [(combined(found), found[0].link)]
    return [(single(change), change.link) for change in found]


def _mass(change: MassRepair) -> str:
    if change.is_static:
        return (
            f"link '{change.link.name}', fixed by a force sensor, has no mass; it is simulated "
            f"with {number_text(change.after.mass, 2)} kg: write its mass"
        )
    mass = number_text(change.after.mass, 2)
    used = f"{mass} kg, {change.share:.2g} of the mass it carries or hangs on"
    if change.lacked_inertia:
        used += f", and moments of inertia of {_moments_text(change.after.inertia)} kg m^2"
    return (
        f"link '{change.link.name}' can move but has no mass; it is simulated with {used}: write "
        "its mass and inertia"
    )


def _masses(found: Sequence[MassRepair]) -> str:
    names = listed(
        [f"'{x.link.name}' {number_text(x.after.mass, 2)} kg" for x in found], _MAX_NAMES
    )
    return (
        f"{len(found)} links can move but have no mass; they are simulated with "
        f"{found[0].share:.2g} of the mass they carry or hang on: {names}; write their masses and "
        "inertias"
    )


def _inertia(change: MassRepair) -> str:
    return (
        f"the inertia of link '{change.link.name}' is not positive definite, with principal "
        f"moments {_moments_text(change.before.inertia)} kg m^2; it is simulated with "
        f"{_moments_text(change.after.inertia)} kg m^2: correct the inertia"
    )


def _inertias(found: Sequence[MassRepair]) -> str:
    shown = [
        f"'{x.link.name}' from {_smallest_moment(x.before.inertia):.2g} to "
        f"{_smallest_moment(x.after.inertia):.2g}"
        for x in found
    ]
    return (
        f"the inertias of {len(found)} links are not positive definite; their smallest principal "
        f"moments are increased, in kg m^2: {listed(shown, _MAX_NAMES)}; correct the inertias"
    )


def _smallest_moment(inertia: Array) -> float:
    return float(np.linalg.eigvalsh(inertia)[0])


def _moments_text(inertia: Array) -> str:
    return ", ".join(f"{m:.3g}" for m in np.linalg.eigvalsh(inertia))


# Collision meshes, each with a shape that is used in its place: itself, or a convex one.
_Used: TypeAlias = list[tuple[Shape, Shape]]


def meshes_collide_as(physics: PhysicsSettings, starts: Starts) -> Iterator[Diagnostic]:
    """Note for each moving link with collision meshes as what they collide."""
    for start in starts:
        for link, used in _used_shapes(physics, start).items():
            message = f"the collision meshes of link '{link.name}' collide as {_shapes_text(used)}"
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


def _shapes_text(used: _Used) -> str:
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
