"""Joint vectors to sensor_msgs/JointState."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

import numpy as np
from sensor_msgs.msg import JointState

from .basic import Array, header


def joint_state(
    time_ns: int, names: Sequence[str], position: Array, velocity: Array, effort: Array
) -> JointState:
    """Return a JointState.

    Args:
        time_ns: Simulation time of the sample, in [ns].
        names: Of the joints.
        position: In [rad] or [m], shape (joints,).
        velocity: In [rad/s] or [m/s], shape (joints,).
        effort: In [N m] or [N], shape (joints,).
    """
    return JointState(
        header=header(time_ns, ""),  # The numbers belong to joints, not to a frame.
        name=list(names),
        position=_doubles(position),
        velocity=_doubles(velocity),
        effort=_doubles(effort),
    )


def _doubles(values: Array) -> array[float]:
    """Return what messages take at no cost: anything but an array is checked number by number."""
    return array("d", np.asarray(values, dtype=np.float64).tobytes())
