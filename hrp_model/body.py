"""The unified robot model. SI units and radians; no file format here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from enum import Enum
from functools import cached_property
from math import copysign, inf, isinf, pi
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .devices import Device
from .diagnostics import Span, names_with_hint
from .geometry import Shape
from .late_dataclass import dataclass
from .rigid import Array, Pose, frozen_array


class JointUnits(NamedTuple):
    """Units of a joint's position, velocity and effort."""

    position: str
    velocity: str
    effort: str


_ANGULAR, _LINEAR = JointUnits("rad", "rad/s", "N m"), JointUnits("m", "m/s", "N")


class JointType(Enum):
    """Kind of motion between a link and its parent.

    TRACK is a continuous track: it does not move the link, but its surface runs
    at the joint's velocity where it touches the ground.
    """

    FIXED = "fixed"
    REVOLUTE = "revolute"
    PRISMATIC = "prismatic"
    FREE = "free"
    TRACK = "track"

    @property
    def units(self) -> JointUnits:
        """Angular units; linear ones for a prismatic joint, and for the surface of a track."""
        return _LINEAR if self in (JointType.PRISMATIC, JointType.TRACK) else _ANGULAR


class Range(NamedTuple):
    """A closed interval. An infinite end means no limit."""

    lower: float = -inf
    upper: float = inf


UNLIMITED = Range()
# A limit of a joint from here on means none, in [rad], [m], [N] and so on: formats that require a
# number use one that is far beyond any joint.
MAX_LIMIT = 1e6
_AXIS_Z = np.array([0.0, 0.0, 1.0])
_ZERO = np.zeros(3)
_ZERO_MATRIX = np.zeros((3, 3))
# Accepted encoder resolutions, in [rad] or [m]: from what a float resolves to a whole turn.
_MIN_RESOLUTION, _MAX_RESOLUTION = 1e-12, 2.0 * pi
for _array in (_AXIS_Z, _ZERO, _ZERO_MATRIX):
    _array.setflags(write=False)


@dataclass(frozen=True)
class Mimic:
    """A joint's position as a linear function of another joint's.

    Attributes:
        link: Name of the link whose joint is mimicked, the leader.
        multiplier: In [rad] or [m] of the follower per [rad] or [m] of the leader.
        offset: Position of the follower when the leader is at zero, in [rad] or [m].
    """

    link: str
    multiplier: float
    offset: float = 0.0

    def position(self, leader: float) -> float:
        """Return the follower's position for a position of the leader."""
        return self.multiplier * leader + self.offset


