"""Quality of service of every topic (REP 2003)."""

from __future__ import annotations

from copy import copy
from math import ceil
from typing import Any

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

_DEEPEST = 2**31 - 1  # that rclpy takes


def _profile(depth: int, *, reliable: bool = True, latched: bool = False) -> QoSProfile:
    return QoSProfile(
        depth=depth,
        history=HistoryPolicy.KEEP_LAST,
        reliability=ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT,
        durability=DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE,
    )


# Of images, clouds and markers. Reliable, so that both kinds of subscriber connect and big messages
# are not lost.
IMAGE = _profile(5)
# Best effort, so that a publisher of either kind is heard; only the newest command counts.
COMMAND = _profile(1, reliable=False)
# In lock-step every command counts.
COMMAND_IN_STEP = _profile(10)
# For listening to a sensor: best effort too, and a few are kept, for each counts.
SENSOR_INPUT = qos_profile_sensor_data
# A late subscriber still gets the last one.
LATCHED = _profile(1, latched=True)
CLOCK = _profile(1)
DIAGNOSTICS = _profile(10)
TF = _profile(1000)
TF_STATIC = LATCHED

# What is kept of a sensor for a listener that is held up: the samples of two seconds, so that after
# a pause of one second there is another one to send them again; at most as many bytes as five
# colour images of 640 x 480 take; and never fewer samples than of an image.
_KEPT_SECONDS = 2.0
_KEPT_BYTES = 4 * 2**20


def sensor(rate_hz: float, size: int) -> QoSProfile:
    """Return the profile of a topic of small messages.

    Args:
        rate_hz: Messages per second of simulated time.
        size: Of one message, roughly, in bytes.
    """
    depth = min(ceil(_KEPT_SECONDS * rate_hz), _KEPT_BYTES // size)
    return _profile(max(depth, IMAGE.depth))


def events(profile: QoSProfile) -> SubscriptionEventCallbacks:
    """Return whether a subscription tells of publishers that it does not match.

    Best effort matches all. What would tell is looked at whenever the node has something to do,
    and costs more than the subscription itself.
    """
    tells = profile.reliability is not ReliabilityPolicy.BEST_EFFORT
    return SubscriptionEventCallbacks(use_default_callbacks=tells)


def changeable(profile: QoSProfile) -> dict[str, Any]:
    """Return how a publisher or subscription has a profile that ``qos_overrides`` may change."""
    return {
        "qos_profile": copy(profile),  # it is this one that is changed
        "qos_overriding_options": QoSOverridingOptions.with_default_policies(callback=_judge),
    }


def _judge(profile: QoSProfile) -> SetParametersResult:
    """Refuse in words what ``qos_overrides`` asks for and the middleware only fails at."""
    reason = ""
    if not 0 <= profile.depth <= _DEEPEST:
        reason = f"depth is in the range 0 .. {_DEEPEST}, not {profile.depth}"
    for name, policy in (("history", profile.history), ("reliability", profile.reliability)):
        if policy.name == "UNKNOWN":
            reason = f"{name} cannot be 'unknown'"
    return SetParametersResult(successful=not reason, reason=reason)


def undeclare_qos_overrides(node: Node, topic: str, kind: str) -> None:
    """Take the ``qos_overrides`` of a topic away again, which rclpy declares and leaves there.

    Args:
        node: Whose publisher or subscription has ended.
        topic: Full name.
        kind: "publisher" or "subscription".
    """
    policies = QoSOverridingOptions.with_default_policies().policy_kinds
    names = (f"qos_overrides.{topic}.{kind}.{policy.name.lower()}" for policy in policies)
    undeclare(node, [name for name in names if node.has_parameter(name)])
