"""What ros2_control's hardware of topics says and hears, where ros2_control is not installed.

Written down from joint_state_topic_hardware_interface/JointStateTopicSystem.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence

from builtin_interfaces.msg import Time
from rclpy.node import Node
from rclpy.qos import QoSProfile, qos_profile_sensor_data
from sensor_msgs.msg import JointState

_COLUMNS = ("position", "velocity", "effort")


class TopicHardware:
    """Joints that are read and written by topics, as a controller manager does it.

    Args:
        node: Whose topics they are.
        interfaces: Of each joint: by what it is commanded.
        threshold: ``trigger_joint_command_threshold``; -1 always writes.

    Attributes:
        states: Of each column: the last value by joint.
        commands: Likewise, to be changed by whoever plays the controllers.
        stamp: Of the states.
        read_count: States that came so far.
        written: Commands that were sent so far.
    """

    def __init__(
        self,
        node: Node,
        interfaces: Mapping[str, Sequence[str]],
        *,
        threshold: float = -1.0,
        states: str = "robot_joint_states",
        commands: str = "robot_joint_command",
    ) -> None:
        self._interfaces = interfaces
        self._threshold = threshold
        self.states = {column: dict.fromkeys(interfaces, 0.0) for column in _COLUMNS}
        self.commands = {column: dict.fromkeys(interfaces, 0.0) for column in _COLUMNS}
        self.stamp = None
        self.read_count = self.written = 0
        self._lock = threading.Lock()
        self._latest: JointState | None = None
        self.publisher = node.create_publisher(JointState, commands, QoSProfile(depth=1))
        node.create_subscription(JointState, states, self._take, qos_profile_sensor_data)

    def _take(self, message: JointState) -> None:
        with self._lock:
            self._latest = message
            self.read_count += 1

    def read(self) -> None:
        """Take over the last states that came."""
        with self._lock:
            latest = self._latest
        if latest is None:
            return
        self.stamp = latest.header.stamp
        for i, name in enumerate(latest.name):
            if name in self._interfaces:
                for column in _COLUMNS:
                    if values := getattr(latest, column):
                        self.states[column][name] = values[i]

    def write(self, stamp: Time | None = None) -> None:
        """Send the commands: all names, and of each column the joints that have it.

        Args:
            stamp: What the clock of the node shows; that of the states by default.
        """
        told, asked = self.states["position"], self.commands["position"]
        if sum(abs(told[name] - asked[name]) for name in told) <= self._threshold:
            return
        message = JointState(name=list(self._interfaces))
        message.header.stamp = self.stamp if stamp is None else stamp
        for column in _COLUMNS:
            joints = [name for name, own in self._interfaces.items() if column in own]
            setattr(message, column, [self.commands[column][name] for name in joints])
        self.publisher.publish(message)
        self.written += 1
