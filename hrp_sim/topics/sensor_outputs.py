"""Outputs of one sensor: its topics, and publishers of frames."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from hrp_msgs import qos
from hrp_msgs.convert.converter import Frames, make_converter
from hrp_msgs.topics.sensors import Output, TopicOutput
from hrp_msgs.topics.topic import TopicMaker

from ..engine.state import WorldState
from ..render import Parts
from ..sensors import Sensor
from ..sensors.base import read_aside
from ..sensors.kinds import AnyTopic


@dataclass(frozen=True)
class SensorOutputs:
    """Outputs of one sensor.

    Attributes:
        sensor: The sensor.
        is_always_read: Whether it is read without subscribers, too, as sensors with filters, whose
            readings must not depend on subscribers.
        topics: Its own topics, by their rows in the registry.
        compressed: Those of the same images compressed, likewise.
        outputs: All outputs of its readings: its topics, and publishers of TF.
    """

    sensor: Sensor
    is_always_read: bool
    topics: dict[AnyTopic, TopicOutput] = field(default_factory=dict)
    compressed: dict[AnyTopic, TopicOutput] = field(default_factory=dict)
    outputs: list[Output] = field(default_factory=list)

    def open(self, maker: TopicMaker, topics: Mapping[AnyTopic, str], frames: Frames) -> None:
        """Create the topics of the sensor.

        Args:
            maker: Creates the topics.
            topics: Names of the topics, by their rows in the registry.
            frames: Frames of the messages.

        Raises:
            ValueError: A topic name or quality of service is invalid.
        """
        for spec, name in topics.items():
            converter = make_converter(spec.converter, frames)
            size = None if spec.size is None else spec.size(self.sensor)
            quality = qos.IMAGE if size is None else qos.sensor(self.sensor.rate_hz, size)
            topic = maker.create(converter.message_type, name, quality)
            self.topics[spec] = TopicOutput(topic, converter)
            if spec.compressed is not None and maker.unrecorded is not None:
                level, converter_name = spec.compressed
                converter = make_converter(converter_name, frames)
                topic = maker.unrecorded.create(converter.message_type, f"{name}/{level}", quality)
                self.compressed[spec] = TopicOutput(topic, converter)
        self.outputs.extend((*self.topics.values(), *self.compressed.values()))

    def is_wanted(self) -> bool:
        """Return whether the sensor should be read."""
        if self.is_always_read:
            return True
        for output in self.outputs:  # noqa: SIM110 - any() takes twice as long
            if output.has_subscribers():
                return True
        return False

    def repeat(self, world: WorldState, *, frames_only: bool) -> None:
        """Publish a reading of the present state, without effect on later ones.

        Args:
            world: The state.
            frames_only: Whether TF only is published.
        """
        topics = list(self.topics.values())
        used = [output for output in self.outputs if output not in topics]
        if not frames_only:
            used += [topic for topic in topics if topic.has_subscribers()]
        if used and (reading := read_aside(self.sensor, world)) is not None:
            for output in used:
                output.repeat(reading)

    def wanted_parts(self) -> Parts:
        """Return the parts of an image that have subscribers."""
        topics = (*self.topics.items(), *self.compressed.items())
        wanted = [spec.parts for spec, output in topics if output.has_subscribers()]
        return Parts(any(x.color for x in wanted), any(x.depth for x in wanted))
