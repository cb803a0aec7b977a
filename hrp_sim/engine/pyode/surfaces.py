"""Friction and restitution of two shapes, from materials and from what models declare."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import ode

from hrp_model.rigid import Array

from ..articulation.declared_surfaces import (
    ACROSS,
    ALONG,
    BOUNCE_SPEED,
    FRICTION,
    FRICTIONLESS,
    LARGER,
    NO_RULE,
    PRIORITY,
    RESTITUTION,
    RULE,
)
from ..engine import PhysicsSettings
from ..materials import NO_COLLISION, NO_MATERIAL

# Sine of the angle between the normal and a direction of friction.
_MIN_ALONG = 1e-6


@dataclass
class PairSurface:
    """What two shapes have together.

    Attributes:
        friction, across: Coulomb coefficients along ``direction`` and across it, equal without one.
        restitution: Ratio of the speeds after and before an impact.
        bounce_speed: Slower impacts do not bounce, in [m/s].
        direction: Unit vector in W in the plane of contact, or None.
    """

    friction: float
    across: float
    restitution: float
    bounce_speed: float = 0.0
    direction: Array | None = None


class Surfaces:
    """The surfaces of a world."""

    def __init__(self, settings: PhysicsSettings) -> None:
        self._friction, self._restitution = settings.materials.matrices(settings.friction)
        self._prevailing = settings.materials.prevailing

    def collide(self, a: int, b: int) -> bool:
        """Return whether shapes of two materials collide."""
        return bool(self._friction[a, b] != NO_COLLISION)

    def pair(self, a: ode.GeomObject, b: ode.GeomObject, normal: Array) -> PairSurface:
        """Return what two shapes have together at a contact with this normal."""
        i, j = a.owner.material, b.owner.material
        mu, e = float(self._friction[i, j]), float(self._restitution[i, j])
        both = PairSurface(mu, mu, e)
        rows = [x.owner.surface for x in (a, b) if x.owner.surface[RULE] != NO_RULE]
        if not rows or self._prevailing[j if i == NO_MATERIAL else i]:
            return both
        both.friction, both.across = (_friction(rows, k, mu) for k in (FRICTION, ACROSS))
        bouncing = [row for row in rows if row[RESTITUTION] >= 0.0]
        if bouncing:
            both.restitution = min(float(row[RESTITUTION]) for row in bouncing)
            both.bounce_speed = min(float(row[BOUNCE_SPEED]) for row in bouncing)
        if both.friction != both.across:
            both.direction = _direction(a, b, normal)
        if both.direction is None:
            both.friction = both.across = min(both.friction, both.across)
        return both


def _friction(rows: list[Array], k: int, of_table: float) -> float:
    """Return one coefficient of friction of one or two shapes that declare surfaces."""
    values = [float(row[k]) if row[k] >= 0.0 else of_table for row in rows]
    own = [0.0 if row[FRICTIONLESS] else mu for row, mu in zip(rows, values, strict=True)]
    if len(rows) < 2:
        return min(*own, of_table)
    if any(row[RULE] != LARGER for row in rows):
        return min(own)
    priorities = [row[PRIORITY] for row in rows]
    if priorities[0] != priorities[1]:
        return own[int(np.argmax(priorities))]
    return 0.0 if all(row[FRICTIONLESS] for row in rows) else max(values)


def _direction(a: ode.GeomObject, b: ode.GeomObject, normal: Array) -> Array | None:
    """Return the direction of friction of the shape with less of it, or None."""
    directed = [x for x in (a, b) if x.owner.surface[ALONG].any()]
    if not directed:
        return None
    shape = min(directed, key=lambda x: float(x.owner.surface[FRICTION]))
    along = np.array(shape.getRotation()).reshape(3, 3) @ shape.owner.surface[ALONG]
    along -= (along @ normal) * normal
    length = float(np.linalg.norm(along))
    return along / length if length > _MIN_ALONG else None
