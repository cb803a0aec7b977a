"""What is told of a body that appears in a world that runs: what it is deep inside of."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from weakref import WeakKeyDictionary

import numpy as np

from hrp_model import Body, Diagnostic, Pose
from hrp_model.rigid import Array
from hrp_model.shapes.measure import BoundingBox, boxes_overlap, geometry_box

from ..physics.engine import PhysicsSettings, Placement
from ..physics.state import SimulatedBody
from ..world.config import BodyEntry
from .contacts import inside
from .shapes import Solids
from .start import Start

_reaches: WeakKeyDictionary[Body, Array] = WeakKeyDictionary()


def advise_spawned(
    entry: BodyEntry,
    bodies: Mapping[str, SimulatedBody],
    is_fixed: Callable[[str], bool],
    physics: PhysicsSettings,
) -> Iterator[Diagnostic]:
    """Yield a warning for each body that a new one is deep inside of, or that is inside it.

    Args:
        entry: What has put the new body into the world.
        bodies: All that are there now, by name, the new one too or not.
        is_fixed: Tells by name whether the root of a body is fixed to the world.
        physics: Settings of the world.
    """
    new = Solids(Start(entry, physics))
    if new.box is None:
        return
    others = [body for name, body in bodies.items() if name != new.start.name]
    for other in _near(new.box, others):
        there = Solids(_present(other, is_fixed(other.name), physics))
        found = inside(physics, new, there, "is", f"spawn '{new.start.name}' elsewhere")
        if found is not None:
            yield found


def _near(box: BoundingBox, bodies: list[SimulatedBody]) -> list[SimulatedBody]:
    """Return the bodies of which a link may reach into a box along the axes of W.

    There may be a thousand, and nearly all are far away: so all links are looked at in one go.
    """
    if not bodies:
        return []
    p = np.concatenate([body.motion.p for body in bodies])
    reach = np.concatenate([_reach(body.body) for body in bodies])[:, np.newaxis]
    near = boxes_overlap(p - reach, p + reach, *box, touching=False)
    first = np.cumsum([0, *(len(body.motion.p) for body in bodies[:-1])])
    return [bodies[k] for k in np.flatnonzero(np.logical_or.reduceat(near, first))]


def _reach(body: Body) -> Array:
    """Return how far the shapes of each link are from its origin at most, in [m], (links,).

    It is minus infinity for links without shapes that collide.
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


def _present(body: SimulatedBody, fixed: bool, physics: PhysicsSettings) -> Start:
    """Return a body as it stands now, as if it started so."""
    motion = body.motion
    X_WL = Pose(motion.R[0].copy(), motion.p[0].copy())
    placement = Placement(name=body.name, body=body.body, X_WL=X_WL, q=motion.q.copy(), fixed=fixed)
    return Start(BodyEntry(placement=placement), physics)
