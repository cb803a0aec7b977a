"""Kinematics of drives: how a vehicle moves when its wheels and tracks roll, and its limits.

The motion is planar, in the frame of the root link: x forward, y and yaw to the left. It is linear
in the changes dq of the joints that roll, ``(dx, dy, dyaw) = J dq``. J follows from two constraints
of each wheel, to roll ahead and not to slide aside (Siegwart, Nourbakhsh and Scaramuzza,
Introduction to Autonomous Mobile Robots, 2nd ed., 3.2).

Vehicles with several axles that are not steered, or with tracks, must slip in a turn. Then friction
is in balance, so that its power is the smallest. The point that moves straight ahead stays where it
is, and both sides seem to be further apart, by an effective track (Mandow et al., Experimental
kinematics for wheeled skid-steer mobile robots, IROS 2007). With equal loads at x = +-a and
y = +-b, all four wheels slip equally fast, and half the effective track is ``b + a^2 / b``. Wheels
that slip touch the ground across their whole width.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from enum import Enum
from math import cos, inf, sin
from weakref import WeakKeyDictionary

import numpy as np

from ..body import Body, Link
from ..inertia import MassProperties, merge
from ..late_dataclass import dataclass
from ..rigid import Array, Pose
from .vehicle import DifferentialDrive, Drive, vehicle_drive
from .wheels import (
    SteeredDrive,
    SteeredDriveWheel,
    Steering,
    find_wheels,
    link_vertices,
    lowest,
    root_poses,
)

_LEVEL = 1e-3  # largest height of the flat bottom of a track, in [m]
_LOWEST = 1e-6  # likewise of the edge of a wheel
_ACROSS = 50  # points of contact across a wheel
_GRID = 21, 5  # points of contact along and across a track
# Friction of a track across over that ahead: that of Choreonoid, and of this simulation.
_GRIP_ACROSS = 0.5
_ITERATIONS = 200
_SLOWEST = 1e-6  # slip that is taken for none, relative to the speed of a rim
_KINEMATICS: WeakKeyDictionary[Body, DriveKinematics] = WeakKeyDictionary()


class DriveKind(Enum):
    """How a vehicle turns: about the axle of two wheels, by slipping, or by steering."""

    DIFFERENTIAL = "differential"
    SKID_STEER = "skid steer"
    TRACKS = "tracks"
    ACKERMANN = "ackermann"

    @property
    def turns_on_the_spot(self) -> bool:
        """Whether it can turn without driving ahead."""
        return self is not DriveKind.ACKERMANN


@dataclass(frozen=True, slots=True)
class GroundContact:
    """Where a wheel touches the ground, or one end of the flat part of a track.

    Attributes:
        joint: The joint that turns the wheel or track.
        x, y: Position in the root frame, in [m]; of a steered wheel when it is straight.
        travel: Distance ahead per joint position, in [m/rad], or [m/m] for a track; negative if the
            joint turns backward to drive ahead.
        steering: The joint that steers the wheel; None if it stays parallel.
    """

    joint: str
    x: float
    y: float
    travel: float
    steering: Steering | None = None


@dataclass(frozen=True, eq=False)
class DriveKinematics:
    """How a vehicle moves on a plane when its wheels or tracks roll.

    Attributes:
        kind: How it turns.
        contacts: With the ground; casters are left out.
        track: Distance between left and right wheels or tracks, in [m].
        effective_track: Distance at which wheels that do not slip would turn it as fast, in [m].
        turn_center: Coordinate of the point that moves straight ahead also in turns, along the
            root's x axis, in [m].
        sliding: Mean distance that the contacts slide per angle of a turn, in [m/rad].
        root_height: Height of the root's origin above the ground, in [m].
        joints: Names of the joints that roll.
        steering: Names of the joints that steer.
    """

    kind: DriveKind
    contacts: tuple[GroundContact, ...]
    track: float
    effective_track: float
    turn_center: float
    sliding: float
    root_height: float
    joints: tuple[str, ...] = field(init=False)
    steering: tuple[str, ...] = field(init=False)
    _parallel: Array | None = field(init=False, repr=False)  # J without steered wheels

    def __post_init__(self) -> None:
        steered = (x.steering.link.joint.name for x in self.contacts if x.steering is not None)
        object.__setattr__(self, "joints", tuple(dict.fromkeys(x.joint for x in self.contacts)))
        object.__setattr__(self, "steering", tuple(dict.fromkeys(steered)))
        object.__setattr__(self, "_parallel", None if self.steering else self._parallel_jacobian())

    def with_effective_track(self, ratio: float) -> DriveKinematics:
        """Return the same drive with a measured effective track, as a multiple of the track."""
        return replace(self, effective_track=ratio * self.track)

    def moved(
        self,
        change: Array,
        before: Sequence[float] | Array = (),
        after: Sequence[float] | Array = (),
    ) -> tuple[Array, Array]:
        """Return the motion while wheels roll: exact for one with a constant velocity.

        Args:
            change: Of the positions of ``joints``, in [rad], or [m] for tracks, shape (joints,).
            before: Positions of the joints that steer at first, in [rad], as ``steering``.
            after: Likewise at the end.

        Returns:
            (dx, dy, dyaw) in the root frame, of a motion with constant velocity, in [m] and [rad],
            shape (3,); J, shape (3, joints).
        """
        if self._parallel is not None:
            return self._parallel @ change, self._parallel
        start, end = np.asarray(before, dtype=float), np.asarray(after, dtype=float)
        jacobian, turned = self._solved(0.5 * (start + end))
        return jacobian @ change + turned @ (end - start), jacobian

    def _parallel_jacobian(self) -> Array:
        """Return J of wheels and tracks that are not steered, shape (3, joints)."""
        columns = {joint: np.zeros(3) for joint in self.joints}
        for is_left in (True, False):
            side = [contact for contact in self.contacts if (contact.y > 0.0) is is_left]
            yaw = (-1.0 if is_left else 1.0) / self.effective_track
            for contact in side:
                motion = np.array([0.5, -self.turn_center * yaw, yaw])
                columns[contact.joint] += contact.travel / len(side) * motion
        return np.stack(list(columns.values()), axis=1)

    def _solved(self, steering: Sequence[float] | Array) -> tuple[Array, Array]:
        """Return the motion per roll and per steering of a vehicle that is steered.

        Least squares of two equations for each wheel, along and across its heading e::

            e . (v + w x c) = travel dq + offset dsteer,   n . (v + w x c) = -trail dsteer

        as steering moves the centre c of a wheel that is not on its axis.
        """
        angles = dict(zip(self.steering, steering, strict=True))
        rows = np.empty((2 * len(self.contacts), 3))
        rolls = np.zeros((2 * len(self.contacts), len(self.joints)))
        turns = np.zeros((2 * len(self.contacts), len(self.steering)))
        for i, contact in enumerate(self.contacts):
            x, y, angle = contact.x, contact.y, 0.0
            along, across = 2 * i, 2 * i + 1
            rolls[along, self.joints.index(contact.joint)] = contact.travel
            if (s := contact.steering) is not None:
                name = s.link.joint.name
                angle = s.sign * (angles[name] - s.straight)
                x = s.x + cos(angle) * s.trail - sin(angle) * s.offset
                y = s.y + sin(angle) * s.trail + cos(angle) * s.offset
                turns[along, self.steering.index(name)] = s.sign * s.offset
                turns[across, self.steering.index(name)] = -s.sign * s.trail
            c, s_ = cos(angle), sin(angle)
            rows[along] = c, s_, s_ * x - c * y
            rows[across] = -s_, c, c * x + s_ * y
        inverse = np.linalg.pinv(rows)
        return inverse @ rolls, inverse @ turns


def drive_kinematics(body: Body) -> DriveKinematics:
    """Return how a vehicle moves when its wheels or tracks roll.

    Everything is measured in the model's initial posture; see ``vehicle_drive``.

    Raises:
        ValueError: It is no vehicle; the message states why.
    """
    if body not in _KINEMATICS:
        _KINEMATICS[body] = _drive_kinematics(body)
    return _KINEMATICS[body]


def _drive_kinematics(body: Body) -> DriveKinematics:
    drive, poses = _drive(body), root_poses(body)
    height = -lowest(body.links, poses)
    if isinstance(drive, SteeredDrive):
        contacts = tuple(_of_steered(wheel) for wheel in drive.wheels)
        y = [wheel.y for wheel in drive.wheels]
        track = max(y) - min(y)
        turning = track, drive.axle_x, 0.0
        return DriveKinematics(DriveKind.ACKERMANN, contacts, track, *turning, height)
    center = float(_whole(body, poses).center_of_mass[0])
    if isinstance(drive, DifferentialDrive):
        contacts, track = _of_wheels(drive, body, poses), drive.wheel_separation
        if len(drive.left) == 1:
            kind, turning = DriveKind.DIFFERENTIAL, (track, contacts[0].x, 0.0)
        else:
            rims = [_rim(link, poses[link.name]) for link in (*drive.left, *drive.right)]
            kind, turning = DriveKind.SKID_STEER, _slipping(np.concatenate(rims), center, 1.0)
    else:
        tracks = _on_ground([(x, poses[x.name]) for x in (*drive.left, *drive.right)])
        flats = [_flat_bottom(link, pose) for link, pose in tracks]
        kind, track = DriveKind.TRACKS, drive.track_separation
        contacts = tuple(
            GroundContact(link.joint.name, float(flat[:, 0].mean()), float(flat[:, 1].mean()), 1.0)
            for (link, _), flat in zip(tracks, flats, strict=True)
        )
        turning = _slipping(np.concatenate(flats), center, _GRIP_ACROSS)
    return DriveKinematics(kind, contacts, track, *turning, height)


def _drive(body: Body) -> Drive:
    drive = vehicle_drive(body)
    if isinstance(drive, str):
        raise ValueError(f"'{body.name}' has no wheels or tracks to drive with: {drive}")
    return drive


def _slipping(points: Array, center: float, across: float) -> tuple[float, float, float]:
    """Return effective track, turn centre and sliding of a vehicle that slips, in [m].

    They minimize the power of Coulomb friction at rims of a constant speed, by least squares with
    weights that approach load over slip.

    Args:
        points: Coordinates x and y of contact with the ground, in [m], shape (n, 2), with mirror
            images left and right.
        center: Coordinate x of the centre of mass, in [m]. The load varies linearly with x.
        across: Friction across over that ahead.
    """
    x, y = points.T
    y = np.abs(y)
    middle = float(x.mean())
    spread = float(np.mean((x - middle) ** 2))
    load = 1.0 + (center - middle) * (x - middle) / spread if spread > 0.0 else np.ones(len(x))
    load = np.maximum(load, 0.0)
    half, turn = float(y.mean()), float(load @ x / load.sum())
    for _ in range(_ITERATIONS):
        slip = np.hypot(y - half, across * (x - turn))
        weight = load / np.maximum(slip, _SLOWEST * half)
        turn = float(weight @ x / weight.sum())
        half = float(weight @ (y**2 + across**2 * (x - turn) ** 2) / (weight @ y))
    return 2.0 * half, turn, float(load @ np.hypot(y - half, x - turn) / load.sum())


def _whole(body: Body, poses: Mapping[str, Pose]) -> MassProperties:
    """Return the mass of a vehicle, in the root's frame."""
    return merge(
        MassProperties(link.mass, link.center_of_mass, link.inertia).expressed_in(poses[link.name])
        for link in body.links
    )


