"""Force and torque to geometry_msgs/WrenchStamped."""

from __future__ import annotations

from geometry_msgs.msg import WrenchStamped

from .basic import Array, set_header, set_xyz


def wrench(
    time_ns: int,
    frame_id: str,
    force: Array,
    torque: Array,
    into: WrenchStamped | None = None,
) -> WrenchStamped:
    """Return a WrenchStamped.

    Args:
        time_ns: Simulation time of the sample, in [ns].
        frame_id: Name of the frame that the numbers are expressed in; the torque is
            about its origin.
        force: In [N], shape (3,).
        torque: In [N m], shape (3,).
        into: An earlier message, filled again instead of making one.
    """
    msg = WrenchStamped() if into is None else into
    set_header(msg.header, time_ns, frame_id)
    set_xyz(msg.wrench.force, force)
    set_xyz(msg.wrench.torque, torque)
    return msg
