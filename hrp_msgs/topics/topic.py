"""A publisher that counts, so that a node can report how busy its topics are."""

from __future__ import annotations

from rclpy._rclpy_pybind11 import RCLError
from rclpy.exceptions import InvalidHandle
from rclpy.node import Node
from rclpy.qos import QoSProfile

from ..convert.converter import Message
from ..node.qos import changeable, undeclare_qos_overrides
from ..node.start import creating


class Topic:
    """One topic that a node publishes.

    Its ``qos_overrides`` parameters change history, depth and reliability, as everywhere in ROS 2.

    Raises:
        WrongUseError: ROS does not take its name or its quality of service.

    Attributes:
        name: Full name, namespace included.
        type_name: Such as "sensor_msgs/Imu".
        count: Messages published so far.
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
        """Publish a message; nothing happens once the topic or the ROS context has ended."""
        try:
            self._publisher.publish(message)
        except (InvalidHandle, RCLError):
            if not self._has_ended():  # else another thread has just ended it
                raise
        else:
            self.count += 1

    def has_subscribers(self) -> bool:
        """Return whether anybody subscribes."""
        try:
            return bool(self._publisher.get_subscription_count())
        except (InvalidHandle, RCLError):
            if not self._has_ended():
                raise
            return False

    def _has_ended(self) -> bool:
        return self._closed or not self._node.context.ok()

    def close(self) -> None:
        """End the topic; whatever other threads still publish on it is dropped."""
        self._closed = True
        self._node.destroy_publisher(self._publisher)
        undeclare_qos_overrides(self._node, self.name, "publisher")
