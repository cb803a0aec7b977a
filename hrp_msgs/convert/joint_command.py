"""Joint commands from sensor_msgs/JointState."""

from __future__ import annotations

from collections.abc import Sequence

from sensor_msgs.msg import JointState


def joint_command(
    msg: JointState,
) -> tuple[list[str], Sequence[float], Sequence[float], Sequence[float]]:
    """Return (names, position, velocity, effort) of a message; empty ones are not commanded.

    Positions are in [rad] or [m], velocities in [rad/s] or [m/s], efforts in [N m] or [N].
    """
    return list(msg.name), msg.position, msg.velocity, msg.effort
