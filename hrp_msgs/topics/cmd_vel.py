"""Velocities of vehicles: geometry_msgs/Twist and TwistStamped on one topic."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from geometry_msgs.msg import Twist, TwistStamped
from rclpy._rclpy_pybind11 import RCLError
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.qos import QoSProfile

from ..convert.basic import time_ns
from ..node import qos
from ..node.command_executor import HearingThread
from ..node.start import creating

# Takes the full name of the topic, the stamp in [ns], 0 without one, the speed ahead in [m/s] and
# to the left in [rad/s].
Take = Callable[[str, int, float, float], None]

_TYPES = {"Twist": Twist, "TwistStamped": TwistStamped}
AS_PUBLISHED = "as_published"
TYPES = (AS_PUBLISHED, *_TYPES)
_LOOK_PERIOD = 1.0  # [s] of wall time


class VelocityTopic:
    """Subscribes to velocities, of the type that others publish.

    A topic has one type within a process, and publishers of another are not heard. So the
    type follows those who publish: looked at once a second, it changes when nobody publishes
    the present one and somebody the other.

    Args:
        node: Whose subscription it is.
        topic: Its name.
        take: Called with each velocity.
        profile: Quality of service.
        hearing: Hears the subscription.
        message_type: One of ``TYPES``; anything but ``AS_PUBLISHED`` stays as it is.

    Raises:
        WrongUseError: ROS does not take its name or its quality of service.

    Attributes:
        name: Full name of the topic.
    """

    def __init__(
        self,
        node: Node,
        topic: str,
        take: Take,
        profile: QoSProfile,
        hearing: HearingThread,
        message_type: str = AS_PUBLISHED,
    ) -> None:
        self._node = node
        self._topic = topic
        self._take = take
        self._profile = profile
        self._hearing = hearing
        self._timer = None
        self._subscription: Any = None
        with creating(f"topic '{topic}'"):
            self.name = node.resolve_topic_name(topic)
            if message_type != AS_PUBLISHED:
                self._subscribe(message_type)
                return
        self._type = "Twist"
        self._follow()
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._timer = node.create_timer(_LOOK_PERIOD, self._follow, clock=steady)

    def close(self) -> None:
        """End the subscription."""
        if self._timer is not None:
            self._node.destroy_timer(self._timer)
        self._unsubscribe()

    def _subscribe(self, message_type: str) -> None:
        self._type = message_type
        self._subscription = self._node.create_subscription(
            _TYPES[message_type],
            self._topic,
            self._take_stamped if message_type == "TwistStamped" else self._take_plain,
            callback_group=self._hearing.group,
            event_callbacks=qos.events(self._profile),
            **qos.changeable(self._profile),
        )
        self._hearing.add(self._subscription)

    def _unsubscribe(self) -> None:
        if self._subscription is not None:
            self._hearing.remove(self._subscription)
            self._node.destroy_subscription(self._subscription)
            self._subscription = None
            qos.undeclare_qos_overrides(self._node, self.name, "subscription")

    def _take_plain(self, msg: Twist) -> None:
        self._take(self.name, 0, msg.linear.x, msg.angular.z)

    def _take_stamped(self, msg: TwistStamped) -> None:
        twist = msg.twist
        self._take(self.name, time_ns(msg.header.stamp), twist.linear.x, twist.angular.z)

    def _follow(self) -> None:
        publishers: list[Any] = self._node.get_publishers_info_by_topic(self.name)
        types = {info.topic_type.split("/")[-1] for info in publishers} & _TYPES.keys()
        wanted = self._type if self._type in types or not types else types.pop()
        if self._subscription is not None and wanted == self._type:
            return
        self._unsubscribe()
        # An RCLError comes while this process still has the topic with the other type; what
        # ``qos_overrides`` asks for was judged before.
        with creating(f"topic '{self._topic}'"), suppress(RCLError):
            self._subscribe(wanted)
