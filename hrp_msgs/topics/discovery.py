"""Topics of other programs, whose types and quality of service are unknown."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

from ..convert.converter import Message

if TYPE_CHECKING:  # the module has another name since rclpy 10
    from rclpy.topic_endpoint_info import TopicEndpointInfo

_TYPE_NAME = re.compile(r"([a-z]\w*)/msg/([A-Z]\w*)", re.ASCII)


def installed_type(name: str) -> type[Message] | None:
    """Return the class of a message type such as "sensor_msgs/msg/Imu", or None.

    Only packages with ROS messages are imported, as the name may come from anybody.
    """
    match = _TYPE_NAME.fullmatch(name)
    spec = find_spec(match[1]) if match else None
    folders = list(spec.submodule_search_locations or ()) if spec else []
    if match is None or not any(Path(x, "msg", "__init__.py").is_file() for x in folders):
        return None
    try:
        found: Any = getattr(import_module(f"{match[1]}.msg"), match[2], None)
    except ImportError:  # an incomplete installation
        return None
    fields: Mapping[str, str] | None = getattr(found, "_fields_and_field_types", None)
    return None if fields is None else found


def matching_qos(publishers: Sequence[TopicEndpointInfo], depth: int) -> QoSProfile:
    """Return the strictest profile that every publisher of a topic satisfies."""
    reliable = all(p.qos_profile.reliability is ReliabilityPolicy.RELIABLE for p in publishers)
    latched = all(p.qos_profile.durability is DurabilityPolicy.TRANSIENT_LOCAL for p in publishers)
    return QoSProfile(
        depth=depth,
        reliability=ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT,
        durability=DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE,
    )
