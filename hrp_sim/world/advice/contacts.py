"""Rules for contacts: overlaps, also of spawned bodies; stacks; motions that skip contacts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from hrp_model import Body, Diagnostic, Pose
from hrp_model.diagnostics import number_text
from hrp_model.geometry import Box, Capsule, Cylinder, Mesh, Shape, Sphere
from hrp_model.rigid import Array
from hrp_model.shapes.measure import BoundingBox, boxes_overlap, geometry_box, union
from hrp_model.shapes.tessellate import shape_mesh

from ...engine.engine import PHYSICS_RANGES, PhysicsSettings, Placement, Solver
from ...engine.state import SimulatedBody
from ..config import BodyEntry
from .initial_state import InitialState, Starts, rounded_down

# Meshes with more vertices are subsampled.
_MAX_POINTS = 2000
_DIVISIONS = 16
# Points of shapes, kept because many bodies may be spawned near the same ones.
_clouds: WeakKeyDictionary[Shape, Array] = WeakKeyDictionary()


class Solid(NamedTuple):
    """One collision shape.

    Attributes:
        link: Index in ``body.links``.
        shape: The shape, in the link frame.
        low, high: Corners of its axis-aligned bounding box in W, in [m].
    """

    link: int
    shape: Shape
    low: Array
    high: Array


class Overlap(NamedTuple):
    """Penetration depth of two bodies, in [m], and the indices of the links concerned."""

    depth: float
    link_a: int
    link_b: int


class Solids:
    """The collision shapes of a body in its initial posture."""

    def __init__(self, start: InitialState) -> None:
        self.start = start

    @cached_property
    def all(self) -> list[Solid]:
        """All shapes with an extent."""
        found = []
        for i, shape, box in self._own_boxes:
            T_WL = Pose(self.start.state.R[i], self.start.state.p[i]).matrix()
            found.append(Solid(i, shape, *box.transformed(T_WL @ shape.T_FG)))
        return found

    @cached_property
    def box(self) -> BoundingBox | None:
        """Bounding box of the body in W; None without shapes."""
        return union(BoundingBox(solid.low, solid.high) for solid in self.all)

    @cached_property
    def thickness(self) -> dict[int, float]:
        """Smallest extent of the thickest shape of each link, in [m], by link index."""
        found: dict[int, float] = {}
        for i, shape, box in self._own_boxes:
            scale = np.linalg.norm(shape.T_FG[:3, :3], axis=0)
            extent = float((2.0 * box.half * scale).min())
            found[i] = max(found.get(i, 0.0), extent)
        return {i: extent for i, extent in found.items() if extent > 0.0}

    def overlaps_box(self, other: Solids) -> bool:
        """Return whether the bounding boxes of two bodies overlap, and one of these can move."""
        a, b = self.box, other.box
        if a is None or b is None or not (any(self.start.mobile) or any(other.start.mobile)):
            return False
        return bool(boxes_overlap(*a, *b, touching=False))

    @property
    def _own_boxes(self) -> Iterator[tuple[int, Shape, BoundingBox]]:
        for i, link in enumerate(self.start.body.links):
            for shape in link.collision:
                if (box := geometry_box(shape.geometry)) is not None:
                    yield i, shape, box


def deepest_overlap(a: Solids, b: Solids) -> Overlap | None:
    """Return the greatest depth of a point of one body in a primitive of the other.

    There are no false positives, but overlaps are missed in meshes, and where shapes cross
    without a corner inside each other. Pairs of links that do not collide are ignored.
    """
    best: Overlap | None = None
    for x, y in _near_pairs(a, b):
        for one, other in (((a, x), (b, y)), ((b, y), (a, x))):
            deep = _deepest(one, other)
            if deep > 0.0 and (best is None or deep > best.depth):
                best = Overlap(deep, x.link, y.link)
    return best


def _near_pairs(a: Solids, b: Solids) -> Iterator[tuple[Solid, Solid]]:
    low, high = (np.array([getattr(y, side) for y in b.all]) for side in ("low", "high"))
    mobile = np.array([b.start.mobile[y.link] for y in b.all])
    for x in a.all:
        near = boxes_overlap(x.low, x.high, low, high, touching=False)
        if not a.start.mobile[x.link]:
            near &= mobile
        for y in (b.all[k] for k in np.flatnonzero(near)):
            if _collide(a.start, x.link, b.start, y.link):
                yield x, y


def _collide(a: InitialState, link_a: int, b: InitialState, link_b: int) -> bool:
    """Return whether links of two bodies may collide, by their joints and materials."""
    link, other = a.body.links[link_a], b.body.links[link_b]
    for own, body, of_body in a.joined_links:
        # Engines merge links that are fixed to each other.
        if (
            body == b.name
            and a.is_rigid(link_a, a.body.link_index(own))
            and b.is_rigid(link_b, b.body.link_index(of_body))
        ):
            return False
    materials = a.entry.placement.contact_material(link), b.entry.placement.contact_material(other)
    return a.physics.materials.collide(*materials)


def _deepest(one: tuple[Solids, Solid], other: tuple[Solids, Solid]) -> float:
    """Return the greatest depth of a point of one shape in another, a primitive, in [m]."""
    solids, solid = other
    parts = solid.shape.rigid_parts()
    if parts is None or isinstance(solid.shape.geometry, Mesh):
        return 0.0
    X_LG, scale = parts
    link = solids.start.state.R[solid.link], solids.start.state.p[solid.link]
    X_WG = Pose(*link) @ X_LG
    points = (_points(*one) - X_WG.p) @ X_WG.R
    return _depth(solid.shape, points, scale)


def _points(solids: Solids, solid: Solid) -> Array:
    """Return points on a shape, in W, shape (n, 3)."""
    points = _clouds.get(solid.shape)
    if points is None:
        points = _clouds[solid.shape] = _local_points(solid.shape)
    R, p = solids.start.state.R[solid.link], solids.start.state.p[solid.link]
    return np.asarray(points @ R.T + p)


def _local_points(shape: Shape) -> Array:
    """Return points on a shape, in its link's frame, shape (n, 3)."""
    mesh = shape_mesh(shape, _DIVISIONS, solid=True)
    points = mesh.vertices
    if not isinstance(shape.geometry, Mesh):
        # Add edge midpoints: for boxes face to face the corners alone may not be inside.
        corners = points[mesh.triangles]
        middles = (corners + np.roll(corners, 1, axis=1)) / 2.0
        points = np.concatenate([points, middles.reshape(-1, 3)])
    return np.array(points[:: 1 + len(points) // _MAX_POINTS])


def _depth(shape: Shape, points: Array, scale: Array) -> float:
    """Return the greatest depth of points below the surface of a primitive, in its own frame."""
    geometry = shape.geometry
    if not len(points):
        return 0.0
    if isinstance(geometry, Box):
        inside = (np.abs(geometry.size * scale) / 2.0 - np.abs(points)).min(axis=1)
    elif isinstance(geometry, Sphere):
        inside = geometry.radius * float(np.min(scale)) - np.linalg.norm(points, axis=1)
    elif isinstance(geometry, Cylinder | Capsule):
        radius = geometry.radius * float(min(scale[0], scale[2]))
        beyond = np.abs(points[:, 1]) - geometry.height * float(scale[1]) / 2.0
        across = np.linalg.norm(points[:, [0, 2]], axis=1)
        if isinstance(geometry, Cylinder):
            inside = np.minimum(radius - across, -beyond)
        else:
            inside = radius - np.hypot(across, np.maximum(beyond, 0.0))
    else:
        return 0.0
    return float(inside.max())


# Penetration that rounding or an inexact model explains, in [m]; a foot that starts 1 mm deep
# rises within 0.1 s.
_TOLERATED_DEPTH = 5e-3
# QUICK, a heavy cube on a light one, 50 iterations, 3 s: it creeps by 0.3 mm at 10 times the
# mass, by 2 mm at 100 times, and sinks into it at 1000 times. WORLD holds.
_LOAD_RATIO_PER_ITERATION = 4.0
# Bodies in one place that each of them is compared with.
_MAX_EXAMINED = 8
# Bodies with a smaller gap are expected to touch, in [m].
_CONTACT_GAP = 0.05
_reaches: WeakKeyDictionary[Body, Array] = WeakKeyDictionary()


def bodies_start_apart(physics: PhysicsSettings, starts: Starts) -> Iterator[Diagnostic]:
    """No body starts deep inside another, from where contacts push it out slowly or violently."""
    solids = [Solids(start) for start in starts]
    remedy = "change the 'position' of the body in the world"
    for i, j in _overlapping_boxes(solids):
        warning = overlap_warning(physics, solids[i], solids[j], "starts", remedy)
        if warning is not None:
            yield warning


def _overlapping_boxes(solids: Sequence[Solids]) -> Iterator[tuple[int, int]]:
    """Yield pairs of bodies whose bounding boxes overlap and one of which can move, in order.

    Those of two bodies that both have ``_MAX_EXAMINED`` are left out, so that their number grows
    with that of the bodies.
    """
    low, high = _corners(solids)
    mobile = np.array([any(solid.start.mobile) for solid in solids], dtype=bool)
    axis = int(np.argmax(np.var(np.where(np.isfinite(low), low, 0.0), axis=0))) if solids else 0
    order = np.argsort(low[:, axis], kind="stable")
    ends = np.searchsorted(low[order, axis], high[:, axis])
    counts = np.zeros(len(solids), dtype=np.int64)
    pairs: list[tuple[int, int]] = []
    for place, i in enumerate(order.tolist()):
        later = order[place + 1 : ends[i]]
        if counts[i] >= _MAX_EXAMINED:
            later = later[counts[later] < _MAX_EXAMINED]
        meets = boxes_overlap(low[i], high[i], low[later], high[later], touching=False)
        found = later[meets & (mobile[i] | mobile[later])]
        counts[i] += len(found)
        counts[found] += 1
        pairs += [(min(i, j), max(i, j)) for j in found.tolist()]
    yield from sorted(pairs)


def _corners(solids: Sequence[Solids]) -> tuple[Array, Array]:
    """Return both corners of the bounding boxes, shape (n, 3); inverted without shapes."""
    boxes = [solid.box for solid in solids]
    low = np.array([np.full(3, np.inf) if b is None else b.low for b in boxes]).reshape(-1, 3)
    high = np.array([np.full(3, -np.inf) if b is None else b.high for b in boxes]).reshape(-1, 3)
    return low, high


def overlap_warning(
    physics: PhysicsSettings, a: Solids, b: Solids, verb: str, remedy: str
) -> Diagnostic | None:
    """Return a warning if one body is deep inside another, or None.

    Args:
        physics: Settings of the world.
        a: One body.
        b: The other body.
        verb: Verb of the message, such as "starts".
        remedy: Remedy in the message.
    """
    if not a.overlaps_box(b):
        return None
    found = deepest_overlap(a, b)
    if found is None or found.depth <= _TOLERATED_DEPTH:
        return None
    (inner, link), (outer, other) = _inner_first((a.start, found.link_a), (b.start, found.link_b))
    links = inner.body.links[link], outer.body.links[other]
    speed = physics.correcting_velocity
    if np.isinf(speed):
        away = physics.erp * found.depth / physics.time_step
        effect = f"contacts push it out at up to {number_text(away)} m/s"
    elif speed > 0.0:
        effect = f"contacts push it out at {speed:g} m/s, which takes {found.depth / speed:.2g} s"
    else:
        effect = "it stays there because max_correcting_velocity is 0"
    message = (
        f"link '{links[0].name}' {verb} {1e3 * found.depth:.3g} mm deep inside '{links[1].name}' "
        f"of body '{outer.name}': {effect}; {remedy}"
    )
    return inner.warning("starts-inside", message, links[0])


def loads_suit_the_solver(physics: PhysicsSettings, starts: Starts) -> Iterator[Diagnostic]:
    """QUICK lets bodies sink in under heavy loads."""
    if physics.solver is Solver.WORLD:
        return
    free = [s for s in starts if s.is_free and any(s.mobile)]
    if len(free) < 2 or not _falls_along_z(physics):
        return
    solids = [Solids(start) for start in free]
    below = _supports(solids)
    masses = np.array([start.body.total_mass for start in free])
    for upper, lowers in enumerate(below):
        ratios = masses[upper] / masses[lowers]
        for lower, ratio in zip(lowers, ratios.tolist(), strict=True):
            if ratio > _LOAD_RATIO_PER_ITERATION * physics.iterations:
                message = (
                    f"body '{free[upper].name}' on top has {number_text(ratio)} times its mass and "
                    f"sinks in with the solver 'quick' and {physics.iterations} iterations; write "
                    "solver: world"
                )
                yield free[lower].warning("heavy-on-light", message)


def nothing_skips_its_contacts(physics: PhysicsSettings, starts: Starts) -> Iterator[Diagnostic]:
    """Links move at most half their thickness per step, or they could skip a contact."""
    for start in starts:
        speeds = np.linalg.norm(start.state.v, axis=1)
        if not speeds.max() * physics.time_step > 1e-4:
            continue
        worst: tuple[float, str] | None = None
        for i, thickness in Solids(start).thickness.items():
            way = float(speeds[i]) * physics.time_step
            if way > thickness / 2.0 and (worst is None or way / thickness > worst[0]):
                step = rounded_down(thickness / 2.0 / float(speeds[i]))
                worst = (
                    way / thickness,
                    f"link '{start.body.links[i].name}' starts at {number_text(speeds[i])} m/s and "
                    f"moves {1e3 * way:.3g} mm per step, but is only {1e3 * thickness:.3g} mm "
                    f"thick: it may pass through others; {_remedy(step)}",
                )
        if worst is not None:
            yield start.warning("fast-start", worst[1])


def free_bodies_can_land(physics: PhysicsSettings, starts: Starts) -> Iterator[Diagnostic]:
    """Below each free body is a fixed one, or another body that will land."""
    if not _falls_along_z(physics):
        return
    solids = [Solids(start) for start in starts]
    low, high = _corners(solids)
    is_held = [not start.is_free or bool(start.joined_links) for start in starts]
    caught = np.array(is_held, dtype=bool)
    for i in np.argsort(low[:, 2], kind="stable").tolist():
        start = starts[i]
        if caught[i]:
            continue
        if solids[i].box is None:
            message = "a free body without collision shapes falls through everything"
            yield start.warning(
                "nothing-below", f"{message}; give it collision shapes, or write fixed: true"
            )
            continue
        under = caught & (low[:, 2] < high[i, 2])
        under &= boxes_overlap(low[:, :2], high[:, :2], low[i, :2], high[i, :2], touching=False)
        caught[i] = under.any()
        if not caught[i]:
            message = "nothing is below this free body, so it falls without end"
            yield start.warning(
                "nothing-below", f"{message}; add a floor to 'bodies', or write fixed: true"
            )


def _falls_along_z(physics: PhysicsSettings) -> bool:
    """Return whether gravity points mainly along -z."""
    x, y, z = physics.gravity
    return z < 0.0 and max(abs(x), abs(y)) <= -z


def _remedy(step: float) -> str:
    """Return the remedy for a motion that needs a time step in [s]."""
    if step < PHYSICS_RANGES["time_step"][0]:
        return "use a lower velocity; no allowed time step is short enough"
    return f"write time_step: {step:g}"


def _inner_first(
    a: tuple[InitialState, int], b: tuple[InitialState, int]
) -> tuple[tuple[InitialState, int], ...]:
    """Return two bodies and their links, the one more likely to be misplaced first."""
    keys = [(not s.mobile[i], not s.is_free, s.body.total_mass) for s, i in (a, b)]
    return (a, b) if keys[0] <= keys[1] else (b, a)


def _supports(solids: Sequence[Solids]) -> list[list[int]]:
    """Return for each body those that it stands on or is about to land on."""
    below: list[list[int]] = [[] for _ in solids]
    low, high = _corners(solids)
    for i, box in enumerate(solid.box for solid in solids):
        if box is None:
            continue
        gap = box.low[2] - high[:, 2]
        height = min(box.high[2] - box.low[2], _CONTACT_GAP)
        on = (gap > -_TOLERATED_DEPTH) & (gap < height)
        on &= boxes_overlap(low[:, :2], high[:, :2], box.low[:2], box.high[:2], touching=False)
        on[i] = False
        below[i] = np.flatnonzero(on).tolist()
    return below


def spawned_overlaps(
    entry: BodyEntry,
    others: list[SimulatedBody],
    is_fixed: Callable[[str], bool],
    physics: PhysicsSettings,
) -> Iterator[Diagnostic]:
    """Yield a warning for each body that a new one overlaps deeply; see ``advise_spawned``."""
    new = Solids(InitialState(entry, physics))
    if new.box is None:
        return
    for other in _near(new.box, others):
        present = Solids(_present(other, is_fixed(other.name), physics))
        remedy = f"spawn '{new.start.name}' elsewhere"
        warning = overlap_warning(physics, new, present, "is", remedy)
        if warning is not None:
            yield warning


def _near(box: BoundingBox, bodies: list[SimulatedBody]) -> list[SimulatedBody]:
    """Return the bodies with a link that may reach into an axis-aligned box in W.

    There may be a thousand bodies, nearly all far away, so all links are checked at once.
    """
    if not bodies:
        return []
    p = np.concatenate([body.motion.p for body in bodies])
    reach = np.concatenate([_reach(body.body) for body in bodies])[:, np.newaxis]
    near = boxes_overlap(p - reach, p + reach, *box, touching=False)
    first = np.cumsum([0, *(len(body.motion.p) for body in bodies[:-1])])
    return [bodies[k] for k in np.flatnonzero(np.logical_or.reduceat(near, first))]


def _reach(body: Body) -> Array:
    """Return the largest distance of each link's collision shapes from its origin.

    In [m], shape (links,); minus infinity for links without collision shapes.
    """
    found = _reaches.get(body)
    if found is None:
        found = np.full(len(body.links), -np.inf)
        for i, link in enumerate(body.links):
            for shape in link.collision:
                if (own := geometry_box(shape.geometry)) is not None:
                    box = own.transformed(shape.T_FG)
                    farthest = float(np.linalg.norm(np.maximum(abs(box.low), abs(box.high))))
                    found[i] = max(found[i], farthest)
        _reaches[body] = found
    return found


def _present(body: SimulatedBody, fixed: bool, physics: PhysicsSettings) -> InitialState:
    """Return the present state of a body as an initial state."""
    motion = body.motion
    X_WL = Pose(motion.R[0].copy(), motion.p[0].copy())
    placement = Placement(name=body.name, body=body.body, X_WL=X_WL, q=motion.q.copy(), fixed=fixed)
    return InitialState(BodyEntry(placement=placement), physics)