def _of_steered(wheel: SteeredDriveWheel) -> GroundContact:
    travel = wheel.direction * wheel.radius
    return GroundContact(wheel.link.joint.name, wheel.x, wheel.y, travel, wheel.steering)


def _of_wheels(
    drive: DifferentialDrive, body: Body, poses: Mapping[str, Pose]
) -> tuple[GroundContact, ...]:
    found = {wheel.link.name: wheel for wheel in find_wheels(body, poses)}
    wheels = [found[link.name] for link in (*drive.left, *drive.right)]
    return tuple(
        GroundContact(
            w.link.joint.name, float(w.center[0]), float(w.center[1]), w.direction * w.radius
        )
        for w in wheels
    )


def _on_ground(tracks: Sequence[tuple[Link, Pose]]) -> list[tuple[Link, Pose]]:
    """Return the tracks that reach as deep as the lowest one; flippers may be raised."""
    bottoms = [lowest([link], {link.name: pose}) for link, pose in tracks]
    floor = min(bottoms) + _LEVEL
    return [track for track, z in zip(tracks, bottoms, strict=True) if z <= floor]


def _rim(wheel: Link, pose: Pose) -> Array:
    """Return points, x and y, across the rim of a wheel where it touches the ground, in [m]."""
    vertices = link_vertices(wheel)
    assert vertices is not None  # else it were no wheel
    y, z = vertices @ pose.R[1], vertices @ pose.R[2]
    bottom = y[z <= z.min() + _LOWEST]
    across = np.linspace(bottom.min(), bottom.max(), _ACROSS)
    return np.column_stack([np.full(len(across), pose.p[0]), pose.p[1] + across])


