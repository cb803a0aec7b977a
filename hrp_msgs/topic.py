"""A publisher that counts, so that a node can tell how busy its topics are."""

from __future__ import annotations

from typing import Any

from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.qos_overriding_options import QoSOverridingOptions


class Topic:
    """One topic that a node publishes.

    Its ``qos_overrides`` parameters change history, depth and reliability, as everywhere in ROS 2.

    Attributes:
        name: Full name, namespace included.
        type_name: Such as "sensor_msgs/Imu".
        count: Messages published so far.
    """

    def __init__(self, node: Node, message_type: Any, topic: str, qos: QoSProfile) -> None:
        self._publisher = node.create_publisher(
            message_type,
            topic,
            qos,
            qos_overriding_options=QoSOverridingOptions.with_default_policies(),
        )
        self.name: str = self._publisher.topic_name
        self.type_name = f"{message_type.__module__.split('.')[0]}/{message_type.__name__}"
        self.count = 0

    def publish(self, message: Any) -> None:
        """Publish a message."""
        self._publisher.publish(message)
        self.count += 1

    def has_listener(self) -> bool:
        """Tell whether anybody subscribes."""
        return bool(self._publisher.get_subscription_count())
