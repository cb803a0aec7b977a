"""Subscriptions to the topics of other nodes, whose types and quality of service are unknown."""

from __future__ import annotations

import importlib
from collections.abc import Sequence

from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.topic_endpoint_info import TopicEndpointInfo

from ..convert.converter import Message


def message_class(name: str) -> type[Message] | None:
    """Return the class of a type such as "std_msgs/msg/String", or None if it is not installed."""
    package, kind, type_name = name.split("/")
    try:
        found: type[Message] = getattr(importlib.import_module(f"{package}.{kind}"), type_name)
    except (ImportError, AttributeError):
        return None
    return found


def matching_qos(publishers: Sequence[TopicEndpointInfo], depth: int) -> QoSProfile:
    """Return the strictest profile that every publisher of a topic satisfies."""
    reliable = all(p.qos_profile.reliability is ReliabilityPolicy.RELIABLE for p in publishers)
    latched = all(p.qos_profile.durability is DurabilityPolicy.TRANSIENT_LOCAL for p in publishers)
    return QoSProfile(
        depth=depth,
        reliability=ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT,
        durability=DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE,
    )