@dataclass(frozen=True, eq=False, kw_only=True)
class Joint:
    """The joint that moves a link L relative to its parent P.

    ``position``, ``velocity`` and ``effort`` are the ranges as the model states them, with
    infinity for numbers from ``MAX_LIMIT`` on, as for ``max_acceleration`` and so on. The limits in
    force are ``position_limits``, ``velocity_limits`` and ``effort_limits``: an inverted
    range, or one that no joint can satisfy, means no limit.

    Attributes:
        type: Kind of motion.
        name: Name of the joint; in most formats that of its link by default.
        id: Index in the model's joint vector, or None.
        axis: Unit vector of the motion, expressed in L, shape (3,).
        initial: Value of q in the model's initial posture, in [rad] or [m].
        position: Range of q as stated, in [rad] or [m].
        velocity: Range of dq as stated, in [rad/s] or [m/s].
        effort: Range of the joint torque or force as stated, in [N m] or [N].
        equivalent_rotor_inertia: Gear ratio squared times rotor inertia, in [kg m^2] or [kg].
        gear_ratio: Rotation of the motor in [rad] per [rad] or [m] of the joint.
        rotor_inertia: Of the motor, in [kg m^2].
        torque_const: Torque constant of the motor, in [N m/A].
        encoder_pulse: Pulses of the encoder per turn of the motor; None if not specified.
        damping: Viscous friction at the joint, in [N m s/rad] or [N s/m].
        friction: Coulomb friction at the joint, in [N m] or [N].
        stiffness: Of a spring in the joint, in [N m/rad] or [N/m].
        rest_position: Value of q at which this spring exerts nothing, in [rad] or [m].
        max_acceleration: In [rad/s^2] or [m/s^2], for planners; inf if unlimited.
        max_deceleration: Likewise, of braking.
        max_jerk: In [rad/s^3] or [m/s^3], for planners; inf if unlimited.
        mimic: The joint that the model makes it follow (never a follower itself), or None.
            Joints that follow because of closed loops are found by ``kinematics.loops``.
        is_passive: Whether no motor drives it, even if no joint of the model has an id.
    """

    type: JointType
    name: str
    id: int | None = None
    axis: Array = field(default_factory=lambda: _AXIS_Z)
    initial: float = 0.0
    position: Range = UNLIMITED
    velocity: Range = UNLIMITED
    effort: Range = UNLIMITED
    equivalent_rotor_inertia: float = 0.0
    gear_ratio: float = 1.0
    rotor_inertia: float = 0.0
    torque_const: float = 1.0
    encoder_pulse: float | None = None
    damping: float = 0.0
    friction: float = 0.0
    stiffness: float = 0.0
    rest_position: float = 0.0
    max_acceleration: float = inf
    max_deceleration: float = inf
    max_jerk: float = inf
    mimic: Mimic | None = None
    is_passive: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "axis", frozen_array(self.axis, (3,), "axis"))
        for name in ("position", "velocity", "effort"):
            stated = getattr(self, name)
            object.__setattr__(self, name, Range(*map(_limit, stated)))
        for name in ("max_acceleration", "max_deceleration", "max_jerk"):
            object.__setattr__(self, name, _limit(getattr(self, name)))

    @property
    def moves(self) -> bool:
        """Whether the joint has one coordinate q that moves its link."""
        return self.type in (JointType.REVOLUTE, JointType.PRISMATIC)

    @property
    def position_limits(self) -> Range:
        """Limits of q, in [rad] or [m]; equal ones lock the joint, inverted ones mean no limit."""
        lower, upper = self.position
        return self.position if lower <= upper and lower < inf and upper > -inf else UNLIMITED

    @property
    def velocity_limits(self) -> Range:
        """Limits of dq, in [rad/s] or [m/s]; no limit unless they allow both directions."""
        return self.velocity if self.velocity.lower < 0.0 < self.velocity.upper else UNLIMITED

    @property
    def effort_limits(self) -> Range:
        """Limits of the joint torque or force, in [N m] or [N]; no limit if they exclude zero."""
        return self.effort if self.effort.lower <= 0.0 <= self.effort.upper else UNLIMITED

    @property
    def max_velocity(self) -> float:
        """Maximum speed allowed in both directions, in [rad/s] or [m/s]; inf if unlimited."""
        return min(map(abs, self.velocity_limits))

    @property
    def max_effort(self) -> float:
        """Maximum effort in either direction, in [N m] or [N]; inf if unlimited."""
        return max(map(abs, self.effort_limits))

    @property
    def is_continuous(self) -> bool:
        """Whether the joint is revolute without position limits."""
        return self.type is JointType.REVOLUTE and all(map(isinf, self.position_limits))

    @property
    def encoder_resolution(self) -> float | None:
        """Joint motion per encoder pulse, in [rad] or [m]; None if unspecified or implausible."""
        if self.encoder_pulse is None or not self.moves:
            return None
        pulses = self.encoder_pulse * abs(self.gear_ratio)
        resolution = 2.0 * pi / pulses if pulses > 0.0 else inf
        return resolution if _MIN_RESOLUTION <= resolution < _MAX_RESOLUTION else None

    @property
    def is_fixed(self) -> bool:
        """Whether the link never moves relative to its parent; a track moves only its surface."""
        return self.type in (JointType.FIXED, JointType.TRACK)


