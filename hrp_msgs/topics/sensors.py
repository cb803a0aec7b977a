"""Outputs of a sensor: topics that publish its readings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from ..convert.converter import Converter
from ..readings import Reading
from .topic import Topic


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
