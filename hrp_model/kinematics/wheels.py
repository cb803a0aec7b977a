"""Wheels of a body, found from its geometry, and drives of cars with them.

Wheels are round links that turn without limits. Of a car some are steered, and others stay parallel
(Ackermann steering).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from math import acos, asin, atan2, copysign, cos, fsum, hypot, inf, pi, sin

import numpy as np

from ..body import Body, JointType, Link
from ..frames import initial_poses
from ..geometry import Cylinder, Shape, Sphere
from ..late_dataclass import dataclass
from ..rigid import Array, Pose
from ..shapes.tessellate import shape_mesh

# Largest deviation of a wheel from round, relative to its radius: a prism of 12 faces passes.
_ROUNDNESS = 0.04
# Largest differences of wheels in radius and position, relative to their size.
TOLERANCE = 0.02
# Largest sine of the angle between an axis and its expected direction: 1.57 stands for pi/2.
PARALLEL = 1e-2
_DIRECTIONS = 72  # in which the radius is measured
# Largest trail of a steered wheel, relative to its radius, if its joint has limits, and if not;
# casters have more.
_MAX_TRAIL, _MAX_TRAIL_WITHOUT_LIMITS = 0.5, 0.25
# Largest distance of a wheel from the mirror image of its counterpart, relative to its radius.
_MAX_ASYMMETRY = 0.25
# Largest height of a wheel above the lowest point of a body, relative to its radius.
_CLEARANCE = 0.1
_TINY = 1e-9  # of angles, in [rad]


@dataclass(frozen=True, eq=False)
class Wheel:
    """A round link that turns without limits about a level axle.

    Attributes:
        link: The link.
        center: Its centre in the root frame, in [m], shape (3,).
        radius: In [m].
        axle: Axis of rotation in the root frame, to the left, shape (3,).
        direction: 1 if the joint turns about the axle, -1 if it turns the other way.
    """

    link: Link
    center: Array
    radius: float
    axle: Array
    direction: float

    @property
    def bottom(self) -> float:
        """Its lowest coordinate along the root's z axis, in [m]."""
        return float(self.center[2]) - self.radius


def root_poses(body: Body) -> dict[str, Pose]:
    """Return X_RL of each link in the model's initial posture, by name."""
    X_RW = body.root.X_PL.inverse()
    return {name: X_RW @ X_WL for name, X_WL in initial_poses(body).items()}


def find_wheels(body: Body, poses: Mapping[str, Pose]) -> list[Wheel]:
    """Return the wheels of a body whose root is free.

    Args:
        body: The body.
        poses: From ``root_poses``.
    """
    if body.is_root_fixed:
        return []
    carrying: set[str | None] = set()  # what moves relative to them
    for link in reversed(body.links):
        if not link.joint.is_fixed or link.name in carrying:
            carrying.add(link.parent)
    wheels = (_wheel(x, poses[x.name]) for x in body.links if x.name not in carrying)
    return [wheel for wheel in wheels if wheel is not None]


def swivels(wheel: Link, body: Body, poses: Mapping[str, Pose]) -> list[Link] | None:
    """Return the links between a wheel and the root that turn about a vertical axis.

    None if the wheel can move relative to the root in another way. Suspensions, which slide
    vertically, do not count.
    """
    found = []
    link = wheel
    while link.parent is not None and link.parent != body.root.name:
        link = body.link(link.parent)
        if link.joint.is_fixed:
            continue
        axis = poses[link.name].R @ link.joint.axis
        if not link.joint.moves or np.hypot(axis[0], axis[1]) > PARALLEL:
            return None
        if link.joint.type is JointType.REVOLUTE:
            found.append(link)
    return found


def lowest(links: Iterable[Link], poses: Mapping[str, Pose]) -> float:
    """Return the lowest coordinate of links along the root's z axis, in [m]."""
    floor = inf
    for link in links:
        vertices = link_vertices(link)
        if vertices is not None:
            pose = poses[link.name]
            floor = min(floor, float((vertices @ pose.R[2] + pose.p[2]).min()))
    return floor


def link_vertices(link: Link) -> Array | None:
    """Return the vertices of all collision shapes, in L, shape (v, 3); None without any."""
    used = [vertices for shape in link.collision if len(vertices := _vertices(shape))]
    return np.concatenate(used) if used else None


