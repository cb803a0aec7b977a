"""Motion of a body's root to nav_msgs/Odometry."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ..messages import Header, Odometry
from .basic import Array
from .cdr import Template
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
        message = Odometry(header=Header(frame_id=frames.world), child_frame_id=frames.root)
        self._template = template = Template(message)
        self._position = template.view("pose.pose.position")
        self._set_orientation = template.setter("pose.pose.orientation")
        self._linear_velocity = template.view("twist.twist.linear")
        self._angular_velocity = template.view("twist.twist.angular")

    def convert(self, reading: OdometryReading) -> bytes:
        """Return the message of a reading."""
        self._position[:] = reading.position
        self._set_orientation(*reading.orientation)
        self._linear_velocity[:] = reading.linear_velocity
        self._angular_velocity[:] = reading.angular_velocity
        return self._template.data(reading.time_ns)
