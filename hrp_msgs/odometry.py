"""The motion of a frame to nav_msgs/Odometry."""

from __future__ import annotations

from collections.abc import Sequence

from geometry_msgs.msg import Pose, Twist
from nav_msgs.msg import Odometry

from .basic import Array, header, point, quaternion, vector3


def odometry(
    time_ns: int,
    frame_id: str,
    child_frame_id: str,
    position: Array,
    orientation: Sequence[float],
    linear_velocity: Array,
    angular_velocity: Array,
) -> Odometry:
    """Return an Odometry without covariances.

    Args:
        time_ns: Simulation time of the sample, in [ns].
        frame_id: Name of the frame W that the pose is expressed in.
        child_frame_id: Name of the frame B that moves, in which the twist is expressed.
        position: p_WB, in [m], shape (3,).
        orientation: Of B in W, unit quaternion (x, y, z, w).
        linear_velocity: Of B's origin in W, expressed in B, in [m/s], shape (3,).
        angular_velocity: w_WB_B, in [rad/s], shape (3,).
    """
    msg = Odometry(header=header(time_ns, frame_id), child_frame_id=child_frame_id)
    msg.pose.pose = Pose(position=point(position), orientation=quaternion(orientation))
    msg.twist.twist = Twist(linear=vector3(linear_velocity), angular=vector3(angular_velocity))
    return msg
