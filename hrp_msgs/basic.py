"""Time, vectors, quaternions and headers: what every message is made of."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import Point, Quaternion, Vector3
from numpy.typing import NDArray
from std_msgs.msg import Header

Array = NDArray[np.float64]
NS_PER_S = 1_000_000_000


def stamp(time_ns: int) -> Time:
    """Return a time stamp from simulation time in [ns]."""
    sec, nanosec = divmod(time_ns, NS_PER_S)
    return Time(sec=sec, nanosec=nanosec)


def header(time_ns: int, frame_id: str) -> Header:
    """Return a header: simulation time in [ns] and the frame the numbers are expressed in."""
    return Header(stamp=stamp(time_ns), frame_id=frame_id)


def vector3(v: Sequence[float] | Array) -> Vector3:
    """Return a Vector3 from three numbers."""
    x, y, z = map(float, v)
    return Vector3(x=x, y=y, z=z)


def point(p: Sequence[float] | Array) -> Point:
    """Return a Point from three numbers, in [m]."""
    x, y, z = map(float, p)
    return Point(x=x, y=y, z=z)


def quaternion(xyzw: Sequence[float]) -> Quaternion:
    """Return a Quaternion from (x, y, z, w)."""
    x, y, z, w = map(float, xyzw)
    return Quaternion(x=x, y=y, z=z, w=w)
