"""Subscriptions to commands, and the interface of their receiver."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.subscription import Subscription

from ..convert.converter import Message
from ..convert.trajectory import Trajectory
from ..node import qos
from ..node.command_executor import CommandExecutor
from ..node.throttled_warnings import ThrottledWarnings

M = TypeVar("M", bound=Message)


class CommandReceiver(Protocol):
    """Receives the commands to one body, in the thread of the ``CommandExecutor``.

    ``topic`` is the full name of the topic. Times are simulation times, in [ns]; a stamp of 0 means
    none. An invalid command raises a ValueError with a message for the sender.
    """

    def joints(
        self,
        topic: str,
        stamp_ns: int,
        names: Sequence[str],
        position: Sequence[float],
        velocity: Sequence[float],
        effort: Sequence[float],
    ) -> None:
        """Receive targets of joints, in [rad] or [m], per second, and [N m] or [N]."""

    def set_positions(
        self,
        topic: str,
        stamp_ns: int,
        names: Sequence[str],
        position: Sequence[float],
        velocity: Sequence[float],
        effort: Sequence[float],
    ) -> None:
        """Receive positions to which joints are to be teleported, and their velocities."""

    def trajectory(self, topic: str, trajectory: Trajectory) -> None:
        """Receive a trajectory of joints."""

    def array(self, topic: str, mode: str, values: Sequence[float]) -> None:
        """Receive one "position", "velocity" or "effort" for each joint in the body's order."""

    def drive(self, topic: str, stamp_ns: int, linear_x: float, angular_z: float) -> None:
        """Receive the velocity of a vehicle, forward in [m/s], and its yaw rate in [rad/s]."""

    def wrench(
        self,
        topic: str,
        stamp_ns: int,
        frame: str,
        force: Sequence[float],
        torque: Sequence[float],
    ) -> None:
        """Receive a force in [N] and a torque in [N m] about the origin of a frame, in its axes."""


class CommandSubscriber:
    """Subscribes to commands for one receiver, and logs the commands that it refuses.

    Args:
        node: The node of the subscriptions.
        receiver: Receives the commands.
        executor: Executes the callbacks.
        profile: Quality of service of the subscriptions.
    """

    def __init__(
        self, node: Node, receiver: CommandReceiver, executor: CommandExecutor, profile: QoSProfile
    ) -> None:
        self.node = node
        self._receiver = receiver
        self._executor = executor
        self._profile = profile
        self._warnings = ThrottledWarnings(node)

    def subscribe(
        self, topic: str, message_type: type[M], receive: Callable[[CommandReceiver, str, M], None]
    ) -> Subscription:
        """Subscribe to a topic.

        Args:
            topic: Its name.
            message_type: Class of its messages.
            receive: Passes a message to the receiver, with the full name of the topic.
        """

        def callback(msg: M) -> None:
            try:
                receive(self._receiver, full_name, msg)
            except ValueError as error:
                self._warnings.warn(full_name, str(error))

        full_name = self.node.resolve_topic_name(topic)
        subscription = self.node.create_subscription(
            message_type,
            topic,
            callback,
            callback_group=self._executor.group,
            event_callbacks=qos.events(self._profile),
            **qos.changeable(self._profile),
        )
        self._executor.add(subscription)
        return subscription

    def unsubscribe(self, subscription: Subscription) -> None:
        """End a subscription."""
        topic = str(subscription.topic_name)
        self._executor.remove(subscription)
        self.node.destroy_subscription(subscription)
        qos.undeclare_qos_overrides(self.node, topic, "subscription")


@dataclass(frozen=True)
class CommandKind(Generic[M]):
    """A kind of command: its message type, and the function that passes a message to the receiver.

    Attributes:
        message_type: Class of the messages.
        receive: Called with the receiver, the full name of the topic and a message.
    """

    message_type: type[M]
    receive: Callable[[CommandReceiver, str, M], None]

    def subscribe(self, subscriber: CommandSubscriber, topic: str) -> Subscription:
        """Subscribe to such commands on a topic."""
        return subscriber.subscribe(topic, self.message_type, self.receive)
