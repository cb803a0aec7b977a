"""State, drives and wrenches of simulated bodies, as plain arrays; and joints between them.

Indices follow the Body: ``body.links`` for links, ``body.moving_links`` for joints.
All quantities are in the world frame W and SI units unless stated otherwise.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import field, fields
from typing import NamedTuple, NoReturn, TypeVar

import numpy as np
from numpy.typing import NDArray

from hrp_model import Body, Pose
from hrp_model.body import ExtraJointType
from hrp_model.diagnostics import names_with_hint
from hrp_model.late_dataclass import dataclass
from hrp_model.rigid import Array, frozen_array

# Bound on every number of drives and wrenches, in SI units; engines reject larger ones.
MAX_DRIVE_VALUE = 1e12
_V = TypeVar("_V")


class LinkPoses(NamedTuple):
    """Poses of all links of one body: p_WL of shape (links, 3), R_WL of shape (links, 3, 3)."""

    p: Array
    R: Array

    def relative_to(self, X_WC: Pose) -> Array:
        """Return the rows of [R_CL | p_CL] for a camera frame C, shape (links, 3, 4).

        In double precision, so that scenes far from the origin are not distorted.
        """
        p_CL = (self.p - X_WC.p) @ X_WC.R
        return np.concatenate([X_WC.R.T @ self.R, p_CL[:, :, np.newaxis]], axis=2)


# By the name of the body.
BodyPoses = Mapping[str, LinkPoses]


@dataclass(slots=True)
class BodyMotion:
    """Motion of one body, which the engine writes at the end of every step.

    Attributes:
        p: Positions p_WL of the link origins, in [m], shape (links, 3).
        R: Rotations R_WL, shape (links, 3, 3).
        v: Velocities of the link origins, in [m/s], shape (links, 3).
        w: Angular velocities w_WL, in [rad/s], shape (links, 3).
        a: Accelerations of the link origins over the last step, in [m/s^2], shape (links, 3).
        alpha: Angular accelerations over the last step, in [rad/s^2], shape (links, 3).
        force: Mean force of the parent on the link through its joint over the last step,
            computed in the posture in its middle and rotated with the link, in [N], shape
            (links, 3); zero for links without a force sensor.
        torque: Mean torque likewise, about the link origin, in [N m], shape (links, 3).
        q: Joint positions, in [rad] or [m], shape (joints,).
        dq: Joint velocities, shape (joints,).
        effort: Joint torques or forces of the drives over the last step, in [N m] or [N],
            shape (joints,); without rotor inertia, friction and stops.
        track_position: Distance that the surface of each track has moved, in [m], shape
            (links,), zero for other links.
    """

    p: Array
    R: Array
    v: Array
    w: Array
    a: Array
    alpha: Array
    force: Array
    torque: Array
    q: Array
    dq: Array
    effort: Array
    track_position: Array

    @classmethod
    def zeros(cls, body: Body) -> BodyMotion:
        """Return arrays of zeros of the right shapes, with identity rotations."""
        m, n = len(body.links), len(body.moving_links)
        vectors = {name: np.zeros((m, 3)) for name in ("p", "v", "w", "a", "alpha")}
        wrench = {name: np.zeros((m, 3)) for name in ("force", "torque")}
        joints = {name: np.zeros(n) for name in ("q", "dq", "effort")}
        R, run = np.tile(np.eye(3), (m, 1, 1)), np.zeros(m)
        return cls(R=R, track_position=run, **vectors, **wrench, **joints)

    def copy(self) -> BodyMotion:
        """Return a snapshot that later steps do not change."""
        return BodyMotion(**{f.name: getattr(self, f.name).copy() for f in fields(self)})

    def poses(self) -> LinkPoses:
        """Return a copy of the poses of all links."""
        return LinkPoses(self.p.copy(), self.R.copy())


@dataclass(slots=True)
class JointDrive:
    """Commands to the joints of one body, which the engine reads at every step.

    The effort on joint i is, evaluated a whole step after the middle of the step (implicitly, so
    that it is stable for any gain) and clipped to the joint's effort range::

        effort + kp * (q - q_now) + kd * (dq - dq_now)

    All are of shape (joints,). A joint with zero gains and zero effort moves freely.

    Attributes:
        q: Target position, in [rad] or [m].
        dq: Target velocity, in [rad/s] or [m/s].
        kp: Stiffness, in [N m/rad] or [N/m].
        kd: Damping, in [N m s/rad] or [N s/m].
        effort: Feed-forward torque or force, in [N m] or [N].
        track_speed: Surface speed of links of type TRACK, in [m/s], shape (links,), zero for
            other links.
        surface_velocity: Velocity of the surface of each link relative to the link, as that of a
            conveyor: angular about its origin in [rad/s], then linear in [m/s], expressed in
            the link's frame, shape (links, 6). Tracks ignore it.
    """

    q: Array
    dq: Array
    kp: Array
    kd: Array
    effort: Array
    track_speed: Array
    surface_velocity: Array

    @classmethod
    def zeros(cls, body: Body) -> JointDrive:
        """Return a drive that leaves every joint free."""
        m, n = len(body.links), len(body.moving_links)
        names = ("q", "dq", "kp", "kd", "effort")
        return cls(
            **{name: np.zeros(n) for name in names},
            track_speed=np.zeros(m),
            surface_velocity=np.zeros((m, 6)),
        )


@dataclass(slots=True)
class ExternalWrench:
    """External forces and torques on the links of one body; the engine reads them at every step.

    They act until they are overwritten; a reset sets them to zero. Static links ignore them.
    Both are constant in W over a step, and of shape (links, 3).

    Attributes:
        force: On each link's origin, in W, in [N].
        torque: About each link's origin, in W, in [N m].
    """

    force: Array
    torque: Array

    @classmethod
    def zeros(cls, body: Body) -> ExternalWrench:
        """Return a zero wrench."""
        return cls(np.zeros((len(body.links), 3)), np.zeros((len(body.links), 3)))


@dataclass(frozen=True, slots=True)
class SimulatedBody:
    """A body in the world: its model, motion, drives and external wrenches.

    Attributes:
        name: Unique in the world.
        body: The model.
        motion: Live arrays of the engine, overwritten by the next step; see ``copy``.
        drive: Arrays that the engine reads; write into them, do not replace them.
        wrench: Likewise.
        is_geared: Whether the engine holds mimic joints by forces on both joints; else the follower
            needs a servo, and exerts nothing on its leader.
        remarks: Sentences about how the engine simulates it.
        overlapping: Pairs of its links, by index, that do not collide since they overlap or touch
            at the start.
    """

    name: str
    body: Body
    motion: BodyMotion
    drive: JointDrive
    wrench: ExternalWrench
    is_geared: bool = False
    remarks: tuple[str, ...] = ()
    overlapping: tuple[tuple[int, int], ...] = ()

    @classmethod
    def at_rest(cls, name: str, body: Body, *, is_geared: bool = False) -> SimulatedBody:
        """Return a body with new arrays: zero motion, free joints, zero wrench."""
        return cls(
            name,
            body,
            BodyMotion.zeros(body),
            JointDrive.zeros(body),
            ExternalWrench.zeros(body),
            is_geared,
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class BodyJoint:
    """A joint between links A and B of two bodies, of the types of a model's extra joints.

    The frame J has a fixed pose in both links; where these coincide the joint is closed. A gap is
    closed as fast as that of other joints. The links do not collide with each other.

    Attributes:
        name: Unique in the world.
        type: Kind of constraint.
        bodies: Names of the two bodies.
        links: Indices of the two links in their bodies.
        X_AJ: Pose of J in link A.
        X_BJ: Pose of J in link B.
        axis: Unit vector in J, shape (3,); not used by BALL and FIXED.
    """

    name: str
    type: ExtraJointType
    bodies: tuple[str, str]
    links: tuple[int, int]
    X_AJ: Pose = field(default_factory=Pose)
    X_BJ: Pose = field(default_factory=Pose)
    axis: Array = field(default_factory=lambda: np.array([1.0, 0.0, 0.0]))

    def __post_init__(self) -> None:
        object.__setattr__(self, "axis", frozen_array(self.axis, (3,), "axis"))

    def describe(self, bodies: Mapping[str, SimulatedBody]) -> str:
        """Return both links for messages, such as "'arm/HAND' and 'box/BASE'"."""
        a, b = (
            f"'{body}/{bodies[body].body.links[link].name}'"
            for body, link in zip(self.bodies, self.links, strict=True)
        )
        return f"{a} and {b}"


class WorldState(NamedTuple):
    """The world after a step. The arrays are the engine's own: valid until the next step.

    Attributes:
        time_ns: Simulation time, in [ns].
        bodies: By name; replaced, never modified, so that any thread may iterate over it.
    """

    time_ns: int
    bodies: Mapping[str, SimulatedBody]

    def poses(self) -> dict[str, LinkPoses]:
        """Return a copy of the poses of all links, by the name of the body."""
        return {name: simulated.motion.poses() for name, simulated in self.bodies.items()}

    def digest(self) -> str:
        """Return the SHA-256 of time and motion of all bodies, which is equal for equal runs."""
        sha = hashlib.sha256(str(self.time_ns).encode())
        for name, simulated in sorted(self.bodies.items()):
            sha.update(name.encode(errors="surrogatepass"))  # names may come from paths
            motion = simulated.motion
            for array in (motion.p, motion.R, motion.v, motion.w, motion.q, motion.dq):
                sha.update(np.ascontiguousarray(array).tobytes())
        return sha.hexdigest()


class ByName(dict[str, _V]):
    """Mapping of objects of one kind by name.

    Args:
        kind: Noun for the error message, such as "body".
        items: The objects.

    Raises:
        KeyError: On ``[name]`` with an unknown name; the message lists the known ones.
    """

    def __init__(self, kind: str, items: Mapping[str, _V]) -> None:
        super().__init__(items)
        self._kind = kind

    def __missing__(self, name: str) -> NoReturn:
        raise KeyError(f"no {self._kind} '{name}'; there is {names_with_hint(name, self)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ContactPoints:
    """The contacts of one step, each between two links a and b.

    Positions are those in the middle of the step, forces are means over the step. The force
    between two links is the sum over their contacts.

    Attributes:
        time_ns: Simulation time at the end of the step, in [ns].
        bodies: Names of both bodies of each contact.
        links: Indices of both links in the models of their bodies, shape (n, 2).
        position: In W, in [m], shape (n, 3).
        normal: From b into a, unit vectors in W, shape (n, 3).
        depth: Penetration depth along the normal, in [m], shape (n,).
        force: Of b on a, friction included, in W, in [N], shape (n, 3): a body a at rest on a
            floor b is pushed up. a exerts the opposite force on b.
    """

    time_ns: int
    bodies: tuple[tuple[str, str], ...]
    links: NDArray[np.int32]
    position: Array
    normal: Array
    depth: Array
    force: Array

    def __len__(self) -> int:
        """Return the number of contacts."""
        return len(self.bodies)

    @classmethod
    def empty(cls, time_ns: int) -> ContactPoints:
        """Return no contacts, of a step without any or without recording."""
        return cls.from_arrays(time_ns, (), np.zeros((0, 4), dtype=np.int32), np.zeros((0, 10)))

    @classmethod
    def from_arrays(
        cls,
        time_ns: int,
        bodies: tuple[tuple[str, str], ...],
        ids: NDArray[np.int32],
        values: Array,
    ) -> ContactPoints:
        """Return contacts from the arrays of the C engine.

        Args:
            time_ns: Simulation time at the end of the step, in [ns].
            bodies: Names of both bodies of each contact.
            ids: Body number and link index of a and of b, shape (n, 4).
            values: Position, normal, force and depth of each contact, shape (n, 10).
        """
        return cls(
            time_ns=time_ns,
            bodies=bodies,
            links=ids[:, 1::2],
            position=values[:, 0:3],
            normal=values[:, 3:6],
            force=values[:, 6:9],
            depth=values[:, 9],
        )

    def force_on(self, body: str, link: int | None = None) -> Array:
        """Return the sum of all forces on a body or one of its links, in W, in [N], shape (3,).

        Forces between links of the same body cancel in the sum of the body.
        """
        total = np.zeros(3)
        for side, sign in enumerate((1.0, -1.0)):
            at = [
                pair[side] == body and (link is None or index == link)
                for pair, index in zip(self.bodies, self.links[:, side], strict=True)
            ]
            total += sign * self.force[np.array(at, dtype=bool)].sum(axis=0)
        return total


class PairCost(NamedTuple):
    """Time that a step spent on finding the contacts of two links.

    Attributes:
        bodies: Names of both bodies.
        links: Indices of both links in the models of their bodies.
        seconds: In [s].
    """

    bodies: tuple[str, str]
    links: tuple[int, int]
    seconds: float
