"""Drives of vehicles: the wheels or tracks that a body rolls on, found from its geometry."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias
from weakref import WeakKeyDictionary

import numpy as np

from ..body import Body, JointType, Link
from ..diagnostics import listed
from ..geometry import Sphere
from ..late_dataclass import dataclass
from ..rigid import Array, Pose
from .wheels import (
    PARALLEL,
    TOLERANCE,
    SteeredDrive,
    Wheel,
    find_steered_drive,
    find_wheels,
    link_vertices,
    lowest,
    root_poses,
    swivels,
)

_MAX_LISTED = 8  # wheels in a message
_MIN_ROLLERS = 3  # that a wheel carries if it is an omni wheel
_ONE_WAY = 0.1  # at most, of the smaller coefficient of friction to the larger, of such a wheel
_NO_OMNI = "omnidirectional drives have no cmd_vel, so command its joints"


@dataclass(frozen=True, eq=False)
class DifferentialDrive:
    """Wheels on both sides of a vehicle that drives along the x axis of its root.

    Attributes:
        left, right: The links that are wheels, front to back.
        wheel_radius: In [m].
        wheel_separation: Distance between the wheels' centres along y, in [m].
        backward: Names of the wheels whose axes point to the right: they turn backward to drive
            ahead.
        casters: The links that are casters: swivels and their wheels, which must turn freely.
    """

    left: tuple[Link, ...]
    right: tuple[Link, ...]
    wheel_radius: float
    wheel_separation: float
    backward: frozenset[str]
    casters: tuple[Link, ...]


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


Drive: TypeAlias = DifferentialDrive | SteeredDrive | TrackDrive

_DRIVES: WeakKeyDictionary[Body, Drive | str] = WeakKeyDictionary()
_ROLLING: WeakKeyDictionary[Body, frozenset[str]] = WeakKeyDictionary()


def rolling_wheels(body: Body) -> frozenset[str]:
    """Return the names of the links that are wheels, steered or not.

    A wheel is a round link on a continuous joint with a horizontal axle that reaches down to the
    lowest point of the body, and carries nothing that moves. Links with the same parent and a
    parallel axle count too, such as the raised wheels of a track. Everything is judged in the
    root's frame, in the model's initial posture. A body with a fixed root has no wheels.
    """
    if body not in _ROLLING:
        _ROLLING[body] = _rolling_wheels(body)
    return _ROLLING[body]


def vehicle_drive(body: Body) -> Drive | str:
    """Return the drive of a vehicle, or the reason why a body has none.

    The root must be free, and everything below it in its frame, in the model's initial posture.

    * Tracks on both sides, whose axes are the root's +y axis. Tracks of flippers count as well.
    * Wheels of which some are steered: see ``SteeredDrive``.
    * The same number of equal wheels on either side, whose axles are the root's y axis, and which
      move relative to the root by suspensions only, with nothing below them. Omni and mecanum
      wheels are not for this drive.

    The rules are strict so that legs, arms and casters are never taken for wheels; a vehicle
    with wheels that are not round is not recognised either.
    """
    if body not in _DRIVES:
        _DRIVES[body] = _vehicle_drive(body)
    return _DRIVES[body]


def differential_drive(body: Body) -> DifferentialDrive | None:
    """Return the drive of a body if its wheels on both sides are those of a diff_drive_controller.

    That is, they stay parallel, and all turn about the root's +y axis.
    """
    drive = vehicle_drive(body)
    return drive if isinstance(drive, DifferentialDrive) and not drive.backward else None


def track_drive(body: Body) -> TrackDrive | None:
    """Return the drive of a body if it has tracks on both sides."""
    drive = vehicle_drive(body)
    return drive if isinstance(drive, TrackDrive) else None


def _vehicle_drive(body: Body) -> Drive | str:
    if body.is_root_fixed:
        return "its root is fixed to the world"
    on_tracks = _track_drive(body)
    if isinstance(on_tracks, TrackDrive):
        return on_tracks
    on_wheels = find_steered_drive(body) or _omnidirectional(body) or _differential_drive(body)
    return on_tracks or on_wheels if isinstance(on_wheels, str) else on_wheels


def _omnidirectional(body: Body) -> str:
    """Return why a body on wheels is an omnidirectional vehicle, or "" if it is none."""
    rollers = Counter(
        body.rigid_tops[link.parent]
        for link in body.links
        if link.parent is not None and link.joint.is_continuous
    )
    for name, count in rollers.items():
        if count >= _MIN_ROLLERS and body.link(name).joint.is_continuous:
            return f"its wheel '{name}' has {count} rollers: {_NO_OMNI}"
    poses = root_poses(body)
    wheels = find_wheels(body, poses)
    floor = lowest(body.links, poses) if wheels else 0.0
    wheels = [
        x
        for x in wheels
        if x.bottom <= floor + TOLERANCE * x.radius
        and swivels(x.link, body, poses) == []
        and not all(isinstance(shape.geometry, Sphere) for shape in x.link.collision)
    ]
    names = listed([f"'{wheel.link.name}'" for wheel in wheels], _MAX_LISTED)
    if any(abs(np.cross(x.axle, wheels[0].axle)[2]) > PARALLEL for x in wheels):
        return f"its wheels {names} roll in different directions: {_NO_OMNI}"
    if len(wheels) > 1 and all(map(_has_one_way_friction, wheels)):
        return f"its wheels {names} have friction in one direction, as omni wheels: {_NO_OMNI}"
    return ""


def _has_one_way_friction(wheel: Wheel) -> bool:
    """Return whether a wheel has friction along a direction only, which stands for rollers."""
    surfaces = (shape.surface for shape in wheel.link.collision if shape.surface is not None)
    for surface in surfaces:
        along, across = surface.friction, surface.friction_across
        if surface.direction is None or along is None or across is None:
            continue
        if min(along, across) < _ONE_WAY * max(along, across):
            return True
    return False


def _track_drive(body: Body) -> TrackDrive | str:
    """Return the tracks of a body, or why it has none to drive on; "" if it has none at all."""
    tracks = [link for link in body.links if link.joint.type is JointType.TRACK]
    if not tracks:
        return ""
    poses = root_poses(body)
    for track in tracks:
        if not _is_lateral(poses[track.name].R @ track.joint.axis):
            return f"the axis of track '{track.name}' is not the root's y axis, to the left"
    y = {link.name: _lateral_center(link, poses[link.name]) for link in tracks}
    left = tuple(link for link in tracks if y[link.name] > 0.0)
    right = tuple(link for link in tracks if y[link.name] < 0.0)
    if not left or not right or len(left) + len(right) < len(tracks):
        return "its tracks are not on both sides"
    sides = [float(np.mean([y[link.name] for link in links])) for links in (left, right)]
    return TrackDrive(left, right, sides[0] - sides[1])


def _is_lateral(axis: Array) -> bool:
    """Return whether an axis is the y axis, to the left."""
    return bool(axis[1] > 0.0 and np.hypot(axis[0], axis[2]) <= PARALLEL)


def _lateral_center(link: Link, pose: Pose) -> float:
    """Return the centre of the collision shapes along the root's y axis, in [m]."""
    vertices = link_vertices(link)
    if vertices is None:
        return float(pose.p[1])
    y = vertices @ pose.R[1] + pose.p[1]
    return 0.5 * float(y.min() + y.max())


