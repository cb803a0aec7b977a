"""Joint vectors to sensor_msgs/JointState."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from ..messages import JointState
from .basic import Array, set_stamp
from .converter import Frames, Reading


class JointReading(Reading, Protocol):
    """One sample of the joints and tracks of a body; all arrays of shape (joints,)."""

    @property
    def names(self) -> Sequence[str]:
        """Names of the joints; must not change."""

    @property
    def position(self) -> Array:
        """In [rad] or [m]; for a track the travel of its surface."""

    @property
    def velocity(self) -> Array:
        """In [rad/s] or [m/s]; for a track the speed of its surface."""

    @property
    def effort(self) -> Array:
        """In [N m] or [N]; NaN if not measured, as in ros2_control."""


class JointStateConverter:
    """Converts the joint readings of one body, which have no frame."""

    message_type = JointState

    def __init__(self, frames: Frames) -> None:
        del frames
        self._msg = JointState()
        self._set_names(())

    def convert(self, reading: JointReading) -> JointState:
        """Return the message of a reading; valid until the next call."""
        if reading.names is not self._names:
            self._set_names(reading.names)
        set_stamp(self._msg.header.stamp, reading.time_ns)
        self._position[:] = reading.position
        self._velocity[:] = reading.velocity
        self._effort[:] = reading.effort
        return self._msg

    def _set_names(self, names: Sequence[str]) -> None:
        """Allocate arrays for these joints, to be filled in place without checks by the message."""
        self._names = names
        msg = self._msg
        msg.name = list(names)
        msg.position, msg.velocity, msg.effort = (
            array("d", bytes(8 * len(names))) for _ in range(3)
        )
        rows = msg.position, msg.velocity, msg.effort
        self._position, self._velocity, self._effort = map(np.frombuffer, rows)
