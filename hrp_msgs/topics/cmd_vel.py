"""Velocity commands to vehicles: geometry_msgs/Twist and TwistStamped on one topic."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from geometry_msgs.msg import Twist, TwistStamped
from rclpy.clock import Clock, ClockType
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.node import Node
from rclpy.subscription import Subscription
from rclpy.timer import Timer

from ..convert.basic import time_ns
from ..node.start import creating
from .command_subscription import CommandKind, CommandReceiver, CommandSubscriber


def _twist(receiver: CommandReceiver, topic: str, msg: Twist) -> None:
    receiver.drive(topic, 0, msg.linear.x, msg.angular.z)


def _twist_stamped(receiver: CommandReceiver, topic: str, msg: TwistStamped) -> None:
    twist = msg.twist
    receiver.drive(topic, time_ns(msg.header.stamp), twist.linear.x, twist.angular.z)


_KINDS: Mapping[str, CommandKind[Twist] | CommandKind[TwistStamped]] = {
    "Twist": CommandKind(Twist, _twist),
    "TwistStamped": CommandKind(TwistStamped, _twist_stamped),
}
AS_PUBLISHED = "as_published"
TYPES = (AS_PUBLISHED, *_KINDS)
# Not from the extension module itself, whose name depends on the version of rclpy.
RCLError = rclpy_implementation.RCLError
_CHECK_PERIOD = 1.0  # [s] of wall time


class VelocityTopic:
    """Subscription to velocities whose message type follows the publishers.

    A topic has one type within a process, and messages of another type are not received. So the
    type follows the publishers, which are checked once a second: it changes when only the other
    type has publishers.

    Args:
        subscriber: Creates the subscription.
        topic: Name of the topic.
        message_type: One of ``TYPES``; ``AS_PUBLISHED`` follows the publishers, the others are
            fixed.

    Raises:
        WrongUseError: Its name or its quality of service is invalid.

    Attributes:
        name: Full name of the topic.
    """

    def __init__(
        self, subscriber: CommandSubscriber, topic: str, message_type: str = AS_PUBLISHED
    ) -> None:
        self._subscriber = subscriber
        self._node = subscriber.node
        self._topic = topic
        self._timer = None
        self._subscription: Subscription | None = None
        self._type = "Twist"
        with creating(f"topic '{topic}'"):
            self.name = str(self._node.resolve_topic_name(topic))
            if message_type != AS_PUBLISHED:
                self._subscribe(message_type)
                return
        self._follow_publishers()
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._timer = self._node.create_timer(_CHECK_PERIOD, self._follow_publishers, clock=steady)

    def close(self) -> None:
        """End the subscription."""
        if self._timer is not None:
            self._node.destroy_timer(self._timer)
        self._unsubscribe()

    def _subscribe(self, message_type: str) -> None:
        self._type = message_type
        self._subscription = _KINDS[message_type].subscribe(self._subscriber, self._topic)

    def _unsubscribe(self) -> None:
        if self._subscription is not None:
            self._subscriber.unsubscribe(self._subscription)
            self._subscription = None

    def _follow_publishers(self) -> None:
        publishers = self._node.get_publishers_info_by_topic(self.name)
        types = {info.topic_type.split("/")[-1] for info in publishers} & _KINDS.keys()
        wanted = self._type if self._type in types or not types else types.pop()
        if self._subscription is not None and wanted == self._type:
            return
        self._unsubscribe()
        # An RCLError is raised while this process still has the topic with the other type; what
        # ``qos_overrides`` sets was checked before.
        with creating(f"topic '{self._topic}'"), suppress(RCLError):
            self._subscribe(wanted)


class UnusedVelocities:
    """Warns once if a node publishes velocities to a body that cannot drive, and no node uses them.

    Args:
        node: Its logger reports them.
        topic: Name of the topic.
        reason: Why they are not used.

    Raises:
        WrongUseError: The name is invalid.
    """

    def __init__(self, node: Node, topic: str, reason: str) -> None:
        self._node = node
        self._reason = reason
        with creating(f"topic '{topic}'"):
            self._name = str(node.resolve_topic_name(topic))
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._timer: Timer | None = node.create_timer(_CHECK_PERIOD, self._check, clock=steady)

    def close(self) -> None:
        """End the checks."""
        if self._timer is not None:
            self._node.destroy_timer(self._timer)
            self._timer = None

    def _check(self) -> None:
        node, name = self._node, self._name
        if node.count_publishers(name) and not node.count_subscribers(name):
            node.get_logger().warning(f"velocities on {name} are not used: {self._reason}")
            self.close()
