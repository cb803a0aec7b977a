"""Drives of vehicles: the wheels or tracks that a body rolls on, found from its geometry."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf
from weakref import WeakKeyDictionary

import numpy as np

from ..body import Body, JointType, Link
from ..geometry import Shape, Sphere
from ..rigid import Array, Pose
from ..shapes.tessellate import shape_mesh
from .postures import initial_poses

# Largest deviation of a wheel from round, relative to its radius: a prism of 12 faces passes.
_ROUNDNESS = 0.04
# Largest differences of wheels in radius and position, relative to the radius.
_TOLERANCE = 0.02
# Largest sine of the angle between an axle and its expected direction.
_PARALLEL = 1e-6
_DIRECTIONS = 72  # in which the radius is measured


@dataclass(frozen=True, eq=False)
class DifferentialDrive:
    """Wheels on both sides of a vehicle that drives along the x axis of its root.

    Attributes:
        left, right: The links that are wheels, front to back.
        wheel_radius: In [m].
        wheel_separation: Distance between the wheels' centres along y, in [m].
    """

    left: tuple[Link, ...]
    right: tuple[Link, ...]
    wheel_radius: float
    wheel_separation: float


@dataclass(frozen=True, eq=False)
class TrackDrive:
    """Tracks on both sides of a vehicle that drives along the x axis of its root.

    Attributes:
        left, right: The links that are tracks, in the order of the body.
        track_separation: Distance between the centres of both sides along y, in [m].
    """

    left: tuple[Link, ...]
    right: tuple[Link, ...]
    track_separation: float


@dataclass(frozen=True, eq=False)
class _Wheel:
    """A round link that turns without limits about a level axle.

    Attributes:
        link: The link.
        center: Its centre in the root frame, in [m], shape (3,).
        radius: In [m].
        axle: Axis of rotation in the root frame, shape (3,).
    """

    link: Link
    center: Array
    radius: float
    axle: Array


_DRIVES: WeakKeyDictionary[Body, DifferentialDrive | None] = WeakKeyDictionary()
_TRACKS: WeakKeyDictionary[Body, TrackDrive | None] = WeakKeyDictionary()
_ROLLING: WeakKeyDictionary[Body, frozenset[str]] = WeakKeyDictionary()


def rolling_wheels(body: Body) -> frozenset[str]:
    """Return the names of the links that are wheels, steered or not.

    A wheel is a round leaf link on a continuous joint with a horizontal axle that reaches down
    to the lowest point of the body. Links with the same parent and a parallel axle count too,
    such as the raised wheels of a track. Everything is judged in the root's frame, in the
    model's initial posture. A body with a fixed root has no wheels.
    """
    if body not in _ROLLING:
        _ROLLING[body] = _rolling_wheels(body)
    return _ROLLING[body]


def differential_drive(body: Body) -> DifferentialDrive | None:
    """Return the differential drive of a body, or None if it certainly has none or is ambiguous.

    The root must be free, and the continuous joints about the root's +y axis, on the root or on
    links fixed to it, must carry the same number of equal round leaf links on either side, with
    nothing below them.

    The rule is strict so that legs, arms and casters are never taken for wheels; a vehicle
    with wheels that are not round, or with one that turns about -y, is not recognised either.
    """
    if body not in _DRIVES:
        _DRIVES[body] = _differential_drive(body)
    return _DRIVES[body]


def track_drive(body: Body) -> TrackDrive | None:
    """Return the track drive of a body, or None if it has none or is ambiguous.

    The root must be free, with tracks on both sides whose axes are the root's +y axis in the
    model's initial posture. Tracks of flippers count as well.
    """
    if body not in _TRACKS:
        _TRACKS[body] = _track_drive(body)
    return _TRACKS[body]


def _track_drive(body: Body) -> TrackDrive | None:
    tracks = [link for link in body.links if link.joint.type is JointType.TRACK]
    if not tracks or body.is_root_fixed:
        return None
    poses = _root_poses(body)
    if any((poses[x.name].R @ x.joint.axis)[1] < 1.0 - _PARALLEL for x in tracks):
        return None
    y = {link.name: _lateral_center(link, poses[link.name]) for link in tracks}
    left = tuple(link for link in tracks if y[link.name] > 0.0)
    right = tuple(link for link in tracks if y[link.name] < 0.0)
    if not left or not right or len(left) + len(right) < len(tracks):
        return None
    sides = [float(np.mean([y[link.name] for link in links])) for links in (left, right)]
    return TrackDrive(left, right, sides[0] - sides[1])


def _lateral_center(link: Link, pose: Pose) -> float:
    """Return the centre of the collision shapes along the root's y axis, in [m]."""
    vertices = _vertices(link)
    if vertices is None:
        return float(pose.p[1])
    y = vertices @ pose.R[1] + pose.p[1]
    return 0.5 * float(y.min() + y.max())


def _rolling_wheels(body: Body) -> frozenset[str]:
    drive = differential_drive(body)
    names = {link.name for link in (*drive.left, *drive.right)} if drive is not None else set()
    poses = _root_poses(body)
    wheels = _wheels(body, poses)
    if wheels:
        floor = _lowest(body, poses)
        on_floor = [w for w in wheels if w.center[2] - w.radius <= floor + _TOLERANCE * w.radius]
        names |= {w.link.name for w in wheels if any(_is_beside(w, other) for other in on_floor)}
    return frozenset(names)


def _is_beside(a: _Wheel, b: _Wheel) -> bool:
    """Return whether two wheels have the same parent and parallel axles."""
    sine = a.axle[0] * b.axle[1] - a.axle[1] * b.axle[0]
    return a.link.parent == b.link.parent and abs(sine) <= _PARALLEL


