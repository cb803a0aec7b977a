"""What the drive of a vehicle can do: where it turns, how tightly, how fast, how quickly."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from math import inf

from ..body import Body, Link
from ..inertia import MassProperties, merge
from .vehicle import DifferentialDrive, vehicle_drive
from .wheels import SteeredDrive, root_poses


class DriveKind(Enum):
    """How a vehicle turns: about the axle of two wheels, by slipping, or by steering."""

    DIFFERENTIAL = "differential"
    SKID_STEER = "skid-steer"
    TRACKS = "tracks"
    ACKERMANN = "ackermann"

    @property
    def turns_on_the_spot(self) -> bool:
        """Whether it can turn without driving ahead."""
        return self is not DriveKind.ACKERMANN


@dataclass(frozen=True)
class DriveLimits:
    """Limits of the plane motion of a vehicle, from its wheels or tracks and their motors.

    Friction with the ground is not included; ``inf`` means that no motor states a limit.

    Attributes:
        kind: How it turns.
        turn_center: Coordinate of the centre of a turn along the root's x axis, in [m]: that of
            the axle, but of what slips the centre of mass, between the first and the last wheel.
        track: Distance between left and right wheels or tracks, in [m].
        min_radius: Of the tightest turn, in [m]; 0 if it turns on the spot.
        speed: Largest speed straight ahead, in [m/s].
        yaw_rate: Largest one on the spot, or at full speed in the tightest turn, in [rad/s].
        acceleration: Largest one straight ahead, in [m/s^2].
        yaw_acceleration: Likewise of a turn, in [rad/s^2].
    """

    kind: DriveKind
    turn_center: float
    track: float
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
    drive = vehicle_drive(body)
    if isinstance(drive, str):
        raise ValueError(f"'{body.name}' has no wheels or tracks to drive with: {drive}")
    poses = root_poses(body)
    whole = merge(
        MassProperties(link.mass, link.center_of_mass, link.inertia).expressed_in(poses[link.name])
        for link in body.links
    )
    if isinstance(drive, SteeredDrive):
        return _steered_limits(drive, whole)
    links = (*drive.left, *drive.right)
    center = float(whole.center_of_mass[0])
    if isinstance(drive, DifferentialDrive):
        kind = DriveKind.DIFFERENTIAL if len(drive.left) == 1 else DriveKind.SKID_STEER
        radius, track = drive.wheel_radius, drive.wheel_separation
        x = [float(poses[link.name].p[0]) for link in links]
        center = min(max(center, min(x)), max(x))
        rolling = sum(_rolling_inertia(link) for link in links) / radius**2
    else:
        kind, radius, track, rolling = DriveKind.TRACKS, 1.0, drive.track_separation, 0.0
    half = 0.5 * track
    speed = radius * min(link.joint.max_velocity for link in links)
    force = sum(link.joint.max_effort for link in links) / radius
    return DriveLimits(
        kind,
        center,
        track,
        0.0,
        speed,
        speed / half,
        _ratio(force, whole.mass + rolling),
        _ratio(force * half, float(whole.inertia[2, 2]) + rolling * half**2),
    )


def _steered_limits(drive: SteeredDrive, whole: MassProperties) -> DriveLimits:
    driven = [wheel for wheel in drive.wheels if wheel.link.name in drive.driven]
    speed = min(wheel.radius * wheel.link.joint.max_velocity for wheel in driven)
    force = sum(wheel.link.joint.max_effort / wheel.radius for wheel in driven)
    rolling = sum(_rolling_inertia(wheel.link) / wheel.radius**2 for wheel in drive.wheels)
    acceleration = _ratio(force, whole.mass + rolling)
    curvature = min(map(abs, drive.curvatures))
    y = [wheel.y for wheel in drive.wheels]
    return DriveLimits(
        DriveKind.ACKERMANN,
        drive.axle_x,
        max(y) - min(y),
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
