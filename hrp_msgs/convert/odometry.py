"""Motion of a body's root to nav_msgs/Odometry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from ..messages import Header, Odometry
from .basic import Array
from .cdr import Template
from .converter import Frames, Reading
from .fields import FieldConverter


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


class OdometryConverter(FieldConverter[OdometryReading]):
    """Converts the motion of one root to odometry without covariances."""

    message_type = Odometry

    def __init__(self, frames: Frames) -> None:
        super().__init__()
        self._frames = frames

    def _layout(self, reading: OdometryReading) -> tuple[Template, Mapping[str, str]]:  # noqa: ARG002
        header = Header(frame_id=self._frames.world)
        return Template(Odometry(header=header, child_frame_id=self._frames.root)), {
            "pose.pose.position": "position",
            "pose.pose.orientation": "orientation",
            "twist.twist.linear": "linear_velocity",
            "twist.twist.angular": "angular_velocity",
        }
