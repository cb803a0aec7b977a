"""Conversions of time, vectors, quaternions and headers; clock, health of a node, trajectories."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ..messages import (
    Clock,
    DiagnosticArray,
    DiagnosticStatus,
    Duration,
    Header,
    JointTrajectory,
    KeyValue,
    Point,
    Quaternion,
    Time,
    Vector3,
)
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


DIAGNOSTICS_PERIOD = 1.0  # [s] of wall time between two messages (REP 107)

_LEVELS = {
    "ok": DiagnosticStatus.OK,
    "warn": DiagnosticStatus.WARN,
    "error": DiagnosticStatus.ERROR,
    "stale": DiagnosticStatus.STALE,
}


def diagnostic_status(
    level: str, name: str, message: str, values: Mapping[str, object], hardware_id: str = ""
) -> DiagnosticStatus:
    """Return the status of one part of a node.

    Args:
        level: "ok", "warn", "error", or "stale" if no data arrived for too long.
        name: By convention "node: part", unique on the topic.
        message: Summary in one line.
        values: Further values; floating-point numbers are rounded to six digits.
        hardware_id: Device or robot concerned, such as the name of a robot.
    """
    return DiagnosticStatus(
        level=_LEVELS[level],
        name=name,
        message=message,
        hardware_id=hardware_id,
        values=[KeyValue(key=key, value=_text(value)) for key, value in values.items()],
    )


def diagnostic_array(time_ns: int, statuses: Iterable[DiagnosticStatus]) -> DiagnosticArray:
    """Return the message of ``/diagnostics``, stamped with a time in [ns]."""
    msg = DiagnosticArray(status=list(statuses))
    msg.header.stamp = stamp(time_ns)
    return msg


def _text(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


class TrajectoryPoint(NamedTuple):
    """Desired state of joints at a time; unspecified quantities are empty.

    Attributes:
        time_from_start_ns: In [ns].
        positions: In [rad] or [m], in the order of the joint names.
        velocities: In [rad/s] or [m/s].
        accelerations: In [rad/s^2] or [m/s^2].
        effort: In [N m] or [N].
    """

    time_from_start_ns: int
    positions: Sequence[float] = ()
    velocities: Sequence[float] = ()
    accelerations: Sequence[float] = ()
    effort: Sequence[float] = ()


class Trajectory(NamedTuple):
    """A joint trajectory.

    Attributes:
        start_ns: Simulation time of its start, in [ns]; 0 means now.
        names: Names of the joints.
        points: In the order of their times.
    """

    start_ns: int
    names: Sequence[str]
    points: Sequence[TrajectoryPoint]


def joint_trajectory(msg: JointTrajectory) -> Trajectory:
    """Return the trajectory of a message, without validation."""
    points = [
        TrajectoryPoint(
            duration_ns(point.time_from_start),
            point.positions,
            point.velocities,
            point.accelerations,
            point.effort,
        )
        for point in msg.points
    ]
    return Trajectory(time_ns(msg.header.stamp), list(msg.joint_names), points)
