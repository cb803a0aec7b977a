"""Angular velocity, specific force and orientation to sensor_msgs/Imu (REP 145)."""

from __future__ import annotations

from collections.abc import Sequence

from sensor_msgs.msg import Imu

from .basic import Array, set_header, set_quaternion, set_xyz

_NOTHING = 0.0, 0.0, 0.0
_IDENTITY = 0.0, 0.0, 0.0, 1.0
_NOT_MEASURED = -1.0


def imu(
    time_ns: int,
    frame_id: str,
    angular_velocity: Array | None,
    linear_acceleration: Array | None,
    orientation: Sequence[float] | None = None,
    *,
    angular_velocity_stdev: float = 0.0,
    linear_acceleration_stdev: float = 0.0,
    orientation_stdev: float = 0.0,
    into: Imu | None = None,
) -> Imu:
    """Return an Imu.

    The first covariance of what is not measured is -1; those of what has no deviation are all
    zero, which says that they are unknown.

    Args:
        time_ns: Simulation time of the sample, in [ns].
        frame_id: Name of the sensor frame S.
        angular_velocity: w_WS_S, in [rad/s], shape (3,); None if not measured.
        linear_acceleration: Specific force in S, in [m/s^2], shape (3,): +g upward at
            rest; None if not measured.
        orientation: Of S in W, unit quaternion (x, y, z, w); None if not measured.
        angular_velocity_stdev: Standard deviation on each axis, in [rad/s].
        linear_acceleration_stdev: Likewise, in [m/s^2].
        orientation_stdev: Likewise, about each axis, in [rad].
        into: An earlier message of any sensor, filled again instead of making one.
    """
    msg = Imu() if into is None else into
    set_header(msg.header, time_ns, frame_id)
    q, w, f = orientation, angular_velocity, linear_acceleration
    set_quaternion(msg.orientation, _IDENTITY if q is None else q)
    set_xyz(msg.angular_velocity, _NOTHING if w is None else w)
    set_xyz(msg.linear_acceleration, _NOTHING if f is None else f)
    _set_covariance(msg.orientation_covariance, q, orientation_stdev)
    _set_covariance(msg.angular_velocity_covariance, w, angular_velocity_stdev)
    _set_covariance(msg.linear_acceleration_covariance, f, linear_acceleration_stdev)
    return msg


def _set_covariance(covariance: Array, measured: object, stdev: float) -> None:
    """Fill the diagonal of a (3, 3) matrix, given as (9,); the rest of it is always zero."""
    variance = 0.0 if measured is None else stdev * stdev
    covariance[0] = _NOT_MEASURED if measured is None else variance
    covariance[4] = covariance[8] = variance
