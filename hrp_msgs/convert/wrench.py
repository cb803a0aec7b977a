"""Force and torque to geometry_msgs/WrenchStamped."""

from __future__ import annotations

from typing import Protocol

from ..messages import WrenchStamped
from .basic import Array, set_stamp, set_xyz
from .converter import Frames, Reading


class WrenchReading(Reading, Protocol):
    """One sample of a force sensor, in its frame; the torque is about the origin of the frame."""

    @property
    def force(self) -> Array:
        """In [N], shape (3,)."""

    @property
    def torque(self) -> Array:
        """In [N m], shape (3,)."""


class WrenchConverter:
    """Converts the readings of one force sensor."""

    message_type = WrenchStamped

    def __init__(self, frames: Frames) -> None:
        self._msg = WrenchStamped()
        self._msg.header.frame_id = frames.data

    def convert(self, reading: WrenchReading) -> WrenchStamped:
        """Return the message of a reading; valid until the next call."""
        msg = self._msg
        set_stamp(msg.header.stamp, reading.time_ns)
        set_xyz(msg.wrench.force, reading.force)
        set_xyz(msg.wrench.torque, reading.torque)
        return msg
