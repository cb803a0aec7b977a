"""Collision shapes: creation, contacts between two shapes, and ray casting."""

from __future__ import annotations

from collections.abc import Iterable
from math import inf
from typing import NamedTuple

import numpy as np
import ode

from hrp_model.rigid import Array

from ..articulation.articulation import NO_CONTACT, STATIC, Articulation, GeomKind, JointKind
from ..ode.guard import guarded

SHAPES = {
    GeomKind.BOX: lambda space, size: ode.GeomBox(space, size),
    GeomKind.SPHERE: lambda space, size: ode.GeomSphere(space, size[0]),
    GeomKind.CYLINDER: lambda space, size: ode.GeomCylinder(space, size[0], size[1]),
    GeomKind.CAPSULE: lambda space, size: ode.GeomCapsule(space, size[0], size[1]),
}
ShapePair = tuple[ode.GeomObject, ode.GeomObject]

# Categories of shapes; moving ones collide with each other and with static ones.
_MOVING, _STATIC, _ONLY_STOPS_RAYS = 1, 2, 4
# Fewest contact points of boxes that lie flat on each other.
_FLAT_CONTACTS = 3
# Added to a quaternion; too little to affect contacts, in [rad / 2].
_TILT = np.array([0.0, 1e-8, 2e-8, 3e-8])


class Owner(NamedTuple):
    """Owner of a shape; the attribute ``owner`` of the PyODE object.

    Attributes:
        body: Name of its body.
        shape: Its index in this body.
        link: Index of its link.
        material: Row of the world's table of materials.
        surface: What its model declares, see ``declared_surfaces``.
    """

    body: str
    shape: int
    link: int
    material: int
    surface: Array


def make_shapes(
    space: ode.SimpleSpace, name: str, flat: Articulation, groups: list[ode.Body]
) -> list[ode.GeomObject]:
    """Create the shapes of the body of this name from its rigid groups."""
    made = []
    geoms, group_of = flat.geoms, flat.links.group
    for k, (kind, link) in enumerate(zip(geoms.kind, geoms.link.tolist(), strict=True)):
        shape = SHAPES[kind](space, geoms.size[k].tolist())
        shape.owner = Owner(name, k, link, int(geoms.material[k]), geoms.surface[k])
        p, R = geoms.p[k].tolist(), geoms.R[k].ravel().tolist()
        if group_of[link] == STATIC:
            shape.setPosition(p)
            shape.setRotation(R)
        else:
            shape.setBody(groups[group_of[link]])
            shape.setOffsetPosition(p)
            shape.setOffsetRotation(R)
        if geoms.material[k] == NO_CONTACT:
            category, others = _ONLY_STOPS_RAYS, 0
        elif _is_static(flat, group_of[link]):
            category, others = _STATIC, 0
        else:
            category, others = _MOVING, _MOVING | _STATIC
        shape.setCategoryBits(category)
        shape.setCollideBits(others)
        made.append(shape)
    return made


def _is_static(flat: Articulation, group: int) -> bool:
    """Whether only fixed joints, which carry force sensors, connect a group to the world."""
    joints = flat.joints
    for j in reversed(range(len(joints.kind))):  # parents come before their children
        if joints.child[j] == group and joints.kind[j] == JointKind.FIXED:
            group = int(joints.parent[j])
    return group == STATIC


def near_pairs(space: ode.SimpleSpace, bodies: Iterable[str]) -> list[ShapePair]:
    """Return pairs of shapes that may collide, ordered by body and shape.

    ODE's own order depends on which shapes were moved last.
    """
    pairs: list[ShapePair] = []
    guarded(space.collide, None, lambda _, a, b: pairs.append((a, b)))
    place = {name: i for i, name in enumerate(bodies)}

    def rank(shape: ode.GeomObject) -> tuple[int, int]:
        return place[shape.owner.body], shape.owner.shape

    ordered = [(a, b) if rank(a) < rank(b) else (b, a) for a, b in pairs]
    return sorted(ordered, key=lambda pair: (rank(pair[0]), rank(pair[1])))


def collide(a: ode.GeomObject, b: ode.GeomObject) -> list[ode.Contact]:
    """Return the contacts of two shapes.

    ODE may miss contacts of boxes whose edges are parallel up to rounding, such as of boxes that
    lie on each other. So these are tried again with one box tilted a little.
    """
    found: list[ode.Contact] = guarded(ode.collide, a, b)
    if len(found) >= _FLAT_CONTACTS or not (
        isinstance(a, ode.GeomBox) and isinstance(b, ode.GeomBox)
    ):
        return found
    quaternion = b.getQuaternion() + _TILT
    tilted = ode.GeomBox(None, b.getLengths())
    tilted.setPosition(b.getPosition())
    tilted.setQuaternion((quaternion / np.linalg.norm(quaternion)).tolist())
    again: list[ode.Contact] = guarded(ode.collide, a, tilted)
    if len(again) <= len(found):
        return found
    for contact in again:
        contact.setContactGeomParams(*contact.getContactGeomParams()[:3], a, b)
    return again


def cast_rays(
    space: ode.SimpleSpace,
    origins: Array,
    directions: Array,
    reach: float,
    ignored: str | None,
    ignored_link: int | None,
) -> Array:
    """Return the distance to the nearest shape along each ray; see ``Engine.cast_rays``."""
    ray = ode.GeomRay(None, reach)
    ray.setCategoryBits(0)
    ray.setCollideBits(_MOVING | _STATIC | _ONLY_STOPS_RAYS)
    distances = np.full(len(origins), inf)
    for n, (origin, direction) in enumerate(
        zip(origins.tolist(), directions.tolist(), strict=True)
    ):
        ray.set(origin, direction)
        near: list[ode.GeomObject] = []
        guarded(ode.collide2, ray, space, near, lambda near, _ray, shape: near.append(shape))
        for shape in near:
            if shape.owner.body == ignored and ignored_link in (None, shape.owner.link):
                continue
            for contact in guarded(ode.collide, ray, shape):
                distances[n] = min(distances[n], contact.getContactGeomParams()[2])
    return distances
