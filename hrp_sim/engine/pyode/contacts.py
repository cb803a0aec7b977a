"""Collision shapes, rays, contact joints and contact forces."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import NamedTuple

import numpy as np
import ode

from hrp_model.rigid import Array

from ..articulation.articulation import (
    NO_CONTACT,
    STATIC,
    Articulation,
    Contact,
    GeomKind,
    JointKind,
)
from ..engine import PhysicsSettings
from ..materials import NO_COLLISION
from ..ode import faults
from ..state import ContactPoints
from .body import ArticulatedBody, StepFaultError

SHAPES = {
    GeomKind.BOX: lambda space, size: ode.GeomBox(space, size),
    GeomKind.SPHERE: lambda space, size: ode.GeomSphere(space, size[0]),
    GeomKind.CYLINDER: lambda space, size: ode.GeomCylinder(space, size[0], size[1]),
    GeomKind.CAPSULE: lambda space, size: ode.GeomCapsule(space, size[0], size[1]),
}
# Categories of shapes; moving ones collide with each other and with static ones.
_MOVING, _STATIC, _ONLY_STOPS_RAYS = 1, 2, 4
# Fewest contact points of boxes that lie flat on each other.
_FLAT_CONTACTS = 3
# Added to a quaternion; too little to affect contacts, in [rad / 2].
_TILT = np.array([0.0, 1e-8, 2e-8, 3e-8])
# Links of one body that overlap deeper than this initially never collide, in [m].
_NEVER_BEYOND = {Contact.UNLESS_OVERLAPPING: 1e-3, Contact.UNLESS_TOUCHING: -1.0}
# Coulomb coefficient of tracks across their direction.
_TRACK_SIDE_FRICTION = 0.5
# Impacts slower than what gravity adds in so many steps, or slower than this [m/s], do not bounce.
_MIN_BOUNCE_STEPS, _MIN_BOUNCE_SPEED = 2.0, 1e-4
# Slower slip has no direction, in [m/s].
_MIN_SLIP = 1e-6
# Approximate deceleration by friction with mu = 1, in [m/s^2].
_DECELERATION = 10.0


class Owner(NamedTuple):
    """Owner of a shape; the attribute ``owner`` of the PyODE object.

    Attributes:
        body: Name of its body.
        shape: Its index in this body.
        link: Index of its link.
        material: Row of the world's table of materials.
    """

    body: str
    shape: int
    link: int
    material: int


class Contacts:
    """The shapes of a world, and the contacts of a step.

    Args:
        world: Of PyODE.
        bodies: By name; a live mapping.
        settings: Of the world.

    Attributes:
        count: Number of contacts.
        record_forces: Whether steps record contact points and forces.
    """

    def __init__(
        self, world: ode.World, bodies: Mapping[str, ArticulatedBody], settings: PhysicsSettings
    ) -> None:
        self.count = 0
        self.record_forces = False
        self._world, self._bodies, self._settings = world, bodies, settings
        self._friction, self._restitution = settings.materials.matrices(settings.friction)
        self._space = ode.SimpleSpace()  # a HashSpace misses a few pairs
        self._shapes: dict[str, list[ode.GeomObject]] = {}
        self._joints: list[ode.ContactJoint] = []
        self._touching: list[tuple[Owner, Owner, ode.Contact]] = []
        self._forces: list[Array] = []

    def add_shapes(self, body: ArticulatedBody, flat: Articulation) -> None:
        """Create the shapes of a body."""
        made = self._shapes[body.name] = []
        geoms, group_of = flat.geoms, flat.links.group
        for k, (kind, link) in enumerate(zip(geoms.kind, geoms.link.tolist(), strict=True)):
            shape = SHAPES[kind](self._space, geoms.size[k].tolist())
            shape.owner = Owner(body.name, k, link, int(geoms.material[k]))
            p, R = geoms.p[k].tolist(), geoms.R[k].ravel().tolist()
            if group_of[link] == STATIC:
                shape.setPosition(p)
                shape.setRotation(R)
            else:
                shape.setBody(body.groups[group_of[link]])
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

    def remove_shapes(self, body: str) -> None:
        """Remove the shapes of a body, before its groups."""
        self.clear()
        for shape in self._shapes.pop(body, ()):
            shape.setBody(None)

    def disable_overlapping_pairs(self, body: ArticulatedBody) -> list[tuple[int, int]]:
        """Disable collisions between links of a new body that overlap in its initial posture.

        Returns:
            Pairs of such links.
        """
        found = set()
        for a, b in self._near_pairs():
            if not a.owner.body == b.owner.body == body.name:
                continue
            least = _NEVER_BEYOND.get(Contact(self._rule(a.owner, b.owner)))
            if least is not None:
                depths = [contact.getContactGeomParams()[2] for contact in _collide(a, b)]
                if max(depths, default=-inf) > least:
                    found.add((a.owner.link, b.owner.link))
        for i, j in found:
            body.contacts[i, j] = body.contacts[j, i] = Contact.NEVER
        return sorted(found)

    def make(self) -> None:
        """Create the contact joints of the next step.

        Raises:
            StepFaultError: There are too many contacts.
            OdeError: ODE has failed.
        """
        self.clear()
        for a, b in self._near_pairs():
            if self._rule(a.owner, b.owner) == Contact.NEVER:
                continue
            for contact in _collide(a, b):
                self._add(a, b, contact)
            if len(self._joints) > faults.MAX_CONTACTS:
                raise StepFaultError(faults.FAULT_CONTACTS, a.owner.body, a.owner.link)
        self.count = len(self._joints)

    def finish(self) -> None:
        """Read the forces of the last step, and destroy the contact joints."""
        for joint, (_, _, contact) in zip(self._joints, self._touching, strict=False):
            # ODE reports the force on the joint's first body: that of the second shape where
            # the first one belongs to the world.
            is_first = contact.getContactGeomParams()[3].getBody() is not None
            self._forces.append(np.array(joint.getFeedback()[0]) * (1.0 if is_first else -1.0))
        self._joints.clear()

    def discard_points(self) -> None:
        """Discard the recorded contact points of the last step."""
        self._touching.clear()
        self._forces.clear()

    def clear(self) -> None:
        """Discard all contacts of the last step."""
        self.discard_points()
        self._joints.clear()
        self.count = 0

    def points(self, time_ns: int) -> ContactPoints:
        """Return the contact points of the last step, which ended at this time in [ns]."""
        if not self._forces:
            return ContactPoints.empty(time_ns)
        owners = [(a, b) for a, b, _ in self._touching]
        places = [contact.getContactGeomParams() for _, _, contact in self._touching]
        return ContactPoints(
            time_ns=time_ns,
            bodies=tuple((a.body, b.body) for a, b in owners),
            links=np.array([(a.link, b.link) for a, b in owners], dtype=np.int32),
            position=np.array([position for position, *_ in places]),
            normal=np.array([normal for _, normal, *_ in places]),
            depth=np.array([depth for _, _, depth, *_ in places]),
            force=np.array(self._forces),
        )

    def cast_rays(
        self,
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
            ode.collide2(ray, self._space, near, lambda near, _ray, shape: near.append(shape))
            for shape in near:
                if shape.owner.body == ignored and ignored_link in (None, shape.owner.link):
                    continue
                for contact in faults.guarded(ode.collide, ray, shape):
                    distances[n] = min(distances[n], contact.getContactGeomParams()[2])
        return distances

    def _near_pairs(self) -> list[tuple[ode.GeomObject, ode.GeomObject]]:
        """Return pairs of shapes that may collide, ordered by body and shape.

        ODE's own order depends on which shapes were moved last.
        """
        pairs: list[tuple[ode.GeomObject, ode.GeomObject]] = []
        faults.guarded(self._space.collide, None, lambda _, a, b: pairs.append((a, b)))
        place = {name: i for i, name in enumerate(self._bodies)}

        def rank(shape: ode.GeomObject) -> tuple[int, int]:
            return place[shape.owner.body], shape.owner.shape

        ordered = [(a, b) if rank(a) < rank(b) else (b, a) for a, b in pairs]
        return sorted(ordered, key=lambda pair: (rank(pair[0]), rank(pair[1])))

    def _rule(self, a: Owner, b: Owner) -> int:
        if self._friction[a.material, b.material] == NO_COLLISION:
            return Contact.NEVER
        if a.body != b.body:
            return Contact.ALWAYS
        if not self._settings.self_collision:
            return Contact.NEVER
        return int(self._bodies[a.body].contacts[a.link, b.link])

    def _add(self, a: ode.GeomObject, b: ode.GeomObject, contact: ode.Contact) -> None:
        """Create the joint of a contact whose normal points into the shape a."""
        self._set_material(a.owner.material, b.owner.material, contact)
        if not (self._set_motion(a, b, contact, 1.0) or self._set_motion(b, a, contact, -1.0)):
            self._align_friction(a.getBody(), b.getBody(), contact)
        joint = ode.ContactJoint(self._world, None, contact)
        joint.attach(a.getBody(), b.getBody())
        self._joints.append(joint)
        if self.record_forces:
            joint.setFeedback(True)
            self._touching.append((a.owner, b.owner, contact))

    def _set_material(self, a: int, b: int, contact: ode.Contact) -> None:
        """Set friction and restitution of a contact between two materials."""
        mode, restitution = ode.ContactApprox1, float(self._restitution[a, b])
        contact.setMu(float(self._friction[a, b]))
        if restitution > 0.0:
            mode |= ode.ContactBounce
            normal = contact.getContactGeomParams()[1]
            pull = abs(float(np.dot(self._settings.gravity, normal)))
            slowest = _MIN_BOUNCE_STEPS * pull * self._settings.time_step
            contact.setBounce(restitution)
            contact.setBounceVel(max(slowest, _MIN_BOUNCE_SPEED))
        contact.setMode(mode)

    def _set_motion(
        self, moved: ode.GeomObject, other: ode.GeomObject, contact: ode.Contact, into: float
    ) -> bool:
        """Set the motion of the surface of a shape, if it moves; return whether so.

        Args:
            moved: The shape.
            other: The other shape.
            contact: Between both.
            into: 1 if the contact's normal points into ``moved``, else -1.
        """
        place, normal = (np.array(v) for v in contact.getContactGeomParams()[:2])
        body, link = self._bodies[moved.owner.body], moved.owner.link
        direction, speed, is_track = body.surface_motion(link, place, into * normal)
        if not direction.any():
            return False
        mode = contact.getMode() | ode.ContactFDir1 | ode.ContactMotion1
        contact.setFDir1(direction.tolist())
        if is_track:
            mode |= ode.ContactMu2
            contact.setMu2(_TRACK_SIDE_FRICTION)
        contact.setMode(mode)
        # ODE applies the motion to the joint's first body, which is never the world; it lags
        # behind its own surface.
        is_first = moved.getBody() is not None and (into > 0.0 or other.getBody() is None)
        contact.setMotion1(-speed if is_first else speed)
        return True

    def _align_friction(self, a: ode.Body, b: ode.Body, contact: ode.Contact) -> None:
        """Align friction with the slip; across it allow only what a step can turn the slip by.

        ODE bounds friction along two directions by mu times the normal force each. By default
        they are fixed axes of the world: friction is then up to sqrt(2) mu between them and
        deflects sliding bodies. Coulomb friction is mu opposite to the slip, present or
        impending, and zero across it. Without slip there is no direction, and it acts along both.
        """
        position, normal, *_ = contact.getContactGeomParams()
        slip = self._free_velocity(a, position) - self._free_velocity(b, position)
        slip -= (slip @ normal) * np.array(normal)
        speed = float(np.linalg.norm(slip))
        if speed < _MIN_SLIP:
            return
        mu = contact.getMu()
        stopped = _DECELERATION * min(mu, 1.0) * self._settings.time_step
        contact.setFDir1((slip / speed).tolist())
        contact.setMode(contact.getMode() | ode.ContactFDir1 | ode.ContactMu2)
        contact.setMu2(mu * min(1.0, stopped / speed))

    def _free_velocity(self, body: ode.Body, position: tuple[float, float, float]) -> Array:
        """Return the velocity of a point of a group after the step without any constraints."""
        if body is None:  # the world
            return np.zeros(3)
        a = np.array(body.getForce()) / body.getMass().mass + self._settings.gravity
        return np.asarray(body.getPointVel(position) + a * self._settings.time_step)


def _collide(a: ode.GeomObject, b: ode.GeomObject) -> list[ode.Contact]:
    """Return the contacts of two shapes.

    ODE may miss contacts of boxes whose edges are parallel up to rounding, such as of boxes that
    lie on each other. So these are tried again with one box tilted a little.
    """
    found: list[ode.Contact] = faults.guarded(ode.collide, a, b)
    if len(found) >= _FLAT_CONTACTS or not isinstance(a, ode.GeomBox) & isinstance(b, ode.GeomBox):
        return found
    quaternion = b.getQuaternion() + _TILT
    tilted = ode.GeomBox(None, b.getLengths())
    tilted.setPosition(b.getPosition())
    tilted.setQuaternion((quaternion / np.linalg.norm(quaternion)).tolist())
    again: list[ode.Contact] = faults.guarded(ode.collide, a, tilted)
    for contact in again:
        contact.setContactGeomParams(*contact.getContactGeomParams()[:3], a, b)
    return again if len(again) > len(found) else found


def _is_static(flat: Articulation, group: int) -> bool:
    """Whether only fixed joints, which carry force sensors, connect a group to the world."""
    joints = flat.joints
    for j in reversed(range(len(joints.kind))):  # parents come before their children
        if joints.child[j] == group and joints.kind[j] == JointKind.FIXED:
            group = int(joints.parent[j])
    return group == STATIC