def _rolling_wheels(body: Body) -> frozenset[str]:
    drive = vehicle_drive(body)
    names = set[str]()
    if isinstance(drive, DifferentialDrive):
        names = {link.name for link in (*drive.left, *drive.right)}
    poses = root_poses(body)
    wheels = find_wheels(body, poses)
    if wheels:
        floor = lowest(body.links, poses)
        on_floor = [w for w in wheels if w.bottom <= floor + TOLERANCE * w.radius]
        names |= {w.link.name for w in wheels if any(_is_beside(w, other) for other in on_floor)}
    return frozenset(names)


def _is_beside(a: Wheel, b: Wheel) -> bool:
    """Return whether two wheels have the same parent and parallel axles."""
    sine = a.axle[0] * b.axle[1] - a.axle[1] * b.axle[0]
    return a.link.parent == b.link.parent and abs(sine) <= PARALLEL


def _differential_drive(body: Body) -> DifferentialDrive | str:
    poses = root_poses(body)
    found = find_wheels(body, poses)
    wheels = [x for x in found if abs(x.axle[0]) <= PARALLEL and swivels(x.link, body, poses) == []]
    if not wheels:
        return "it has no round links that turn without limits about the root's y axis"
    left = _front_to_back(wheel for wheel in wheels if wheel.center[1] > 0.0)
    right = _front_to_back(wheel for wheel in wheels if wheel.center[1] < 0.0)
    names = listed([f"'{wheel.link.name}'" for wheel in wheels], _MAX_LISTED)
    if not left or len(left) != len(right) or len(left) + len(right) != len(wheels):
        return f"its wheels {names} are not as many on the left as on the right"
    radius = float(np.mean([wheel.radius for wheel in wheels]))
    if not _are_symmetric(left, right, radius):
        return f"its wheels {names} are not equal, or not opposite each other"
    if lowest(body.links, poses) < min(x.center[2] for x in wheels) - (1.0 + TOLERANCE) * radius:
        return f"its wheels {names} are not its lowest parts"
    half = float(np.mean([abs(wheel.center[1]) for wheel in wheels]))
    return DifferentialDrive(
        tuple(wheel.link for wheel in left),
        tuple(wheel.link for wheel in right),
        radius,
        2.0 * half,
        frozenset(wheel.link.name for wheel in wheels if wheel.direction < 0.0),
        tuple(_casters(found, body, poses)),
    )


def _casters(wheels: Iterable[Wheel], body: Body, poses: Mapping[str, Pose]) -> Iterator[Link]:
    """Yield the links of wheels below a swivel without limits, and the swivels."""
    for wheel in wheels:
        chain = swivels(wheel.link, body, poses)
        if chain and all(link.joint.is_continuous for link in chain):
            yield from (*chain, wheel.link)


def _front_to_back(wheels: Iterable[Wheel]) -> list[Wheel]:
    return sorted(wheels, key=lambda wheel: -wheel.center[0])


def _are_symmetric(left: list[Wheel], right: list[Wheel], radius: float) -> bool:
    """Return whether wheels have one size and height and form pairs opposite each other."""
    wheels = left + right
    heights = [wheel.center[2] for wheel in wheels]
    halves = [abs(wheel.center[1]) for wheel in wheels]
    tolerance = TOLERANCE * (radius + min(halves))
    return (
        all(abs(wheel.radius - radius) <= TOLERANCE * radius for wheel in wheels)
        and max(heights) - min(heights) <= tolerance
        and max(halves) - min(halves) <= tolerance
        and all(
            abs(a.center[0] - b.center[0]) <= tolerance for a, b in zip(left, right, strict=True)
        )
    )