@dataclass(frozen=True, eq=False, kw_only=True)
class Link:
    """A rigid body and the joint above it. Its frame L is the joint frame.

    Attributes:
        name: Unique within the body.
        parent: Name of the parent link P; None for the root.
        joint: The joint that moves this link.
        X_PL: Pose of L in P when q = 0; for the root its default pose in the world.
        mass: In [kg].
        center_of_mass: p_LLcm, from L's origin, expressed in L, in [m], shape (3,).
        inertia: I_LLcm_L, about the center of mass, expressed in L,
            in [kg m^2], shape (3, 3), symmetric.
        visual: Visual shapes, placed in L.
        collision: Collision shapes, placed in L; the same tuple as ``visual`` when the
            model does not distinguish them.
        contact_material: Name of the surface material for contacts.
        weight_share: Share of its weight that acts; 0 for a link without gravity.
        info: All other entries of the link in the file.
        at: Where the model file defines it, for messages.
        lacks_shapes: Whether some of its shape files could not be read, so that ``visual`` and
            ``collision`` are incomplete.
        is_between_joints: Whether it only connects joints that the model states as one, such as
            the hinges of a ball joint. It needs no mass of its own.
    """

    name: str
    parent: str | None
    joint: Joint
    X_PL: Pose = field(default_factory=Pose)
    mass: float = 0.0
    center_of_mass: Array = field(default_factory=lambda: _ZERO)
    inertia: Array = field(default_factory=lambda: _ZERO_MATRIX)
    visual: tuple[Shape, ...] = ()
    collision: tuple[Shape, ...] = ()
    contact_material: str = ""
    weight_share: float = 1.0
    info: Mapping[str, Any] = field(default_factory=dict)
    at: Span | None = None
    lacks_shapes: bool = False
    is_between_joints: bool = False

    def __post_init__(self) -> None:
        com = frozen_array(self.center_of_mass, (3,), "center_of_mass")
        object.__setattr__(self, "center_of_mass", com)
        inertia = frozen_array(self.inertia, (3, 3), "inertia")
        object.__setattr__(self, "inertia", inertia)


class ExtraJointType(Enum):
    """Constraint between two links that are not parent and child.

    BALL makes the two points coincide; XY only in the directions orthogonal to the
    axis; Z only along the axis. PISTON allows sliding along and rotation about the
    axis, HINGE rotation about it, FIXED no relative motion.
    """

    BALL = "ball"
    XY = "xy"
    Z = "z"
    PISTON = "piston"
    HINGE = "hinge"
    FIXED = "fixed"


@dataclass(frozen=True, eq=False, kw_only=True)
class ExtraJoint:
    """A constraint that closes a loop.

    Attributes:
        type: Kind of constraint.
        links: Names of the two links A and B.
        X_AJ: Pose of the joint frame in link A.
        X_BJ: Pose of the joint frame in link B.
        axis: Unit vector, expressed in link A, shape (3,).
        name: Name in the model; may be empty.
    """

    type: ExtraJointType
    links: tuple[str, str]
    X_AJ: Pose = field(default_factory=Pose)
    X_BJ: Pose = field(default_factory=Pose)
    axis: Array = field(default_factory=lambda: np.array([1.0, 0.0, 0.0]))
    name: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "axis", frozen_array(self.axis, (3,), "axis"))


def _limit(stated: float) -> float:
    """Return a limit in force: infinite from ``MAX_LIMIT`` on."""
    return copysign(inf, stated) if abs(stated) >= MAX_LIMIT else stated


def link_pair(a: str, b: str) -> frozenset[str]:
    """Return the key of an unordered pair of link names."""
    return frozenset((a, b))


