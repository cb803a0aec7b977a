"""A publisher that counts its messages."""

from __future__ import annotations

from rclpy._rclpy_pybind11 import RCLError
from rclpy.exceptions import InvalidHandle
from rclpy.node import Node
from rclpy.qos import QoSProfile

from ..convert.converter import Message
from ..node.qos import changeable, undeclare_qos_overrides
from ..node.start import creating


class Topic:
    """A published topic of a node.

    Its ``qos_overrides`` parameters change history, depth and reliability, as usual in ROS 2.

    Raises:
        WrongUseError: Its name or its quality of service is invalid.

    Attributes:
        name: Full name with namespace.
        type_name: Message type, such as "sensor_msgs/Imu".
        count: Number of messages published so far.
    """

    def __init__(
        self, node: Node, message_type: type[Message], topic: str, qos: QoSProfile
    ) -> None:
        self._node = node
        with creating(f"topic '{topic}'"):
            self._publisher = node.create_publisher(message_type, topic, **changeable(qos))
        self.name: str = self._publisher.topic_name
        self.type_name = f"{message_type.__module__.split('.')[0]}/{message_type.__name__}"
        self.count = 0
        self._closed = False

    def publish(self, message: Message) -> None:
        """Publish a message, unless the topic is closed or the ROS context is shut down."""
        try:
            self._publisher.publish(message)
        except (InvalidHandle, RCLError):
            if not self._is_closed():  # otherwise another thread has just closed it
                raise
        else:
            self.count += 1

    def has_subscribers(self) -> bool:
        """Return whether the topic has subscribers."""
        try:
            return bool(self._publisher.get_subscription_count())
        except (InvalidHandle, RCLError):
            if not self._is_closed():
                raise
            return False

    def _is_closed(self) -> bool:
        return self._closed or not self._node.context.ok()

    def close(self) -> None:
        """Close the topic; messages that other threads publish later are dropped."""
        self._closed = True
        self._node.destroy_publisher(self._publisher)
        undeclare_qos_overrides(self._node, self.name, "publisher")
