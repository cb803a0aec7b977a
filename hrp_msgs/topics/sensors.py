"""Outputs of a sensor: topics that publish its readings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from ..convert.converter import Converter
from ..convert.fields import FieldConverter
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

    @property
    def keep(self) -> Callable[[int, Reading], None]:
        """Keeps a reading of a step at a time, in [ns], for ``publish_kept``."""

    def publish_kept(self) -> None:
        """Publish the readings that were kept, at the times of their steps."""


class TopicOutput:
    """Converts the readings of one sensor and publishes them on one topic.

    Args:
        topic: Topic of the messages.
        converter: Converts readings to messages.
        has_subscribers: By default that of the topic.

    Attributes:
        topic: As given.
        has_subscribers: As given.
        keep: Keeps a reading of a step at a time, in [ns], for ``publish_kept``; one whose message
            has no fixed layout is published at once.
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
        self._rows = converter if isinstance(converter, FieldConverter) else None
        self.keep: Callable[[int, Reading], None] = self._keep
        if self._rows is not None and has_subscribers is None:
            self.keep = self._rows.keep  # called often

    def publish(self, reading: Reading) -> None:
        """Publish a reading if there are subscribers and it has data for this topic."""
        if self.has_subscribers():
            message = self._convert(reading)
            if message is not None:
                self.topic.publish(message)

    def repeat(self, reading: Reading) -> None:
        """Publish a reading; see ``Output``."""
        self.publish(reading)

    def publish_kept(self) -> None:
        """Publish the readings that were kept, at the times of their steps."""
        if self._rows is not None:
            for times_ns, messages in self._rows.take():
                self.topic.publish_all(times_ns, messages)

    def _keep(self, time_ns: int, reading: Reading) -> None:
        if self._rows is None:
            self.publish(reading)
        elif self.has_subscribers():
            self._rows.keep(time_ns, reading)
