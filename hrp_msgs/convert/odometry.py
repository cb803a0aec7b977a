"""The motion of a frame to nav_msgs/Odometry."""

from __future__ import annotations

from collections.abc import Sequence

from nav_msgs.msg import Odometry

from .basic import Array, set_header, set_quaternion, set_xyz


def odometry(
    time_ns: int,
    frame_id: str,
    child_frame_id: str,
    position: Array,
    orientation: Sequence[float],
    linear_velocity: Array,
    angular_velocity: Array,
    into: Odometry | None = None,
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
        into: An earlier message, filled again instead of making one.
    """
    msg = Odometry() if into is None else into
    set_header(msg.header, time_ns, frame_id)
    msg.child_frame_id = child_frame_id
    set_xyz(msg.pose.pose.position, position)
    set_quaternion(msg.pose.pose.orientation, orientation)
    set_xyz(msg.twist.twist.linear, linear_velocity)
    set_xyz(msg.twist.twist.angular, angular_velocity)
    return msg
