"""Outputs of a sensor: topics that publish its readings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from ..convert.cdr import Times
from ..convert.converter import Converter, Reading
from ..convert.fields import FieldConverter
from .topic import Topic


class Output(Protocol):
    """Publishes the readings of one sensor."""

    @property
    def has_subscribers(self) -> Callable[[], bool]:
        """Returns whether a present reading would be published."""

    def publish(self, reading: Reading, /) -> None:
        """Publish a reading if there are subscribers."""

    def publish_all(self, times_ns: Times, readings: Sequence[Reading], /) -> None:
        """Publish the readings of several steps at their times, in [ns]."""


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
        self._converter = converter
        self._convert = converter.convert

    def publish(self, reading: Reading) -> None:
        """Publish a reading if there are subscribers and it has data for this topic."""
        if self.has_subscribers():
            message = self._convert(reading)
            if message is not None:
                self.topic.publish(message)

    def publish_all(self, times_ns: Times, readings: Sequence[Reading]) -> None:
        """Publish the readings of several steps at their times, in [ns]."""
        if not self.has_subscribers():
            return
        if isinstance(self._converter, FieldConverter):
            self.topic.publish_all(times_ns, self._converter.convert_all(readings))
            return
        found = [(at, data) for at, r in enumerate(readings) if (data := self._convert(r))]
        self.topic.publish_all(times_ns[[at for at, _ in found]], [data for _, data in found])
