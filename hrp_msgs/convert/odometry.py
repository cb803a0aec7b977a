"""Motion of a body's topmost frame to nav_msgs/Odometry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from ..messages import Header, Odometry
from .basic import Array
from .cdr import Template
from .converter import Frames, Reading
from .fields import FieldConverter

# Variances of the true motion: (1 mm)^2, (1 mrad)^2, (1 mm/s)^2 and (1 mrad/s)^2. Filters such as
# robot_localization cannot use zeros.
VARIANCE = 1e-6


class OdometryReading(Reading, Protocol):
    """Pose and velocity of a frame B in the world frame W."""

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

    def at(self, p: Array, R: Array) -> OdometryReading:
        """Return the motion of a frame that is fixed to B, given its pose in B."""


class RootConverter(FieldConverter[OdometryReading]):
    """Converts the motion of one root link to that of the topmost frame of the body."""

    def __init__(self, frames: Frames) -> None:
        super().__init__()
        self._frames = frames

    def convert(self, reading: OdometryReading) -> bytes:
        """Return the message of a reading of the root link."""
        return super().convert(self._of_root(reading))

    def keep(self, time_ns: int, reading: OdometryReading) -> None:
        """Copy the numbers of a reading of the root link; see ``FieldConverter``."""
        super().keep(time_ns, self._of_root(reading))

    def _of_root(self, reading: OdometryReading) -> OdometryReading:
        pose = self._frames.root_pose
        return reading if pose is None else reading.at(*pose)


class OdometryConverter(RootConverter):
    """Converts the motion of one root to odometry."""

    message_type = Odometry

    def _layout(self, reading: OdometryReading) -> tuple[Template, Mapping[str, str]]:  # noqa: ARG002
        header = Header(frame_id=self._frames.world)
        template = Template(Odometry(header=header, child_frame_id=self._frames.root))
        for quantity in ("pose", "twist"):  # the diagonals of (6, 6) matrices
            template.view(f"{quantity}.covariance")[::7] = VARIANCE
        return template, {
            "pose.pose.position": "position",
            "pose.pose.orientation": "orientation",
            "twist.twist.linear": "linear_velocity",
            "twist.twist.angular": "angular_velocity",
        }