def _flat_bottom(track: Link, pose: Pose) -> Array:
    """Return a grid of points, x and y, on the flat bottom of a track, in [m], shape (n, 2)."""
    vertices = link_vertices(track)
    points = pose.p[np.newaxis] if vertices is None else vertices @ pose.R.T + pose.p
    flat = points[points[:, 2] <= points[:, 2].min() + _LEVEL]
    sides = zip(flat.min(axis=0)[:2], flat.max(axis=0)[:2], _GRID, strict=True)
    x, y = np.meshgrid(*(np.linspace(*side) for side in sides))
    return np.column_stack([x.ravel(), y.ravel()])


@dataclass(frozen=True)
class DriveLimits:
    """Limits of the plane motion of a vehicle, from its wheels or tracks and their motors.

    Friction with the ground is not included; ``inf`` means that no motor states a limit.

    Attributes:
        kind: How it turns.
        turn_center: Coordinate of the centre of a turn along the root's x axis, in [m].
        track: Distance between left and right wheels or tracks, in [m].
        effective_track: Distance at which wheels that do not slip would turn it as fast, in [m].
        min_radius: Of the tightest turn, in [m]; 0 if it turns on the spot.
        speed: Largest speed straight ahead, in [m/s].
        yaw_rate: Largest one on the spot, or at full speed in the tightest turn, in [rad/s].
        acceleration: Largest one straight ahead, in [m/s^2].
        yaw_acceleration: Likewise of a turn, in [rad/s^2].
    """

    kind: DriveKind
    turn_center: float
    track: float
    effective_track: float
    min_radius: float
    speed: float
    yaw_rate: float
    acceleration: float
    yaw_acceleration: float


