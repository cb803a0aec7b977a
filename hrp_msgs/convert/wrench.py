"""Force and torque to geometry_msgs/WrenchStamped."""

from __future__ import annotations

from typing import Protocol

from ..messages import Header, WrenchStamped
from .basic import Array
from .cdr import Template
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
        self._template = template = Template(WrenchStamped(header=Header(frame_id=frames.data)))
        self._force = template.view("wrench.force")
        self._torque = template.view("wrench.torque")

    def convert(self, reading: WrenchReading) -> bytes:
        """Return the message of a reading."""
        self._force[:] = reading.force
        self._torque[:] = reading.torque
        return self._template.data(reading.time_ns)