def _wheel(link: Link, pose: Pose) -> Wheel | None:
    joint = link.joint
    if not joint.is_continuous:
        return None
    axle = pose.R @ joint.axis
    if link.parent is None or abs(axle[2]) > PARALLEL:
        return None
    vertices = link_vertices(link)
    if vertices is None:
        return None
    along = vertices @ joint.axis
    u, v = np.linalg.svd(joint.axis[np.newaxis])[2][1:]
    angles = 2.0 * np.pi / _DIRECTIONS * np.arange(_DIRECTIONS)
    directions = np.outer(np.cos(angles), u) + np.outer(np.sin(angles), v)
    reach = (vertices @ directions.T).max(axis=0)
    radius = max(_radius(shape, joint.axis) for shape in link.collision)
    if radius <= 0.0 or reach.min() < (1.0 - _ROUNDNESS) * radius:
        return None
    center = 0.5 * float(along.min() + along.max()) * joint.axis
    direction = -1.0 if axle[1] < 0.0 else 1.0
    return Wheel(link, pose.p + pose.R @ center, radius, direction * axle, direction)


def _vertices(shape: Shape) -> Array:
    """Return the vertices of a shape that its faces use, in L, shape (v, 3)."""
    mesh = shape_mesh(shape, solid=True)
    used = np.unique(mesh.triangles)
    # A mesh with other triangles is refused when it is simulated, with its place.
    return mesh.vertices[used[(used >= 0) & (used < len(mesh.vertices))]]


def _radius(shape: Shape, axis: Array) -> float:
    """Return the extent of a shape from the axis, in [m]; exact for cylinders and spheres."""
    geometry, parts = shape.geometry, shape.rigid_parts()
    if isinstance(geometry, Cylinder | Sphere) and parts is not None:
        pose, scale = parts
        offset = float(np.linalg.norm(np.cross(pose.p, axis)))
        if isinstance(geometry, Sphere) and offset == 0.0:
            return float(geometry.radius * scale.max())
        tilt = float(np.linalg.norm(np.cross(pose.R[:, 1], axis)))
        size = float(geometry.radius * max(scale[0], scale[2]))
        if isinstance(geometry, Cylinder) and tilt <= PARALLEL and offset <= PARALLEL * size:
            return size
    vertices = _vertices(shape)
    radial = vertices - np.outer(vertices @ axis, axis)
    return float(np.linalg.norm(radial, axis=1).max(initial=0.0))


@dataclass(frozen=True, slots=True)
class Steering:
    """The joint that steers a wheel.

    Attributes:
        link: The link that it moves.
        x, y: Position of its axis in the root frame, in [m].
        sign: 1 if its axis points up, -1 if it points down.
        straight: Its position with the wheel straight ahead, in [rad].
        trail: How far the axle is ahead of the axis, in [m]; 0 for most wheels.
        offset: How far the wheel is to the left of the axis, along the axle, in [m].
    """

    link: Link
    x: float
    y: float
    sign: float
    straight: float
    trail: float
    offset: float

    def position(self, angle: float) -> float:
        """Return the joint position for an angle of the wheel to the left, both in [rad]."""
        return self.straight + self.sign * angle

    @property
    def angles(self) -> tuple[float, float]:
        """Smallest and largest angle of the wheel to the left, in [rad]."""
        ends = [self.sign * (q - self.straight) for q in self.link.joint.position_limits]
        return min(ends), max(ends)


