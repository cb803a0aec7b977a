"""Light beams that are blocked or free to sensor_msgs/Range."""

from __future__ import annotations

from math import inf
from typing import Protocol

from ..messages import Header, Range
from .cdr import Template
from .converter import Frames, Reading


class LightBeamReading(Reading, Protocol):
    """One sample of a photo interrupter."""

    @property
    def is_blocked(self) -> bool:
        """Whether something is in the beam."""

    @property
    def length(self) -> float:
        """Of the beam, in [m]; must not change."""


class LightBeamConverter:
    """Converts the readings of one photo interrupter to those of a fixed-distance ranger.

    As the message defines for these: both limits are equal, and the range is -inf where an object
    was detected, else inf.
    """

    message_type = Range

    def __init__(self, frames: Frames) -> None:
        self._header = Header(frame_id=frames.data)
        self._set_length(0.0)

    def convert(self, reading: LightBeamReading) -> bytes:
        """Return the message of a reading."""
        if reading.length != self._length:
            self._set_length(reading.length)
        self._set_range(-inf if reading.is_blocked else inf)
        return self._template.data(reading.time_ns)

    def _set_length(self, length: float) -> None:
        self._length = length
        message = Range(
            header=self._header, radiation_type=Range.INFRARED, min_range=length, max_range=length
        )
        self._template = Template(message)
        self._set_range = self._template.setter("range")