def _differential_drive(body: Body) -> DifferentialDrive | None:
    poses = _root_poses(body)
    wheels = [
        wheel
        for wheel in _wheels(body, poses)
        if abs(wheel.axle[0]) <= _PARALLEL and _is_fixed_to_root(body, wheel.link)
    ]
    left = _front_to_back(wheel for wheel in wheels if wheel.center[1] > 0.0)
    right = _front_to_back(wheel for wheel in wheels if wheel.center[1] < 0.0)
    if not all(wheel.axle[1] > 0.0 for wheel in wheels):
        return None
    if not left or len(left) != len(right) or len(left) + len(right) != len(wheels):
        return None
    radius = float(np.mean([wheel.radius for wheel in wheels]))
    if not _are_symmetric(left, right, radius) or not _are_lowest(body, wheels, poses, radius):
        return None
    half = float(np.mean([abs(wheel.center[1]) for wheel in wheels]))
    return DifferentialDrive(
        tuple(wheel.link for wheel in left),
        tuple(wheel.link for wheel in right),
        radius,
        2.0 * half,
    )


def _root_poses(body: Body) -> dict[str, Pose]:
    """Return X_RL of each link in the model's initial posture, by name."""
    X_RW = body.root.X_PL.inverse()
    return {name: X_RW @ X_WL for name, X_WL in initial_poses(body).items()}


def _wheels(body: Body, poses: dict[str, Pose]) -> list[_Wheel]:
    if body.is_root_fixed:
        return []
    leaves = {link.name for link in body.links} - {link.parent for link in body.links}
    wheels = (_wheel(link, poses[link.name]) for link in body.links if link.name in leaves)
    return [wheel for wheel in wheels if wheel is not None]


def _wheel(link: Link, pose: Pose) -> _Wheel | None:
    joint = link.joint
    if not joint.is_continuous:
        return None
    axle = pose.R @ joint.axis
    if link.parent is None or abs(axle[2]) > _PARALLEL:
        return None
    vertices = _vertices(link)
    if vertices is None:
        return None
    along = vertices @ joint.axis
    u, v = np.linalg.svd(joint.axis[np.newaxis])[2][1:]
    angles = 2.0 * np.pi / _DIRECTIONS * np.arange(_DIRECTIONS)
    directions = np.outer(np.cos(angles), u) + np.outer(np.sin(angles), v)
    reach = (vertices @ directions.T).max(axis=0)
    radius = _radius(link, vertices, along)
    if radius <= 0.0 or reach.min() < (1.0 - _ROUNDNESS) * radius:
        return None
    center = 0.5 * float(along.min() + along.max()) * joint.axis
    return _Wheel(link, pose.p + pose.R @ center, radius, axle)


def _radius(link: Link, vertices: Array, along: Array) -> float:
    """Return the extent of a link from its axis, in [m]; spheres have their exact radius."""
    radial = vertices - np.outer(along, link.joint.axis)
    radius = float(np.linalg.norm(radial, axis=1).max())
    radii = (_sphere_radius(shape) for shape in link.collision)
    return max([radius, *(r for r in radii if r is not None)])


def _sphere_radius(shape: Shape) -> float | None:
    """Return the radius of a sphere at the origin of its link, in [m]; None for other shapes."""
    parts = shape.rigid_parts()
    if not isinstance(shape.geometry, Sphere) or parts is None or np.any(parts[0].p):
        return None
    return float(shape.geometry.radius * parts[1].max())


def _vertices(link: Link) -> Array | None:
    """Return the vertices of all collision shapes, in L, shape (v, 3); None without any."""
    meshes = [shape_mesh(shape, solid=True) for shape in link.collision]
    used = [m.vertices[np.unique(m.triangles)] for m in meshes if len(m.triangles)]
    return np.concatenate(used) if used else None


def _is_fixed_to_root(body: Body, link: Link) -> bool:
    above = link.parent
    while above is not None and above != body.root.name:
        if body.link(above).joint.type is not JointType.FIXED:
            return False
        above = body.link(above).parent
    return above is not None


def _front_to_back(wheels: Iterator[_Wheel]) -> list[_Wheel]:
    return sorted(wheels, key=lambda wheel: -wheel.center[0])


def _are_symmetric(left: list[_Wheel], right: list[_Wheel], radius: float) -> bool:
    """Return whether wheels have one size and height and form pairs opposite each other."""
    wheels = left + right
    tolerance = _TOLERANCE * radius
    heights = [wheel.center[2] for wheel in wheels]
    halves = [abs(wheel.center[1]) for wheel in wheels]
    return (
        all(abs(wheel.radius - radius) <= tolerance for wheel in wheels)
        and max(heights) - min(heights) <= tolerance
        and max(halves) - min(halves) <= tolerance
        and all(
            abs(a.center[0] - b.center[0]) <= tolerance for a, b in zip(left, right, strict=True)
        )
    )


def _are_lowest(body: Body, wheels: list[_Wheel], poses: dict[str, Pose], radius: float) -> bool:
    """Return whether no part of the body is below its wheels, along the root's z axis."""
    floor = min(wheel.center[2] for wheel in wheels) - (1.0 + _TOLERANCE) * radius
    return bool(_lowest(body, poses) >= floor)


def _lowest(body: Body, poses: dict[str, Pose]) -> float:
    """Return the lowest coordinate of a body along the root's z axis, in [m]."""
    lowest = inf
    for link in body.links:
        vertices = _vertices(link)
        if vertices is not None:
            pose = poses[link.name]
            lowest = min(lowest, float((vertices @ pose.R[2] + pose.p[2]).min()))
    return lowest
