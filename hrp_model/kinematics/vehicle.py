"""Vehicles: the wheels that they roll on, and how they drive."""

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

# How far a wheel may be from round, as a share of its radius: a prism of 12 faces is.
_ROUNDNESS = 0.04
# How far wheels may differ in radius and place, as a share of the radius.
_LIKENESS = 0.02
# The largest sine of the angle between an axle and the direction that it should have.
_PARALLEL = 1e-6
_DIRECTIONS = 72


@dataclass(frozen=True, eq=False)
class DifferentialDrive:
    """Wheels on both sides of a vehicle that drives along the x axis of its root.

    Attributes:
        left, right: The links that are wheels, front to back.
        wheel_radius: In [m].
        wheel_separation: Distance between the wheels' middles along y, in [m].
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
        track_separation: Distance between the middles of both sides along y, in [m].
    """

    left: tuple[Link, ...]
    right: tuple[Link, ...]
    track_separation: float


@dataclass(frozen=True, eq=False)
class _Wheel:
    """A round link that turns without limits about a level axle.

    Attributes:
        link: The link.
        middle: Its middle in the root frame, in [m], shape (3,).
        radius: In [m].
        axle: Direction that it turns about, in the root frame, shape (3,).
    """

    link: Link
    middle: Array
    radius: float
    axle: Array


_DRIVES: WeakKeyDictionary[Body, DifferentialDrive | None] = WeakKeyDictionary()
_TRACKS: WeakKeyDictionary[Body, TrackDrive | None] = WeakKeyDictionary()
_ROLLING: WeakKeyDictionary[Body, frozenset[str]] = WeakKeyDictionary()


def rolling_wheels(body: Body) -> frozenset[str]:
    """Return the names of the links that a body rolls on, steered or not.

    Those are round links at the end of their branch, which turn without limits about an axle
    that is level, and reach as far down as anything; and those that hang on the same link as
    such a one and turn about a parallel axle, as the raised wheels of a track do. All that is
    seen in the root's frame, in the model's initial posture. A body whose root is fixed does
    not roll.
    """
    if body not in _ROLLING:
        _ROLLING[body] = _find_rolling(body)
    return _ROLLING[body]


def differential_drive(body: Body) -> DifferentialDrive | None:
    """Return how a body drives, if there is no doubt about it.

    It does where the root is free and all that turns without limits about the root's +y
    axis, on the root itself or on what is fixed to it, are equally many equal round links on
    either side, with nothing below them and nothing that they carry.

    Without a doubt means that legs, arms and casters are never taken for wheels; a vehicle
    with wheels that are not round, or of which one turns about -y, is not recognised either.
    """
    if body not in _DRIVES:
        _DRIVES[body] = _find_drive(body)
    return _DRIVES[body]


def track_drive(body: Body) -> TrackDrive | None:
    """Return how a body drives on its tracks, if there is no doubt about it.

    It does where the root is free, and there are tracks on both sides that run forward about
    the root's +y axis, in the model's initial posture; those of flippers count as well.
    """
    if body not in _TRACKS:
        _TRACKS[body] = _find_tracks(body)
    return _TRACKS[body]


def _find_tracks(body: Body) -> TrackDrive | None:
    tracks = [link for link in body.links if link.joint.type is JointType.TRACK]
    if not tracks or body.is_root_fixed:
        return None
    poses = _root_poses(body)
    if any((poses[x.name].R @ x.joint.axis)[1] < 1.0 - _PARALLEL for x in tracks):
        return None
    across = {link.name: _across(link, poses[link.name]) for link in tracks}
    left = tuple(link for link in tracks if across[link.name] > 0.0)
    right = tuple(link for link in tracks if across[link.name] < 0.0)
    if not left or not right or len(left) + len(right) < len(tracks):
        return None
    sides = [float(np.mean([across[link.name] for link in links])) for links in (left, right)]
    return TrackDrive(left, right, sides[0] - sides[1])


def _across(link: Link, pose: Pose) -> float:
    """Return where the middle of what touches is along the root's y axis, in [m]."""
    vertices = _vertices(link)
    if vertices is None:
        return float(pose.p[1])
    y = vertices @ pose.R[1] + pose.p[1]
    return 0.5 * float(y.min() + y.max())


