"""Joint trajectories from trajectory_msgs/JointTrajectory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..messages import JointTrajectory
from .basic import duration_ns, time_ns


class Point(NamedTuple):
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
    points: Sequence[Point]


def joint_trajectory(msg: JointTrajectory) -> Trajectory:
    """Return the trajectory of a message, without validation."""
    points = [
        Point(
            duration_ns(point.time_from_start),
            point.positions,
            point.velocities,
            point.accelerations,
            point.effort,
        )
        for point in msg.points
    ]
    return Trajectory(time_ns(msg.header.stamp), list(msg.joint_names), points)
