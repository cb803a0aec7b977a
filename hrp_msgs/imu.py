"""Angular velocity and specific force to sensor_msgs/Imu (REP 145)."""

from __future__ import annotations

from sensor_msgs.msg import Imu

from .basic import Array, set_header, set_xyz


def imu(
    time_ns: int,
    frame_id: str,
    angular_velocity: Array | None,
    linear_acceleration: Array | None,
    into: Imu | None = None,
) -> Imu:
    """Return an Imu without orientation.

    The first covariance of what is not measured is -1; all others are zero, which says
    that they are unknown.

    Args:
        time_ns: Simulation time of the sample, in [ns].
        frame_id: Name of the sensor frame S.
        angular_velocity: w_WS_S, in [rad/s], shape (3,); None if not measured.
        linear_acceleration: Specific force in S, in [m/s^2], shape (3,): +g upward at
            rest; None if not measured.
        into: An earlier message of the same sensor, filled again instead of making one.
    """
    msg = Imu() if into is None else into
    set_header(msg.header, time_ns, frame_id)
    msg.orientation_covariance[0] = -1.0
    if angular_velocity is None:
        msg.angular_velocity_covariance[0] = -1.0
    else:
        set_xyz(msg.angular_velocity, angular_velocity)
    if linear_acceleration is None:
        msg.linear_acceleration_covariance[0] = -1.0
    else:
        set_xyz(msg.linear_acceleration, linear_acceleration)
    return msg
