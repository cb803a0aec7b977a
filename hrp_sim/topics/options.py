"""Options of the topics of a world."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from hrp_model.description.description import DescriptionOptions
from hrp_model.description.publisher import MAX_FREQUENCY
from hrp_msgs.names import STANDARD


@dataclass(frozen=True)
class TopicOptions:
    """Options of the topics of a world, most of them parameters of ``sim_node`` of the same names.

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
        description: Options of the descriptions of the bodies; None without descriptions.
        publish_tf: Whether the frames of described links are published, too.
        publish_frequency: Maximum rate of the frames of links in simulation time, in [Hz]; 0 means
            at each joint reading.
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
    description: DescriptionOptions | None = None
    publish_tf: bool = True
    publish_frequency: float = MAX_FREQUENCY

    @staticmethod
    def from_parameters(settings: Mapping[str, Any]) -> TopicOptions:
        """Return the options that the parameters of ``sim_node`` select."""
        own = {f.name: settings[f.name] for f in fields(TopicOptions) if f.name in settings}
        described = DescriptionOptions.from_parameters(settings) if settings["describe"] else None
        return TopicOptions(**own, description=described)
