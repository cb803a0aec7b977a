"""Force and torque to geometry_msgs/WrenchStamped."""

from __future__ import annotations

from geometry_msgs.msg import Wrench, WrenchStamped

from .basic import Array, header, vector3


def wrench(time_ns: int, frame_id: str, force: Array, torque: Array) -> WrenchStamped:
    """Return a WrenchStamped.

    Args:
        time_ns: Simulation time of the sample, in [ns].
        frame_id: Name of the frame that the numbers are expressed in; the torque is
            about its origin.
        force: In [N], shape (3,).
        torque: In [N m], shape (3,).
    """
    return WrenchStamped(
        header=header(time_ns, frame_id),
        wrench=Wrench(force=vector3(force), torque=vector3(torque)),
    )