@dataclass(frozen=True, slots=True)
class SteeredDriveWheel:
    """A wheel of a car.

    Attributes:
        link: The link that is the wheel.
        x, y: Its centre in the root frame, in [m]; of a steered wheel when it is straight.
        radius: In [m].
        direction: 1 if its axis points to the left, -1 if it points to the right.
        heading: Where it rolls, to the left of the root's x axis, in [rad]; 0 if it is steered.
        steering: The joint that steers it; None for a wheel that stays parallel.
    """

    link: Link
    x: float
    y: float
    radius: float
    direction: float
    heading: float
    steering: Steering | None

    @property
    def pivot(self) -> tuple[float, float]:
        """Position of its steering axis, or of its centre, in the root frame, in [m]."""
        return (self.x, self.y) if self.steering is None else (self.steering.x, self.steering.y)

    def is_opposite(self, other: SteeredDriveWheel) -> bool:
        """Return whether another wheel is its mirror image; in the middle it is its own one."""
        (x, y), (other_x, other_y) = self.pivot, other.pivot
        return hypot(x - other_x, y + other_y) <= _MAX_ASYMMETRY * self.radius

    def turned(self, curvature: float, axle_x: float) -> tuple[float, float]:
        """Return the angle of the wheel and its speed in a turn without slip.

        Args:
            curvature: Of the path, to the left, in [1/m].
            axle_x: Coordinate of the centre of the turn along the root's x axis, in [m].

        Returns:
            The angle to the left in [rad]; the speed of its centre over that of the vehicle.
        """
        if self.steering is None:
            return 0.0, 1.0 - curvature * self.y
        s = self.steering
        # From the steering axis to the centre of the turn, times the curvature.
        ahead, aside = curvature * (axle_x - s.x), 1.0 - curvature * s.y
        distance, trail = hypot(ahead, aside), curvature * s.trail
        sine = max(-1.0, min(1.0, trail / distance)) if distance > 0.0 else 0.0
        angle = atan2(aside, ahead) - acos(sine)
        return angle, distance * cos(asin(sine)) - curvature * s.offset


@dataclass(frozen=True, eq=False)
class SteeredDrive:
    """Wheels of a vehicle that is steered, and drives along the x axis of its root.

    In a turn the axles of all wheels point at its centre, which lies beside ``axle_x``.

    Attributes:
        wheels: The wheels, in the order of the body.
        driven: Names of the links of the wheels with motors.
        axle_x: Coordinate of the axle that is not steered along the root's x axis, in [m]; the mean
            of several; the middle of the vehicle if all wheels are steered.
        curvatures: Smallest and largest curvature of a path, in [1/m], from the limits of the
            steering joints; the centre of a turn is never between the wheels, nor nearer than the
            radius of a wheel.
    """

    wheels: tuple[SteeredDriveWheel, ...]
    driven: frozenset[str]
    axle_x: float
    curvatures: tuple[float, float] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "curvatures", self._curvatures())

    def motion(
        self, linear_x: float, angular_z: float
    ) -> tuple[dict[str, float], dict[str, float]]:
        """Return how to move.

        A turn that is too tight becomes the tightest one, at the same forward velocity; so does one
        on the spot, at rest.

        Args:
            linear_x: Forward velocity, in [m/s].
            angular_z: Yaw rate, to the left, in [rad/s].

        Returns:
            By the names of the links: positions of the steering joints, in [rad]; speeds of the
            driven wheels, in [rad/s]. Joints that mimic others are left out.
        """
        lower, upper = self.curvatures
        curvature = angular_z / linear_x if linear_x else copysign(inf, angular_z)
        curvature = max(lower, min(upper, curvature)) if angular_z else 0.0
        positions: dict[Link, float] = {}
        speeds: dict[Link, float] = {}
        for wheel in self.wheels:
            angle, speed = wheel.turned(curvature, self.axle_x)
            if wheel.steering is not None:
                positions[wheel.steering.link] = wheel.steering.position(angle)
            if wheel.link.name in self.driven:
                speeds[wheel.link] = wheel.direction * linear_x * speed / wheel.radius
        return _of_leaders(positions, offset=True), _of_leaders(speeds, offset=False)

    def _curvatures(self) -> tuple[float, float]:
        tightest = 1.0 / max(max(abs(wheel.pivot[1]), wheel.radius) for wheel in self.wheels)
        lower, upper = -tightest, tightest
        for wheel in self.wheels:
            if (s := wheel.steering) is not None:
                ends = [_curvature(s, angle, self.axle_x) for angle in s.angles]
                lower = max([lower, *(k for k in ends if k <= 0.0)])
                upper = min([upper, *(k for k in ends if k >= 0.0)])
        return lower, upper


def _curvature(s: Steering, angle: float, axle_x: float) -> float:
    """Return the curvature of the path at an angle of a wheel, in [1/m]."""
    if abs(angle) < _TINY:
        return 0.0
    if abs(angle) >= pi / 2.0:
        return copysign(inf, angle * (s.x - axle_x))
    # Along the axle, from the foot of the steering axis to the centre of the turn.
    along = (s.x - axle_x + s.trail * cos(angle)) / sin(angle)
    radius = s.y + s.trail * sin(angle) + along * cos(angle)
    return 1.0 / radius if radius else inf