def adjacent_pairs(links: Iterable[Link]) -> frozenset[frozenset[str]]:
    """Return the pairs of links that a joint connects, at which they overlap.

    A free joint does not connect its links.
    """
    return frozenset(
        link_pair(link.name, link.parent)
        for link in links
        if link.parent is not None and link.joint.type is not JointType.FREE
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class Viewpoint:
    """A camera pose from which to look at a body.

    Attributes:
        name: Its description, or its name in the file; may be empty.
        X_MV: Pose in the frame M that the root's pose is given in, in the initial pose of the
            body. It looks along -Z, with +Y up.
        field_of_view: Angle across the shorter side of the image, in [rad].
    """

    name: str
    X_MV: Pose
    field_of_view: float


@dataclass(frozen=True, eq=False, kw_only=True)
class Body:
    """A robot or any other articulated body.

    Attributes:
        name: Name of the model.
        links: Root first, parents before their children.
        devices: Sensors, lights and other devices, in the order of the file.
        extra_joints: Constraints that close loops.
        self_collision_disabled: Pairs of links that never collide with each other.
        collision_disabled: Links that never collide with anything, other bodies included.
        viewpoints: Camera poses for people, the default first.
        info: All other entries of the file, keyed as in the file.
        path: File of the model, or None.
    """

    name: str
    links: tuple[Link, ...]
    devices: tuple[Device, ...] = ()
    extra_joints: tuple[ExtraJoint, ...] = ()
    self_collision_disabled: frozenset[frozenset[str]] = frozenset()
    collision_disabled: frozenset[str] = frozenset()
    viewpoints: tuple[Viewpoint, ...] = ()
    info: Mapping[str, Any] = field(default_factory=dict)
    path: Path | None = None

    def __post_init__(self) -> None:
        seen: set[str] = set()
        for link in self.links:
            if (link.parent is None) != (not seen):
                raise ValueError(f"link '{link.name}': exactly the first link has no parent")
            if link.parent is not None and link.parent not in seen:
                raise ValueError(f"link '{link.name}' comes before its parent '{link.parent}'")
            if link.name in seen:
                raise ValueError(f"two links are named '{link.name}'")
            seen.add(link.name)
        if not seen:
            raise ValueError("a body has at least one link")

    @cached_property
    def _index(self) -> dict[str, int]:
        return {link.name: i for i, link in enumerate(self.links)}

    @property
    def root(self) -> Link:
        """The link without a parent."""
        return self.links[0]

    def link(self, name: str) -> Link:
        """Return the link of this name.

        Raises:
            KeyError: No link has this name; the message lists those that exist.
        """
        return self.links[self.link_index(name)]

    def link_index(self, name: str) -> int:
        """Return the index in ``links`` of the link of this name; raises KeyError."""
        try:
            return self._index[name]
        except KeyError:
            names = names_with_hint(name, self._index)
            raise KeyError(f"no link '{name}' in body '{self.name}'; it has {names}") from None

    def place_of(self, device: Device) -> Span | None:
        """Return where the file defines a device, or else its link, or else the root."""
        links = (link.at for link in self.links if link.name == device.link)
        return device.at or next(links, self.root.at)

    @cached_property
    def parent_indices(self) -> tuple[int, ...]:
        """Index in ``links`` of each link's parent; -1 for the root."""
        return tuple(-1 if x.parent is None else self._index[x.parent] for x in self.links)

    @cached_property
    def rigid_tops(self) -> Mapping[str, str]:
        """By link name, the topmost of the links that a link is rigidly fixed to, or itself."""
        tops: dict[str, str] = {}
        for link in self.links:
            is_top = link.parent is None or not link.joint.is_fixed
            tops[link.name] = link.name if is_top else tops[str(link.parent)]
        return tops

    @cached_property
    def joints(self) -> tuple[Link | None, ...]:
        """Links by joint id; None where no link has that id. The first of equal ids wins."""
        by_id: dict[int, Link] = {}
        for link in self.links:
            if link.joint.id is not None:
                by_id.setdefault(link.joint.id, link)
        return tuple(by_id.get(i) for i in range(max(by_id, default=-1) + 1))

    @cached_property
    def moving_links(self) -> tuple[Link, ...]:
        """Links with a coordinate q (revolute or prismatic), in the order of every joint vector.

        Those with a joint id come first, by id, then the others in the order of ``links``.
        """
        return _by_joint_id(link for link in self.links if link.joint.moves)

    @cached_property
    def jointed_links(self) -> tuple[Link, ...]:
        """The moving links and the tracks, in the order of ``moving_links``."""
        return _by_joint_id(
            link for link in self.links if link.joint.moves or link.joint.type is JointType.TRACK
        )

    @property
    def total_mass(self) -> float:
        """Sum of the links' masses, in [kg]."""
        return sum(link.mass for link in self.links)

    @property
    def is_root_fixed(self) -> bool:
        """Whether the root is fixed to the world."""
        return self.root.joint.type is not JointType.FREE

    @property
    def is_static(self) -> bool:
        """Whether the root and every joint are fixed, so that nothing can move."""
        return all(link.joint.type is JointType.FIXED for link in self.links)

    def with_fixed_root(self) -> Body:
        """Return the body with its root fixed to the world."""
        root = replace(self.root, joint=replace(self.root.joint, type=JointType.FIXED))
        return replace(self, links=(root, *self.links[1:]))


def _by_joint_id(links: Iterable[Link]) -> tuple[Link, ...]:
    return tuple(sorted(links, key=lambda x: inf if x.joint.id is None else x.joint.id))
