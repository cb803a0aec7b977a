"""Plain numbers to messages of simulation_interfaces and back.

A few types changed between the versions of the package that the ROS distributions have: where
one has ``entity_resource`` or ``world_resource``, another has the two fields of it. Their bytes
on the wire are the same, and both are understood here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from geometry_msgs.msg import Vector3

from ..convert.basic import Array, set_header, set_quaternion, set_xyz


class Motion(NamedTuple):
    """A pose and how it changes.

    Attributes:
        position: In [m].
        quaternion: (x, y, z, w).
        linear: Velocity, in [m/s].
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
    """A file by its URI, or what would be in it."""

    uri: str
    text: str


def set_result(msg: Any, code: int, words: str = "") -> None:
    """Fill a Result."""
    msg.result = int(code)
    msg.error_message = words


def set_entity_state(msg: Any, time_ns: int, frame: str, motion: Motion) -> None:
    """Fill an EntityState as of a simulation time in [ns], told in a frame."""
    set_header(msg.header, time_ns, frame)
    set_xyz(msg.pose.position, motion.position)
    set_quaternion(msg.pose.orientation, motion.quaternion)
    set_xyz(msg.twist.linear, motion.linear)
    set_xyz(msg.twist.angular, motion.angular)
    set_xyz(msg.acceleration.linear, motion.linear_acceleration)
    set_xyz(msg.acceleration.angular, motion.angular_acceleration)


def pose(msg: Any) -> tuple[tuple[float, float, float], tuple[float, float, float, float]]:
    """Return position and quaternion (x, y, z, w) of a Pose."""
    q = msg.orientation
    return xyz(msg.position), (q.x, q.y, q.z, q.w)


def xyz(msg: Any) -> tuple[float, float, float]:
    """Return the three numbers of a Point or Vector3."""
    return msg.x, msg.y, msg.z


def set_bounds(msg: Any, kind: int, points: Array) -> None:
    """Fill Bounds; the points are of shape (n, 3), in [m]."""
    msg.type = int(kind)
    msg.points = [Vector3(x=x, y=y, z=z) for x, y, z in points.tolist()]


def bounds_points(msg: Any) -> Array:
    """Return the points of Bounds, in [m], shape (n, 3)."""
    return np.array([xyz(point) for point in msg.points], dtype=np.float64).reshape(-1, 3)


def resource(msg: Any, field: str) -> Resource:
    """Return the resource that a message has in a field of this name, or as two fields."""
    holder = getattr(msg, field, msg)
    return Resource(holder.uri, holder.resource_string)


def set_resource(msg: Any, field: str, uri: str, text: str = "") -> None:
    """Fill in a resource; a message that has room for the URI only gets that."""
    holder = getattr(msg, field, msg)
    holder.uri = uri
    if hasattr(holder, "resource_string"):
        holder.resource_string = text


def wanted_parts(request: Any) -> tuple[bool, bool, bool]:
    """Return whether SetEntityState asks for pose, twist and acceleration.

    Versions without these flags always mean all three.
    """
    flags = ("set_pose", "set_twist", "set_acceleration")
    pose_, twist, acceleration = (bool(getattr(request, flag, True)) for flag in flags)
    return pose_, twist, acceleration


def categories(messages: Iterable[Any]) -> list[int]:
    """Return the numbers of EntityCategory messages."""
    return [int(message.category) for message in messages]