def _of_leaders(values: Mapping[Link, float], *, offset: bool) -> dict[str, float]:
    """Return values of the joints that mimic no other: the mean of those that follow fit."""
    found: dict[str, list[float]] = {}
    for link, value in values.items():
        mimic = link.joint.mimic
        if mimic is None:
            found.setdefault(link.name, []).append(value)
        elif mimic.multiplier:
            start = mimic.offset if offset else 0.0
            found.setdefault(mimic.link, []).append((value - start) / mimic.multiplier)
    return {name: fsum(parts) / len(parts) for name, parts in found.items()}


def find_steered_drive(body: Body) -> SteeredDrive | str | None:
    """Return the steered drive of a body, why it has none, or None if no wheel is steered."""
    poses = root_poses(body)
    chains = [(wheel, swivels(wheel.link, body, poses)) for wheel in find_wheels(body, poses)]
    if not any(chain for _, chain in chains):
        return None
    floor = lowest(body.links, poses)
    wheels = [
        _drive_wheel(wheel, chain[0] if chain else None, poses)
        for wheel, chain in chains
        if chain is not None
        and len(chain) <= 1
        and wheel.bottom <= floor + _CLEARANCE * wheel.radius
    ]
    wheels = [wheel for wheel in wheels if not _is_caster(wheel, wheels)]
    steered = [wheel.steering.x for wheel in wheels if wheel.steering is not None]
    if not steered:
        return None
    for wheel in wheels:
        if abs(wheel.heading) > PARALLEL:
            return f"the axis of wheel '{wheel.link.name}' is not the root's y axis"
        if not any(wheel.is_opposite(other) for other in wheels):
            return f"wheel '{wheel.link.name}' has no counterpart on the other side"
    straight = [wheel.x for wheel in wheels if wheel.steering is None]
    axle_x = fsum(straight) / len(straight) if straight else 0.5 * (min(steered) + max(steered))
    if max(abs(x - axle_x) for x in steered) <= TOLERANCE * max(w.radius for w in wheels):
        return "it has no axle ahead of its steered wheels or behind them"
    numbered = frozenset(w.link.name for w in wheels if w.link.joint.id is not None)
    return SteeredDrive(tuple(wheels), numbered or frozenset(w.link.name for w in wheels), axle_x)


def _drive_wheel(wheel: Wheel, swivel: Link | None, poses: Mapping[str, Pose]) -> SteeredDriveWheel:
    """Return a wheel of a body, as it is straight ahead if a swivel can turn it so."""
    axle, center = wheel.axle.tolist(), wheel.center.tolist()
    heading, (x, y, _) = atan2(-axle[0], axle[1]), center
    if swivel is None:
        return SteeredDriveWheel(wheel.link, x, y, wheel.radius, wheel.direction, heading, None)
    pose = poses[swivel.name]
    sign = copysign(1.0, float(pose.R[2] @ swivel.joint.axis))
    c, s = cos(heading), sin(heading)
    dx, dy = x - float(pose.p[0]), y - float(pose.p[1])
    trail, offset = c * dx + s * dy, c * dy - s * dx
    x, y = x - dx, y - dy
    straight = swivel.joint.initial - sign * heading
    steering = Steering(swivel, x, y, sign, straight, trail, offset)
    return SteeredDriveWheel(
        wheel.link, x + trail, y + offset, wheel.radius, wheel.direction, 0.0, steering
    )


def _is_caster(wheel: SteeredDriveWheel, wheels: Iterable[SteeredDriveWheel]) -> bool:
    """Return whether a wheel follows the motion: it has a trail, or neither limits nor a twin."""
    if (s := wheel.steering) is None:
        return False
    if not s.link.joint.is_continuous:
        return abs(s.trail) > _MAX_TRAIL * wheel.radius
    twins = [
        other
        for other in wheels
        if other.steering is not None
        and other.steering.link is not s.link
        and wheel.is_opposite(other)
    ]
    return abs(s.trail) > _MAX_TRAIL_WITHOUT_LIMITS * wheel.radius or not twins
