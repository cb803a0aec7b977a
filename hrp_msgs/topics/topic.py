"""Published topics, in ROS or in a recording, and the outputs of sensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from ..convert.converter import Converter
from ..messages import Message
from ..qos import Qos
from ..readings import Reading


class Topic(Protocol):
    """A topic that counts its messages; its methods may be called from any thread."""

    @property
    def name(self) -> str:
        """Full name with namespace."""

    @property
    def type_name(self) -> str:
        """Message type, such as "sensor_msgs/Imu"."""

    @property
    def count(self) -> int:
        """Number of messages published so far."""

    def publish(self, message: Message | bytes) -> None:
        """Publish a message, or the bytes that ROS 2 sends for it, unless the topic is closed."""

    def has_subscribers(self) -> bool:
        """Return whether a message would be used."""

    def close(self) -> None:
        """Close the topic after the messages so far; later ones are dropped."""


class TopicMaker(Protocol):
    """Creates topics, such as those of a node."""

    def create(self, message_type: type[Message], name: str, qos: Qos) -> Topic:
        """Create a topic.

        Args:
            message_type: Class of its messages.
            name: Its name, in the namespace of the maker unless it begins with a slash.
            qos: Its quality of service.

        Raises:
            ValueError: The name or the quality of service is invalid.
        """

    def flush(self) -> None:
        """Return when all messages so far are published."""

    @property
    def unrecorded(self) -> TopicMaker | None:
        """Creates topics that are not recorded; None without ROS."""


def type_name(message_type: type[Message]) -> str:
    """Return the name of a message type, such as "sensor_msgs/Imu"."""
    return f"{message_type.__module__.split('.')[0]}/{message_type.__name__}"


class Output(Protocol):
    """Publishes the readings of one sensor."""

    @property
    def has_subscribers(self) -> Callable[[], bool]:
        """Returns whether a present reading would be published."""

    def publish(self, reading: Reading, /) -> None:
        """Publish a reading if there are subscribers."""

    def repeat(self, reading: Reading, /) -> None:
        """Publish a reading likewise, whatever the rate limit, without effect on later ones."""


class TopicOutput:
    """Converts the readings of one sensor and publishes them on one topic.

    Args:
        topic: Topic of the messages.
        converter: Converts readings to messages.
        has_subscribers: By default that of the topic.

    Attributes:
        topic: As given.
        has_subscribers: As given.
    """

    def __init__(
        self,
        topic: Topic,
        converter: Converter[Reading],
        has_subscribers: Callable[[], bool] | None = None,
    ) -> None:
        self.topic = topic
        self.has_subscribers = topic.has_subscribers if has_subscribers is None else has_subscribers
        self._convert = converter.convert

    def publish(self, reading: Reading) -> None:
        """Publish a reading if there are subscribers and it has data for this topic."""
        if self.has_subscribers():
            message = self._convert(reading)
            if message is not None:
                self.topic.publish(message)

    def repeat(self, reading: Reading) -> None:
        """Publish a reading; see ``Output``."""
        self.publish(reading)
