"""Conversions of time, vectors, quaternions and headers; the clock."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

import numpy as np

from ..messages import Clock, Duration, Header, Point, Quaternion, Time, Vector3
from ..readings import Array

NS_PER_S = 1_000_000_000


def stamp(time_ns: int) -> Time:
    """Return a time stamp from simulation time in [ns]."""
    sec, nanosec = divmod(time_ns, NS_PER_S)
    return Time(sec=sec, nanosec=nanosec)


def time_ns(msg: Time) -> int:
    """Return the time of a stamp in [ns]; 0 means unstamped."""
    return int(msg.sec) * NS_PER_S + int(msg.nanosec)


def duration_ns(msg: Duration) -> int:
    """Return a duration in [ns]."""
    return int(msg.sec) * NS_PER_S + int(msg.nanosec)


def duration(ns: int) -> Duration:
    """Return a duration from [ns]."""
    sec, nanosec = divmod(ns, NS_PER_S)
    return Duration(sec=sec, nanosec=nanosec)


def clock(time_ns: int) -> Clock:
    """Return a Clock with this simulation time, in [ns]."""
    return Clock(clock=stamp(time_ns))


def header(time_ns: int, frame_id: str) -> Header:
    """Return a header: simulation time in [ns] and the frame the numbers are expressed in."""
    return Header(stamp=stamp(time_ns), frame_id=frame_id)


def doubles(values: Array) -> array[float]:
    """Return numbers as an ``array``, which messages accept without checking each element."""
    return array("d", np.asarray(values, dtype=np.float64).tobytes())


# Filling an existing message takes a tenth of the time of creating one.


def set_header(msg: Header, time_ns: int, frame_id: str) -> None:
    """Fill a header: simulation time in [ns] and the frame the numbers are expressed in."""
    msg.stamp.sec, msg.stamp.nanosec = divmod(time_ns, NS_PER_S)
    msg.frame_id = frame_id


def set_xyz(msg: Vector3 | Point, v: Sequence[float] | Array) -> None:
    """Fill a Vector3 or a Point with three numbers."""
    msg.x, msg.y, msg.z = v.tolist() if isinstance(v, np.ndarray) else map(float, v)


def set_quaternion(msg: Quaternion, xyzw: Sequence[float]) -> None:
    """Fill a Quaternion with (x, y, z, w)."""
    msg.x, msg.y, msg.z, msg.w = map(float, xyzw)
