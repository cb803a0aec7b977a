"""Quality of service as profiles of rclpy, and ``qos_overrides``."""

from __future__ import annotations

from copy import copy
from typing import TypedDict

from rcl_interfaces.msg import SetParametersResult
from rclpy.event_handler import SubscriptionEventCallbacks
from rclpy.node import Node
from rclpy.qos import (
    DurabilityPolicy,
    HistoryPolicy,
    QoSProfile,
    ReliabilityPolicy,
    qos_profile_sensor_data,
)
from rclpy.qos_overriding_options import QoSOverridingOptions

from ..qos import Qos
from .parameters import undeclare

_MAX_DEPTH = 2**31 - 1  # limit of rclpy


def profile(qos: Qos) -> QoSProfile:
    """Return a quality of service as a profile of rclpy."""
    durability = DurabilityPolicy.TRANSIENT_LOCAL if qos.latched else DurabilityPolicy.VOLATILE
    reliable, best_effort = ReliabilityPolicy.RELIABLE, ReliabilityPolicy.BEST_EFFORT
    return QoSProfile(
        depth=qos.depth,
        history=HistoryPolicy.KEEP_LAST,
        reliability=reliable if qos.reliable else best_effort,
        durability=durability,
    )


# Best effort, so that reliable and best-effort publishers match; only the newest command counts.
COMMAND = profile(Qos(1, reliable=False))
# In lock-step every command counts.
COMMAND_IN_STEP = profile(Qos(10))
# Subscriptions to sensors: best effort, with a short history.
SENSOR_INPUT = qos_profile_sensor_data


def events(profile: QoSProfile) -> SubscriptionEventCallbacks:
    """Return the callbacks of a subscription that warn of incompatible publishers.

    Best-effort subscriptions have none: they match all publishers, and event callbacks cost more
    than the subscription itself.
    """
    is_reliable = profile.reliability is not ReliabilityPolicy.BEST_EFFORT
    return SubscriptionEventCallbacks(use_default_callbacks=is_reliable)


class QosArguments(TypedDict):
    """Arguments of ``create_publisher`` and ``create_subscription``."""

    qos_profile: QoSProfile
    qos_overriding_options: QoSOverridingOptions


def changeable(profile: QoSProfile) -> QosArguments:
    """Return the arguments for a profile that ``qos_overrides`` parameters may change."""
    return {
        "qos_profile": copy(profile),  # rclpy changes it
        "qos_overriding_options": QoSOverridingOptions.with_default_policies(callback=_validate),
    }


def _validate(profile: QoSProfile) -> SetParametersResult:
    """Reject values of ``qos_overrides`` for which the middleware has no clear error."""
    reason = ""
    if not 0 <= profile.depth <= _MAX_DEPTH:
        reason = f"depth must be in the range 0 .. {_MAX_DEPTH}, not {profile.depth}"
    for name, policy in (("history", profile.history), ("reliability", profile.reliability)):
        if policy.name == "UNKNOWN":
            reason = f"{name} must not be 'unknown'"
    return SetParametersResult(successful=not reason, reason=reason)


def undeclare_qos_overrides(node: Node, topic: str, kind: str) -> None:
    """Undeclare the ``qos_overrides`` parameters of a topic, which rclpy does not do itself.

    Args:
        node: The node whose publisher or subscription was destroyed.
        topic: Full name of the topic.
        kind: "publisher" or "subscription".
    """
    policies = QoSOverridingOptions.with_default_policies().policy_kinds
    names = (f"qos_overrides.{topic}.{kind}.{policy.name.lower()}" for policy in policies)
    undeclare(node, [name for name in names if node.has_parameter(name)])