def _find_rolling(body: Body) -> frozenset[str]:
    drive = differential_drive(body)
    found = {link.name for link in (*drive.left, *drive.right)} if drive is not None else set()
    poses = _root_poses(body)
    wheels = _wheels(body, poses)
    if wheels:
        floor = _lowest(body, poses)
        on_floor = [w for w in wheels if w.middle[2] - w.radius <= floor + _LIKENESS * w.radius]
        found |= {w.link.name for w in wheels if any(_is_beside(w, other) for other in on_floor)}
    return frozenset(found)


def _is_beside(a: _Wheel, b: _Wheel) -> bool:
    """Tell whether two wheels hang on one link and turn about parallel axles."""
    across = a.axle[0] * b.axle[1] - a.axle[1] * b.axle[0]
    return a.link.parent == b.link.parent and abs(across) <= _PARALLEL


def _find_drive(body: Body) -> DifferentialDrive | None:
    poses = _root_poses(body)
    wheels = [
        wheel
        for wheel in _wheels(body, poses)
        if abs(wheel.axle[0]) <= _PARALLEL and _is_fixed_to_root(body, wheel.link)
    ]
    left = _front_to_back(wheel for wheel in wheels if wheel.middle[1] > 0.0)
    right = _front_to_back(wheel for wheel in wheels if wheel.middle[1] < 0.0)
    if not all(wheel.axle[1] > 0.0 for wheel in wheels):
        return None
    if not left or len(left) != len(right) or len(left) + len(right) != len(wheels):
        return None
    radius = float(np.mean([wheel.radius for wheel in wheels]))
    if not _are_alike(left, right, radius) or not _carry(body, wheels, poses, radius):
        return None
    half = float(np.mean([abs(wheel.middle[1]) for wheel in wheels]))
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
    ends = {link.name for link in body.links} - {link.parent for link in body.links}
    found = (_wheel(link, poses[link.name]) for link in body.links if link.name in ends)
    return [wheel for wheel in found if wheel is not None]


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
    middle = 0.5 * float(along.min() + along.max()) * joint.axis
    return _Wheel(link, pose.p + pose.R @ middle, radius, axle)


def _radius(link: Link, vertices: Array, along: Array) -> float:
    """Return how far a link reaches from its axis, in [m]; spheres as round as they are."""
    away = vertices - np.outer(along, link.joint.axis)
    radius = float(np.linalg.norm(away, axis=1).max())
    return max([radius, *(r for shape in link.collision if (r := _sphere(shape)) is not None)])


def _sphere(shape: Shape) -> float | None:
    """Return the radius of a sphere in the middle of its link, in [m]."""
    parts = shape.rigid_parts()
    if not isinstance(shape.geometry, Sphere) or parts is None or np.any(parts[0].p):
        return None
    return float(shape.geometry.radius * parts[1].max())


def _vertices(link: Link) -> Array | None:
    """Return the corners of all that touches, in L; shape (v, 3)."""
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
    return sorted(wheels, key=lambda wheel: -wheel.middle[0])


def _are_alike(left: list[_Wheel], right: list[_Wheel], radius: float) -> bool:
    """Tell whether wheels are of one size, at one height, and in pairs opposite each other."""
    wheels = left + right
    tolerance = _LIKENESS * radius
    heights = [wheel.middle[2] for wheel in wheels]
    halves = [abs(wheel.middle[1]) for wheel in wheels]
    return (
        all(abs(wheel.radius - radius) <= tolerance for wheel in wheels)
        and max(heights) - min(heights) <= tolerance
        and max(halves) - min(halves) <= tolerance
        and all(
            abs(a.middle[0] - b.middle[0]) <= tolerance for a, b in zip(left, right, strict=True)
        )
    )


def _carry(body: Body, wheels: list[_Wheel], poses: dict[str, Pose], radius: float) -> bool:
    """Tell whether nothing of the body reaches below its wheels, seen along the root's z axis."""
    floor = min(wheel.middle[2] for wheel in wheels) - (1.0 + _LIKENESS) * radius
    return bool(_lowest(body, poses) >= floor)


def _lowest(body: Body, poses: dict[str, Pose]) -> float:
    """Return how far down a body reaches, along the root's z axis from its origin, in [m]."""
    lowest = inf
    for link in body.links:
        vertices = _vertices(link)
        if vertices is not None:
            pose = poses[link.name]
            lowest = min(lowest, float((vertices @ pose.R[2] + pose.p[2]).min()))
    return lowest
