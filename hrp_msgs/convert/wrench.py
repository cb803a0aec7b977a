"""Force and torque to geometry_msgs/WrenchStamped."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from ..messages import Header, WrenchStamped
from .basic import Array
from .cdr import Template
from .converter import Frames, Reading
from .fields import FieldConverter


class WrenchReading(Reading, Protocol):
    """One sample of a force sensor, in its frame; the torque is about the origin of the frame."""

    @property
    def force(self) -> Array:
        """In [N], shape (3,)."""

    @property
    def torque(self) -> Array:
        """In [N m], shape (3,)."""


class WrenchConverter(FieldConverter[WrenchReading]):
    """Converts the readings of one force sensor."""

    message_type = WrenchStamped

    def __init__(self, frames: Frames) -> None:
        super().__init__()
        self._header = Header(frame_id=frames.data)

    def _layout(self, reading: WrenchReading) -> tuple[Template, Mapping[str, str]]:  # noqa: ARG002
        template = Template(WrenchStamped(header=self._header))
        return template, {"wrench.force": "force", "wrench.torque": "torque"}
