"""Who touches whom, where, and how: ``ode/_core_contact.c``, pairs in the same order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf, sqrt
from typing import Any

import numpy as np
import ode

from hrp_model.rigid import Array

from ..articulation.articulation import STATIC, Contact
from ..ode.guard import FAULT_CONTACTS, MOST_CONTACTS
from .assembly import Assembly, Geom
from .binding import APPROX1, FDIR1, MOTION1, MU2
from .crowds import CONTACT_ROWS, JOINT_ROWS, Ends, Fault, find_crowd
from .motion import Motion
from .sticking import Sticking
from .surfaces import Mover, Surfaces, movers
from .telling import Told
from .vectors import Vector, cross, rotate

SAME_PLACE = 1e-6  # contacts nearer than this are one, in [m]
OVERLAP = 1e-3  # deeper at the start means drawn into each other, in [m]
TRACK_SIDE_FRICTION = 0.5
# The list of near pairs shall hold for about so many steps; it lists what is nearer than twice
# a margin, in [m].
SHORTEST_LIFE, LONGEST_LIFE = 10, 60
NEAREST, FARTHEST_NEAR = 5e-3, 0.1


@dataclass(slots=True, eq=False)
class Pair:
    """Two shapes that may touch: numbers of their boxes, and what a contact of theirs is."""

    first: int
    second: int
    geoms: tuple[Geom, Geom]
    shapes: tuple[Any, Any]
    owners: tuple[Assembly, Assembly]
    bodies: tuple[Any, Any]
    movers: Sequence[Mover]
    mu: float
    restitution: float
    has_track: bool
    are_boxes: bool


class Contacts:
    """The contacts of a world.

    Attributes:
        ends: Bodies and constraint rows of each of this step.

    Args:
        world: Of PyODE.
        bodies: In the order in which they came.
        motion: Of the same, as ODE has it.
        max_contacts: Kept for a pair of shapes.
        self_collision: Whether links of one body collide.
        materials: Friction and restitution of each pair of materials.
        surfaces: Finds contacts, and says how they bounce and rub.
        sticking: Makes joints of the contacts that stick.
        told: Keeps the contacts for who wants to know of them.
    """

    def __init__(
        self,
        world: Any,
        bodies: Sequence[Assembly],
        motion: Motion,
        *,
        max_contacts: int,
        self_collision: bool,
        materials: tuple[Array, Array],
        surfaces: Surfaces,
        sticking: Sticking,
        told: Told,
    ) -> None:
        self._world, self._group = world, ode.JointGroup()
        self._max_contacts = max_contacts
        self._surfaces, self._sticking = surfaces, sticking
        self._count = 0
        self._crowded: Pair | None = None
        self.told = told
        self.ends: list[tuple[Ends, int]] = []
        geoms = [g for b in bodies for g in _touching([*b.moving, *b.standing])]
        number = {id(g): i for i, g in enumerate(geoms)}
        self._boxes = [g.geom.getAABB for g in geoms]
        self._pairs = [
            _pair(number, a, b, owners, materials)
            for owners, a, b in _all_pairs(bodies, self_collision=self_collision)
        ]
        self._first = np.array([p.first for p in self._pairs], dtype=np.int64)
        self._second = np.array([p.second for p in self._pairs], dtype=np.int64)
        self._reach = max((g.reach for g in geoms if g.group != STATIC), default=0.0)
        self._near: list[Pair] = []
        self._near_boxes: list[tuple[int, Any]] = []
        self._motion, self._margin, self._age = motion, NEAREST, 0
        self._find_near()

    @property
    def count(self) -> int:
        """How many there were in the last step."""
        return self._count

    def make(self) -> None:
        """Make the contact joints of this step."""
        self._sticking.begin_take()
        self._count, self._crowded = 0, None
        self.told.begin()
        self.ends.clear()
        self._age += 1
        if not self._motion.strayed(self._reach) < self._margin:
            self._find_near()
        boxes = self._box_list
        for i, get in self._near_boxes:
            boxes[i] = get()
        for pair in self._near:
            a, b = boxes[pair.first], boxes[pair.second]
            if (
                a[0] <= b[1]
                and b[0] <= a[1]
                and a[2] <= b[3]
                and b[2] <= a[3]
                and a[4] <= b[5]
                and b[4] <= a[5]
            ):
                self._touch(pair)

    def clear(self) -> None:
        """Remove the contact joints, after the step."""
        self._sticking.end_take()
        self.told.take()
        self._group.empty()

    def _find_near(self) -> None:
        """List the pairs that may touch before a shape has travelled far."""
        self._box_list: list[Vector] = [get() for get in self._boxes]
        boxes = np.array(self._box_list).reshape(-1, 3, 2)
        if self._age < SHORTEST_LIFE:
            self._margin = min(2.0 * self._margin, FARTHEST_NEAR)
        elif self._age > LONGEST_LIFE:
            self._margin = max(0.5 * self._margin, NEAREST)
        self._age = 0
        self._motion.anchor()
        lower, upper = boxes[:, :, 0].T - self._margin, boxes[:, :, 1].T + self._margin
        x, y, z = lower[:, :, None] <= upper[:, None]
        below = x & y & z
        meet = below[self._first, self._second] & below[self._second, self._first]
        self._near = [self._pairs[i] for i in meet.nonzero()[0].tolist()]
        seen = sorted({i for p in self._near for i in (p.first, p.second)})
        self._near_boxes = [(i, self._boxes[i]) for i in seen]

    def _touch(self, pair: Pair) -> None:
        if self._count >= MOST_CONTACTS:
            return
        found = self._surfaces.collide(*pair.shapes, are_boxes=pair.are_boxes)
        if not found:
            return
        told = [contact.getContactGeomParams() for contact in found]
        kept = reduce(told, self._max_contacts) if len(told) > 1 else [0]
        self._count += len(kept)
        self._crowded = pair
        bodies, mu, is_special = pair.bodies, pair.mu, pair.has_track or pair.restitution > 0.0
        add, sticks, set_slip = self._sticking.add, self._sticking.is_on, self._surfaces.set_slip
        keeps = self.told
        ways, mode, proper = self._surfaces.ways(pair.movers), APPROX1, 0
        for i in kept:
            contact, (p, normal, depth, _, _) = found[i], told[i]
            if is_special:
                mode = self._set_special(pair, contact, normal)
            if sticks and add(p, normal, depth, bodies, mu, may_stick=mode == APPROX1):
                if keeps.is_on:
                    keeps.add(pair.owners, pair.geoms, told[i], self._sticking.newest)
                continue
            if not mode & FDIR1 and set_slip(contact, p, normal, ways, mu):
                contact.setMode(mode | FDIR1 | MU2)
            else:
                contact.setMode(mode)
            contact.setMu(mu)
            joint = ode.ContactJoint(self._world, self._group, contact)
            joint.attach(*bodies)
            if keeps.is_on:
                keeps.add(pair.owners, pair.geoms, told[i], joint)
            proper += 1
        if not sticks:
            self._sticking.skip(len(kept))
        self.ends.append((bodies, CONTACT_ROWS * proper + JOINT_ROWS * (len(kept) - proper)))

    def _set_special(self, pair: Pair, contact: Any, normal: Vector) -> int:
        """Let a contact bounce, and the surface of a track run; return its mode."""
        mode = APPROX1
        if pair.restitution > 0.0:
            mode |= self._surfaces.set_bounce(pair.restitution, contact, normal)
        if pair.has_track:
            mode |= _set_track(pair, 0, contact, normal) or _set_track(pair, 1, contact, normal)
        return mode

    def find_crowd(self, bodies: Sequence[Assembly], *, quick: bool) -> Fault | None:
        """Return the fault of more contacts than a step may have, or None."""
        if self._count >= MOST_CONTACTS and self._crowded is not None:
            pair = self._crowded
            return FAULT_CONTACTS, pair.owners[0].number, pair.geoms[0].link
        return None if quick else find_crowd(bodies, self._count, self.ends)


def forbid_overlaps(body: Assembly, surfaces: Surfaces) -> list[tuple[int, int]]:
    """Let links that overlap where they start pass through each other; return their pairs."""
    found = []
    for _, a, b in _own_pairs(body):
        if body.contacts[a.link, b.link] != Contact.UNLESS_OVERLAPPING:
            continue
        if not _boxes_meet(a.geom.getAABB(), b.geom.getAABB()):
            continue
        contacts = surfaces.collide(a.geom, b.geom, are_boxes=a.is_box and b.is_box)
        if any(c.getContactGeomParams()[2] > OVERLAP for c in contacts):
            body.contacts[a.link, b.link] = body.contacts[b.link, a.link] = Contact.NEVER
            found.append((a.link, b.link))
    return found


def reduce(told: Sequence[Any], wanted: int) -> list[int]:
    """Return the best contacts: the deepest, then always the farthest from those kept.

    Args:
        told: Point, normal, depth, ... of each contact.
        wanted: Most that are kept.
    """
    count = len(told)
    items = [[inf, *contact[0], i] for i, contact in enumerate(told)]
    depths = [contact[2] for contact in told]
    best, last = depths.index(max(depths)), min(wanted, count) - 1
    for k in range(last + 1):
        chosen = items[best]
        items[best], items[k] = items[k], chosen
        if k == last:
            break
        _, x, y, z, _ = chosen
        farthest, place = -1.0, k
        for item in items[k + 1 :]:
            place += 1
            distance, px, py, pz, _ = item
            px -= x
            py -= y
            pz -= z
            d = px * px + py * py + pz * pz
            if d < distance:
                item[0] = distance = d
            if distance > farthest:
                best, farthest = place, distance
        if farthest < SAME_PLACE * SAME_PLACE:
            last = k
            break
    return [item[4] for item in items[: last + 1]]


def _boxes_meet(a: Vector, b: Vector) -> bool:
    return all(a[i] <= b[i + 1] and b[i] <= a[i + 1] for i in (0, 2, 4))


def _touching(geoms: Sequence[Geom]) -> list[Geom]:
    """Return the shapes that touch; the others only stop rays."""
    return [geom for geom in geoms if geom.material >= 0]


def _own_pairs(body: Assembly) -> Iterator[tuple[tuple[Assembly, Assembly], Geom, Geom]]:
    moving, standing = _touching(body.moving), _touching(body.standing)
    for i, a in enumerate(moving):
        for b in (*moving[i + 1 :], *standing):
            if body.contacts[a.link, b.link] != Contact.NEVER:
                yield (body, body), a, b


def _all_pairs(
    bodies: Sequence[Assembly], *, self_collision: bool
) -> Iterator[tuple[tuple[Assembly, Assembly], Geom, Geom]]:
    """Go through all pairs of shapes that may touch, in the order of C."""
    for i, a in enumerate(bodies):
        if self_collision:
            yield from _own_pairs(a)
        for b in bodies[i + 1 :]:
            for ours, theirs in (
                (a.moving, b.moving),
                (a.moving, b.standing),
                (a.standing, b.moving),
            ):
                for geom in _touching(ours):
                    for other in _touching(theirs):
                        yield (a, b), geom, other


def _pair(
    number: dict[int, int],
    a: Geom,
    b: Geom,
    owners: tuple[Assembly, Assembly],
    materials: tuple[Array, Array],
) -> Pair:
    geoms = a, b
    bodies = owners[0].group_of(a.link), owners[1].group_of(b.link)
    friction, restitution = (float(matrix[a.material, b.material]) for matrix in materials)
    tracks = [o.links.track_axis[g.link] for o, g in zip(owners, geoms, strict=True)]
    return Pair(
        first=number[id(a)],
        second=number[id(b)],
        geoms=geoms,
        shapes=(a.geom, b.geom),
        owners=owners,
        bodies=bodies,
        movers=movers(bodies),
        mu=friction,
        restitution=restitution,
        has_track=any(axis.any() for axis in tracks),
        are_boxes=a.is_box and b.is_box,
    )


def _set_track(pair: Pair, side: int, contact: Any, normal: Vector) -> int:
    """Let the surface of a track run along its contact; return what the mode gains, or 0.

    See ``track_surface`` in C for the directions.
    """
    owner, link, group = pair.owners[side], pair.geoms[side].link, pair.geoms[side].group
    axis = owner.links.track_axis[link].tolist()
    if not any(axis):
        return 0
    if group != STATIC:
        axis = rotate(owner.groups[group].getRotation(), axis)
    x, y, z = cross(axis, normal)
    length = sqrt(x * x + y * y + z * z)
    if length < 1e-5:
        return 0
    scale = (-1.0 if side else 1.0) / length
    contact.setFDir1((x * scale, y * scale, z * scale))
    # ODE means the motion of the joint's first body; what stands still is never the first.
    is_first = group != STATIC and (side == 0 or pair.geoms[0].group == STATIC)
    speed = float(owner.drive.track_speed[link])
    contact.setMotion1(speed if is_first else -speed)
    contact.setMu2(TRACK_SIDE_FRICTION)
    return FDIR1 | MOTION1 | MU2
