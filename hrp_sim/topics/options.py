"""Options of the topics of a world."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from hrp_msgs.names import STANDARD


@dataclass(frozen=True)
class PublishingOptions:
    """Options of the topics of a world: the parameters of ``sim_node`` of the same names.

    Attributes:
        frame_prefix: Prefix of all TF frame names.
        base: Massless links above the root of each body, a value of ``Base``.
        naming: Naming of the topics, a key of ``hrp_msgs.names.NAMINGS``.
        world_frame: Name of the world frame.
        clock_rate: Maximum rate of /clock in simulation time, in [Hz].
        contact_rate: Likewise of contacts and contacts/markers; 0 means that neither is published.
        contact_scale: Length of the arrow of a force, in [m/N].
        hardware_topics: Whether ros2_control reads and commands the joints.
        lock_step: Command topics that the run waits for.
    """

    frame_prefix: str = ""
    base: str = "auto"
    naming: str = STANDARD
    world_frame: str = "world"
    clock_rate: float = 250.0
    contact_rate: float = 0.0
    contact_scale: float = 0.001
    hardware_topics: bool = False
    lock_step: str = ""

    @staticmethod
    def from_parameters(settings: Mapping[str, Any]) -> PublishingOptions:
        """Return the options that the parameters of ``sim_node`` select."""
        return PublishingOptions(**{f.name: settings[f.name] for f in fields(PublishingOptions)})
