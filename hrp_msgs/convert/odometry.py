"""Motion of a body's root to nav_msgs/Odometry."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ..messages import Odometry
from .basic import Array, set_quaternion, set_stamp, set_xyz
from .converter import Frames, Reading


class OdometryReading(Reading, Protocol):
    """Pose and velocity of the root frame B in the world frame W."""

    @property
    def position(self) -> Array:
        """p_WB, in [m], shape (3,)."""

    @property
    def orientation(self) -> Sequence[float]:
        """Of B in W, unit quaternion (x, y, z, w)."""

    @property
    def linear_velocity(self) -> Array:
        """Of B's origin in W, expressed in B, in [m/s], shape (3,)."""

    @property
    def angular_velocity(self) -> Array:
        """w_WB_B, in [rad/s], shape (3,)."""


class OdometryConverter:
    """Converts the motion of one root to odometry without covariances."""

    message_type = Odometry

    def __init__(self, frames: Frames) -> None:
        self._msg = Odometry()
        self._msg.header.frame_id, self._msg.child_frame_id = frames.world, frames.root

    def convert(self, reading: OdometryReading) -> Odometry:
        """Return the message of a reading; valid until the next call."""
        msg = self._msg
        set_stamp(msg.header.stamp, reading.time_ns)
        set_xyz(msg.pose.pose.position, reading.position)
        set_quaternion(msg.pose.pose.orientation, reading.orientation)
        set_xyz(msg.twist.twist.linear, reading.linear_velocity)
        set_xyz(msg.twist.twist.angular, reading.angular_velocity)
        return msg
