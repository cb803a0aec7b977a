"""Topics of a node."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rclpy.node import Node

from ..convert.converter import Message
from ..node.qos import changeable, profile, undeclare_qos_overrides
from ..node.start import WrongUseError, creating
from ..qos import Qos
from .topic import type_name

if TYPE_CHECKING:
    from .recorded import TopicRecording


class NodeTopic:
    """A published topic of a node.

    Its ``qos_overrides`` parameters change history, depth and reliability, as usual in ROS 2.

    Args:
        node: The publishing node.
        message_type: Class of the messages.
        name: Name of the topic.
        qos: Quality of service.
        recording: Records its messages, which are then published as the recorded bytes.

    Raises:
        WrongUseError: Its name or its quality of service is invalid, or it is recorded with
            another type.

    Attributes:
        name, type_name, count: See ``Topic``.
    """

    def __init__(
        self,
        node: Node,
        message_type: type[Message],
        name: str,
        qos: Qos,
        recording: TopicRecording | None = None,
    ) -> None:
        self._node = node
        self._recording = recording
        with creating(f"topic '{name}'"):
            self._publisher = node.create_publisher(message_type, name, **changeable(profile(qos)))
        self.name: str = self._publisher.topic_name
        self.type_name = type_name(message_type)
        self.count = 0
        self._closed = False
        if recording is not None:
            try:
                self._channel = recording.channel(message_type, self.name, qos)
            except ValueError as error:  # as in a previous world, but of another type
                self.close()
                raise WrongUseError(f"{name} cannot be recorded: {error}") from None

    def publish(self, message: Message | bytes) -> None:
        """Publish a message, unless the topic is closed or the ROS context is shut down."""
        if (recording := self._recording) is not None and recording.is_open and not self._closed:
            message = recording.record(self._channel, message)
        try:
            self._publisher.publish(message)
        except RuntimeError:  # base of all errors of rclpy's C++ part
            if not self._is_closed():  # otherwise another thread has just closed it
                raise
        else:
            self.count += 1

    def has_subscribers(self) -> bool:
        """Return whether the topic has subscribers or is recorded."""
        if self._recording is not None and self._recording.is_open:
            return not self._closed
        try:
            return bool(self._publisher.get_subscription_count())
        except RuntimeError:
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


class NodeTopics:
    """Creates the topics of a node.

    Args:
        node: The publishing node.
        recording: Records what is published.
    """

    def __init__(self, node: Node, recording: TopicRecording | None = None) -> None:
        self._node = node
        self._recording = recording

    def create(self, message_type: type[Message], name: str, qos: Qos) -> NodeTopic:
        """Create a topic; see ``TopicMaker``.

        Raises:
            WrongUseError: Its name or its quality of service is invalid.
        """
        return NodeTopic(self._node, message_type, name, qos, self._recording)

    @property
    def unrecorded(self) -> NodeTopics:
        """Creates topics of the same node that are not recorded."""
        return NodeTopics(self._node)
