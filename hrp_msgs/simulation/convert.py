"""Conversions between numbers and messages of simulation_interfaces.

ROS distributions have different versions of the package: instead of ``entity_resource`` or
``world_resource`` some have the two fields of a Resource. Both are supported; they are the same on
the wire.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from geometry_msgs.msg import Point, Pose, Vector3

from ..convert.basic import set_header, set_quaternion, set_xyz
from ..readings import Array

if TYPE_CHECKING:  # the package may be missing
    from simulation_interfaces.msg import (
        Bounds,
        EntityCategory,
        EntityState,
        Result,
        Spawnable,
        SpawnEntity,
        WorldResource,
    )
    from simulation_interfaces.srv import LoadWorld, SetEntityState


class Motion(NamedTuple):
    """Pose, velocity and acceleration of a frame.

    Attributes:
        position: In [m].
        quaternion: (x, y, z, w).
        linear: Linear velocity, in [m/s].
        angular: Angular velocity, in [rad/s].
        linear_acceleration: In [m/s^2].
        angular_acceleration: In [rad/s^2].
    """

    position: Sequence[float] | Array
    quaternion: Sequence[float]
    linear: Sequence[float] | Array
    angular: Sequence[float] | Array
    linear_acceleration: Sequence[float] | Array
    angular_acceleration: Sequence[float] | Array


class Resource(NamedTuple):
    """The URI of a file, or its content."""

    uri: str
    text: str


def set_result(msg: Result, code: int, message: str = "") -> None:
    """Fill a Result."""
    msg.result = int(code)
    msg.error_message = message


def set_entity_state(msg: EntityState, time_ns: int, frame: str, motion: Motion) -> None:
    """Fill an EntityState at a simulation time in [ns], expressed in a frame."""
    set_header(msg.header, time_ns, frame)
    set_pose(msg.pose, motion.position, motion.quaternion)
    set_xyz(msg.twist.linear, motion.linear)
    set_xyz(msg.twist.angular, motion.angular)
    set_xyz(msg.acceleration.linear, motion.linear_acceleration)
    set_xyz(msg.acceleration.angular, motion.angular_acceleration)


def set_pose(msg: Pose, position: Sequence[float] | Array, quaternion: Sequence[float]) -> None:
    """Fill a Pose with a position in [m] and a quaternion (x, y, z, w)."""
    set_xyz(msg.position, position)
    set_quaternion(msg.orientation, quaternion)


def pose(msg: Pose) -> tuple[tuple[float, float, float], tuple[float, float, float, float]]:
    """Return position and quaternion (x, y, z, w) of a Pose."""
    q = msg.orientation
    return xyz(msg.position), (q.x, q.y, q.z, q.w)


def xyz(msg: Point | Vector3) -> tuple[float, float, float]:
    """Return the three numbers of a Point or Vector3."""
    return msg.x, msg.y, msg.z


def set_bounds(msg: Bounds, kind: int, points: Array) -> None:
    """Fill Bounds; the points are of shape (n, 3), in [m]."""
    msg.type = int(kind)
    msg.points = [Vector3(x=x, y=y, z=z) for x, y, z in points.tolist()]


def bounds_points(msg: Bounds) -> Array:
    """Return the points of Bounds, in [m], shape (n, 3)."""
    return np.array([xyz(point) for point in msg.points], dtype=np.float64).reshape(-1, 3)


def resource(msg: SpawnEntity | LoadWorld.Request, field: str) -> Resource:
    """Return the resource of a message, from a field of this name or from its two fields."""
    holder = getattr(msg, field, msg)
    return Resource(holder.uri, holder.resource_string)


def set_resource(msg: Spawnable | WorldResource, field: str, uri: str, text: str = "") -> None:
    """Fill the resource of a message, without the text if it has no field for it."""
    holder = getattr(msg, field, msg)
    holder.uri = uri
    if hasattr(holder, "resource_string"):
        holder.resource_string = text


def requested_parts(request: SetEntityState.Request) -> tuple[bool, bool, bool]:
    """Return whether pose, twist and acceleration are to be set.

    Versions of the service without these flags set all three.
    """
    flags = ("set_pose", "set_twist", "set_acceleration")
    pose_, twist, acceleration = (bool(getattr(request, flag, True)) for flag in flags)
    return pose_, twist, acceleration


def categories(messages: Iterable[EntityCategory]) -> list[int]:
    """Return the numbers of EntityCategory messages."""
    return [int(message.category) for message in messages]
