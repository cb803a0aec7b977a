"""Joint vectors to sensor_msgs/JointState."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Protocol

from ..messages import JointState
from .basic import Array
from .cdr import Template
from .converter import Frames, Reading
from .fields import FieldConverter


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


class JointStateConverter(FieldConverter[JointReading]):
    """Converts the joint readings of one body, which have no frame."""

    message_type = JointState

    def __init__(self, frames: Frames) -> None:
        del frames
        super().__init__(attrgetter("names"))

    def _layout(self, reading: JointReading) -> tuple[Template, Mapping[str, str]]:
        zeros = [0.0] * len(reading.names)
        names = list(reading.names)
        message = JointState(name=names, position=zeros, velocity=zeros, effort=zeros)
        return Template(message), {x: x for x in ("position", "velocity", "effort")}
