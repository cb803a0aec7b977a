"""Joint vectors to sensor_msgs/JointState."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ..messages import JointState
from .basic import Array
from .cdr import Template
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
        self._set_names(())

    def convert(self, reading: JointReading) -> bytes:
        """Return the message of a reading."""
        if reading.names is not self._names:
            self._set_names(reading.names)
        self._position[:] = reading.position
        self._velocity[:] = reading.velocity
        self._effort[:] = reading.effort
        return self._template.data(reading.time_ns)

    def _set_names(self, names: Sequence[str]) -> None:
        self._names = names
        zeros = [0.0] * len(names)
        message = JointState(name=list(names), position=zeros, velocity=zeros, effort=zeros)
        self._template = template = Template(message)
        self._position = template.view("position")
        self._velocity = template.view("velocity")
        self._effort = template.view("effort")
