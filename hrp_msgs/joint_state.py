"""Joint vectors to sensor_msgs/JointState."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

import numpy as np
from sensor_msgs.msg import JointState

from .basic import Array, set_header


def joint_state(
    time_ns: int,
    names: Sequence[str],
    position: Array,
    velocity: Array,
    effort: Array,
    into: JointState | None = None,
) -> JointState:
    """Return a JointState.

    Args:
        time_ns: Simulation time of the sample, in [ns].
        names: Of the joints.
        position: In [rad] or [m], shape (joints,); of a track how far its surface has run.
        velocity: In [rad/s] or [m/s], shape (joints,); of a track the speed of its surface.
        effort: Of the drives, in [N m] or [N], shape (joints,); NaN where none is measured, as
            joint_state_broadcaster has it, too.
        into: An earlier message, filled again instead of making one.
    """
    msg = JointState() if into is None else into
    set_header(msg.header, time_ns, "")  # The numbers belong to joints, not to a frame.
    msg.name = list(names)
    msg.position, msg.velocity, msg.effort = map(_doubles, (position, velocity, effort))
    return msg


def _doubles(values: Array) -> array[float]:
    """Return what messages take at no cost: anything but an array is checked number by number."""
    return array("d", np.asarray(values, dtype=np.float64).tobytes())
