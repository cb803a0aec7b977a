"""Check a spawned body for overlaps with the bodies of a running world."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from weakref import WeakKeyDictionary

import numpy as np

from hrp_model import Body, Diagnostic, Pose, Severity
from hrp_model.rigid import Array
from hrp_model.shapes.measure import BoundingBox, boxes_overlap, geometry_box

from ...engine.engine import PhysicsSettings, Placement
from ...engine.state import SimulatedBody
from ..config import BodyEntry
from .contacts import overlap_warning
from .initial_state import InitialState
from .shapes import Solids

_reaches: WeakKeyDictionary[Body, Array] = WeakKeyDictionary()


def remarks(bodies: Iterable[SimulatedBody]) -> Iterator[Diagnostic]:
    """Yield what an engine remarked on bodies when they were added to it, as notes."""
    for simulated in bodies:
        for remark in simulated.remarks:
            message = f"body '{simulated.name}': {remark}"
            yield Diagnostic(Severity.NOTE, "links-overlap", message)


def advise_spawned(
    entry: BodyEntry,
    bodies: Mapping[str, SimulatedBody],
    is_fixed: Callable[[str], bool],
    physics: PhysicsSettings,
) -> Iterator[Diagnostic]:
    """Yield notes on a new body, and a warning for each body that overlaps it deeply.

    Args:
        entry: The entry of the new body.
        bodies: All present bodies by name, with or without the new one.
        is_fixed: Returns whether the root of a body, given by name, is fixed to the world.
        physics: Settings of the world.
    """
    if (simulated := bodies.get(entry.placement.name)) is not None:
        yield from remarks([simulated])
    new = Solids(InitialState(entry, physics))
    if new.box is None:
        return
    others = [body for name, body in bodies.items() if name != new.start.name]
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