def drive_limits(body: Body) -> DriveLimits:
    """Return the limits of a vehicle's motion, in the model's initial posture.

    Raises:
        ValueError: It is no vehicle; the message states why.
    """
    drive, kinematics = _drive(body), drive_kinematics(body)
    whole = _whole(body, root_poses(body))
    if isinstance(drive, SteeredDrive):
        return _steered_limits(drive, kinematics, whole)
    links = (*drive.left, *drive.right)
    radius, rolling = 1.0, 0.0
    if isinstance(drive, DifferentialDrive):
        radius = drive.wheel_radius
        rolling = sum(_rolling_inertia(link) for link in links) / radius**2
    half = 0.5 * kinematics.track
    speed = radius * min(link.joint.max_velocity for link in links)
    force = sum(link.joint.max_effort for link in links) / radius
    return DriveLimits(
        kinematics.kind,
        kinematics.turn_center,
        kinematics.track,
        kinematics.effective_track,
        0.0,
        speed,
        speed / (0.5 * kinematics.effective_track),
        _ratio(force, whole.mass + rolling),
        _ratio(force * half, float(whole.inertia[2, 2]) + rolling * half**2),
    )


def _steered_limits(
    drive: SteeredDrive, kinematics: DriveKinematics, whole: MassProperties
) -> DriveLimits:
    driven = [wheel for wheel in drive.wheels if wheel.link.name in drive.driven]
    speed = min(wheel.radius * wheel.link.joint.max_velocity for wheel in driven)
    force = sum(wheel.link.joint.max_effort / wheel.radius for wheel in driven)
    rolling = sum(_rolling_inertia(wheel.link) / wheel.radius**2 for wheel in drive.wheels)
    acceleration = _ratio(force, whole.mass + rolling)
    curvature = min(map(abs, drive.curvatures))
    return DriveLimits(
        kinematics.kind,
        kinematics.turn_center,
        kinematics.track,
        kinematics.effective_track,
        _ratio(1.0, curvature),
        speed,
        speed * curvature if curvature else 0.0,
        acceleration,
        acceleration * curvature if curvature else 0.0,
    )


def _rolling_inertia(link: Link) -> float:
    """Return the inertia of a wheel and its motor about its joint, in [kg m^2]."""
    axis = link.joint.axis
    return float(axis @ link.inertia @ axis) + link.joint.equivalent_rotor_inertia


def _ratio(numerator: float, denominator: float) -> float:
    return numerator / denominator if denominator else inf
