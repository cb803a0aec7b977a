"""Collision detection, contact joints, and contact forces."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf

import numpy as np
import ode

from hrp_model.rigid import Array

from ..articulation.articulation import Contact
from ..contact_points import ContactPoints
from ..engine import PhysicsSettings
from ..ode import guard
from .body import ArticulatedBody, StepFaultError
from .contact_patch import reduced
from .shapes import Owner, collide, near_pairs
from .surfaces import Surfaces

# Links of one body that overlap deeper than this initially never collide, in [m].
_NEVER_BEYOND = {Contact.UNLESS_OVERLAPPING: 1e-3, Contact.UNLESS_TOUCHING: -1.0}
# Coulomb coefficient of tracks across their direction.
_TRACK_SIDE_FRICTION = 0.5
# Impacts slower than what gravity adds in so many steps, or slower than this [m/s], do not bounce.
_MIN_BOUNCE_STEPS, _MIN_BOUNCE_SPEED = 2.0, 1e-4
# Slower slip has no direction, in [m/s].
_MIN_SLIP = 1e-6
# Slower surfaces of conveyors are at rest, in [m/s].
_MIN_SURFACE_SPEED = 1e-9
# Approximate deceleration by friction with mu = 1, in [m/s^2].
_DECELERATION = 10.0


class Contacts:
    """The contacts of a step.

    Args:
        world: Of PyODE.
        space: Contains the shapes.
        bodies: By name; a live mapping.
        settings: Of the world.

    Attributes:
        count: Number of contacts.
        record_forces: Whether steps record contact points and forces.
        connected: Pairs of groups, as (body, index or STATIC), that joints between bodies connect.
    """

    def __init__(
        self,
        world: ode.World,
        space: ode.SimpleSpace,
        bodies: Mapping[str, ArticulatedBody],
        settings: PhysicsSettings,
    ) -> None:
        self.count = 0
        self.record_forces = False
        self.connected: set[frozenset[tuple[str, int]]] = set()
        self._world, self._space, self._bodies, self._settings = world, space, bodies, settings
        self._surfaces = Surfaces(settings)
        self._joints: list[ode.ContactJoint] = []
        self._touching: list[tuple[Owner, Owner, ode.Contact]] = []
        self._forces: list[Array] = []

    def make(self) -> None:
        """Create the contact joints of the next step.

        Raises:
            StepFaultError: There are too many contacts.
            OdeError: ODE has failed.
        """
        self.clear()
        for a, b in near_pairs(self._space, self._bodies):
            if self._rule(a.owner, b.owner) == Contact.NEVER:
                continue
            for contact in reduced(collide(a, b), self._settings.max_contacts):
                self._add(a, b, contact)
            if len(self._joints) > guard.MAX_CONTACTS:
                raise StepFaultError(guard.FAULT_CONTACTS, a.owner.body, a.owner.link)
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

    def disable_overlapping_pairs(self, body: ArticulatedBody) -> list[tuple[int, int]]:
        """Disable collisions between links of a new body that overlap in its initial posture.

        Returns:
            Pairs of such links.
        """
        found = set()
        for a, b in near_pairs(self._space, self._bodies):
            if not a.owner.body == b.owner.body == body.name:
                continue
            least = _NEVER_BEYOND.get(Contact(self._rule(a.owner, b.owner)))
            if least is not None:
                depths = [contact.getContactGeomParams()[2] for contact in collide(a, b)]
                if max(depths, default=-inf) > least:
                    found.add((a.owner.link, b.owner.link))
        for i, j in found:
            body.contacts[i, j] = body.contacts[j, i] = Contact.NEVER
        return sorted(found)

    def _connects(self, a: Owner, b: Owner) -> bool:
        """Whether a joint connects the groups of two links of different bodies."""
        if not self.connected:
            return False
        ends = [(x.body, self._bodies[x.body].group_of(x.link)) for x in (a, b)]
        return frozenset(ends) in self.connected

    def _rule(self, a: Owner, b: Owner) -> int:
        if not self._surfaces.collide(a.material, b.material):
            return Contact.NEVER
        if a.body != b.body:
            return Contact.NEVER if self._connects(a, b) else Contact.ALWAYS
        if not self._settings.self_collision:
            return Contact.NEVER
        return int(self._bodies[a.body].contacts[a.link, b.link])

    def _add(self, a: ode.GeomObject, b: ode.GeomObject, contact: ode.Contact) -> None:
        """Create the joint of a contact whose normal points into the shape a."""
        is_directed = self._set_surface(a, b, contact)
        if not (
            self._set_track(a, b, contact, 1.0)
            or self._set_track(b, a, contact, -1.0)
            or self._set_conveyor(a, b, contact, 1.0)
            or self._set_conveyor(b, a, contact, -1.0)
            or is_directed
        ):
            self._align_friction(a.getBody(), b.getBody(), contact)
        joint = ode.ContactJoint(self._world, None, contact)
        joint.attach(a.getBody(), b.getBody())
        self._joints.append(joint)
        if self.record_forces:
            joint.setFeedback(True)
            self._touching.append((a.owner, b.owner, contact))

    def _set_surface(self, a: ode.GeomObject, b: ode.GeomObject, contact: ode.Contact) -> bool:
        """Set friction and restitution of a contact; return whether friction has a direction."""
        mode = ode.ContactApprox1
        normal = np.array(contact.getContactGeomParams()[1])
        both = self._surfaces.pair(a, b, normal)
        contact.setMu(both.friction)
        if both.direction is not None:
            mode |= ode.ContactFDir1 | ode.ContactMu2
            contact.setFDir1(both.direction.tolist())
            contact.setMu2(both.across)
        if both.restitution > 0.0:
            mode |= ode.ContactBounce
            pull = abs(float(np.dot(self._settings.gravity, normal)))
            slowest = _MIN_BOUNCE_STEPS * pull * self._settings.time_step
            contact.setBounce(both.restitution)
            contact.setBounceVel(max(slowest, _MIN_BOUNCE_SPEED, both.bounce_speed))
        contact.setMode(mode)
        return both.direction is not None

    def _set_track(
        self, track: ode.GeomObject, other: ode.GeomObject, contact: ode.Contact, into: float
    ) -> bool:
        """Set the surface velocity of a contact if a shape belongs to a track; return whether so.

        The track pushes its link along axis x normal, the normal pointing into the link: a
        positive speed drives it like a wheel that turns positively about the axis.

        Args:
            track: The shape.
            other: The other shape.
            contact: Between both.
            into: 1 if the contact's normal points into ``track``, else -1.
        """
        body, link = self._bodies[track.owner.body], track.owner.link
        if not body.is_track[link]:
            return False
        along = into * np.cross(body.track_axis(link), contact.getContactGeomParams()[1])
        length = float(np.linalg.norm(along))
        if length < 1e-5:
            return False
        contact.setFDir1((along / length).tolist())
        contact.setMode(contact.getMode() | ode.ContactFDir1 | ode.ContactMotion1 | ode.ContactMu2)
        # ODE applies the motion to the joint's first body, which is never the world.
        is_first = track.getBody() is not None and (into > 0.0 or other.getBody() is None)
        speed = float(body.drive.track_speed[link])
        contact.setMotion1(speed if is_first else -speed)
        contact.setMu2(_TRACK_SIDE_FRICTION)
        return True

    def _set_conveyor(
        self, conveyor: ode.GeomObject, other: ode.GeomObject, contact: ode.Contact, into: float
    ) -> bool:
        """Set the surface velocity of a contact if that of a shape moves; return whether so.

        Args:
            conveyor: The shape.
            other: The other shape.
            contact: Between both.
            into: 1 if the contact's normal points into ``conveyor``, else -1.
        """
        position, normal, *_ = contact.getContactGeomParams()
        body, link = self._bodies[conveyor.owner.body], conveyor.owner.link
        along = body.surface_velocity(link, np.array(position))
        along -= (along @ normal) * np.array(normal)
        speed = float(np.linalg.norm(along))
        if speed < _MIN_SURFACE_SPEED:
            return False
        contact.setFDir1((along / speed).tolist())
        contact.setMode(contact.getMode() | ode.ContactFDir1 | ode.ContactMotion1)
        if contact.getMode() & ode.ContactMu2:
            mu = min(contact.getMu(), contact.getMu2())
            contact.setMu(mu)
            contact.setMu2(mu)
        # ODE applies the motion to the joint's first body, which is never the world; it lags
        # behind its own surface.
        is_first = conveyor.getBody() is not None and (into > 0.0 or other.getBody() is None)
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
