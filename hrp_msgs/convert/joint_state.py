"""Joint vectors to sensor_msgs/JointState."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

import numpy as np
from sensor_msgs.msg import JointState

from .basic import Array, set_header


class JointStateBuffer:
    """Makes the JointState messages of one body, all in the same memory."""

    def __init__(self) -> None:
        self._msg = JointState()
        self._names: Sequence[str] = ()
        self._use(())

    def joint_state(
        self,
        time_ns: int,
        names: Sequence[str],
        position: Array,
        velocity: Array,
        effort: Array,
    ) -> JointState:
        """Return a JointState; it is valid until the next call.

        Args:
            time_ns: Simulation time of the sample, in [ns].
            names: Of the joints, in a sequence that nobody changes.
            position: In [rad] or [m], shape (joints,); of a track how far its surface has run.
            velocity: In [rad/s] or [m/s], shape (joints,); of a track the speed of its surface.
            effort: Of the drives, in [N m] or [N], shape (joints,); NaN where none is measured,
                as joint_state_broadcaster has it, too.
        """
        if names is not self._names:
            self._use(names)
        set_header(self._msg.header, time_ns, "")  # The numbers belong to joints, not to a frame.
        self._position[:] = position
        self._velocity[:] = velocity
        self._effort[:] = effort
        return self._msg

    def _use(self, names: Sequence[str]) -> None:
        """Make memory for these joints: a message checks one by one what it is given later."""
        self._names = names
        msg = self._msg
        msg.name = list(names)
        msg.position, msg.velocity, msg.effort = (
            array("d", bytes(8 * len(names))) for _ in range(3)
        )
        rows = msg.position, msg.velocity, msg.effort
        self._position, self._velocity, self._effort = map(np.frombuffer, rows)
