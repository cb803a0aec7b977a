"""Quality of service of every topic (REP 2003)."""

from __future__ import annotations

from copy import copy
from math import ceil
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

from .parameters import undeclare

_MAX_DEPTH = 2**31 - 1  # limit of rclpy


def _profile(depth: int, *, reliable: bool = True, latched: bool = False) -> QoSProfile:
    return QoSProfile(
        depth=depth,
        history=HistoryPolicy.KEEP_LAST,
        reliability=ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT,
        durability=DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE,
    )


# Images, point clouds and markers. Reliable, so that reliable and best-effort subscribers match and
# big messages are not lost.
IMAGE = _profile(5)
# Best effort, so that reliable and best-effort publishers match; only the newest command counts.
COMMAND = _profile(1, reliable=False)
# In lock-step every command counts.
COMMAND_IN_STEP = _profile(10)
# Subscriptions to sensors: best effort, with a short history.
SENSOR_INPUT = qos_profile_sensor_data
# Late subscribers receive the last message.
LATCHED = _profile(1, latched=True)
CLOCK = _profile(1)
DIAGNOSTICS = _profile(10)
TF = _profile(1000)
TF_STATIC = LATCHED

# History of a sensor for delayed subscribers: the samples of two seconds, so that after a pause of
# one second another one is left for resending; at most the size of five colour images of
# 640 x 480; and at least as many samples as of an image.
_HISTORY_SECONDS = 2.0
_HISTORY_BYTES = 4 * 2**20


def sensor(rate_hz: float, size: int) -> QoSProfile:
    """Return the profile of a topic of small messages.

    Args:
        rate_hz: Messages per second of simulation time.
        size: Approximate size of one message, in bytes.
    """
    depth = min(ceil(_HISTORY_SECONDS * rate_hz), _HISTORY_BYTES // size)
    return _profile(max(depth, IMAGE.depth))


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
