"""Topics of the devices of a body: their names, and the outputs of its sensors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from hrp_model import Body
from hrp_model.late_dataclass import dataclass
from hrp_msgs import names, qos
from hrp_msgs.convert.converter import Converter, Frames, make_converter
from hrp_msgs.messages import Message
from hrp_msgs.readings import Reading
from hrp_msgs.topics.topic import Output, Topic, TopicMaker, TopicOutput

from ..engine.state import WorldState
from ..render import Parts
from ..sensors import Sensor, instruments
from ..sensors.base import read_aside
from ..sensors.kinds import AnyTopic, kind_of
from ..sensors.sensor_schedule import Light, Switchable, Tool
from ..simulation import Simulation
from ..world.naming import MAX_DEVICE_NAME_LENGTH, BodyNaming

_REPETITION_NS = 1_000_000_000  # of an initial pose


@dataclass(frozen=True)
class DeviceTopics:
    """Topics of a device, in the namespace of its body.

    Attributes:
        switch: Service that switches it on and off; empty if it is not a device of the model.
        command: Topic of commands to a holder or conveyor; empty for others.
        of_sensor: Topics of the readings of a sensor, by their rows in the registry.
    """

    switch: str
    command: str = ""
    of_sensor: Mapping[AnyTopic, str] = field(default_factory=dict)

    @property
    def data(self) -> tuple[str, ...]:
        """Names of the topics of a sensor's readings."""
        return tuple(self.of_sensor.values())


def device_topics(simulation: Simulation, body: str, naming: BodyNaming) -> dict[str, DeviceTopics]:
    """Return the topics of the devices of a body, by their names in the simulation.

    Raises:
        NameCollisionError: Two devices, or a device and the body, would have the same topic; or a
            name is too long for a topic.
    """
    sensors = {k: s for k, s in simulation.sensors.items() if s.body == body}
    known: dict[str, Light | Tool] = {**simulation.lights, **simulation.handling.tools}
    others = {k: s for k, s in known.items() if s.body == body}
    model = simulation.bodies[body].body
    devices: list[Switchable] = [*sensors.values(), *others.values()]
    for device in devices:
        if len(device.name) > MAX_DEVICE_NAME_LENGTH:
            raise names.NameCollisionError(
                f"the name of device '{device.name[:MAX_DEVICE_NAME_LENGTH]}...' has "
                f"{len(device.name)} characters; topic names allow {MAX_DEVICE_NAME_LENGTH}"
            )
    tokens = names.topic_tokens(device.name for device in devices)
    found = {}
    for key, sensor in sensors.items():
        kind, token = kind_of(sensor), tokens[sensor.name]
        alike = [s.name for s in sensors.values() if type(s) is type(sensor)]
        is_only = _enabled(alike, model) == [sensor.name]
        topics = {
            spec: naming.topic(spec.only if is_only and spec.only else spec.name, token)
            for spec in kind.topics
            if spec.offered(sensor)
        }
        switch = naming.qualified(names.switch_service(token)) if kind.is_device else ""
        found[key] = DeviceTopics(switch, of_sensor=topics)
    for key, other in others.items():
        token, command = tokens[other.name], ""
        if isinstance(other, Tool):
            topic = {"holder": names.hold_topic, "conveyor": names.speed_topic}[other.kind]
            command = naming.qualified(topic(token))
        found[key] = DeviceTopics(naming.qualified(names.switch_service(token)), command)
    _check_unique(found, naming)
    return found


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
        """Create topics of the sensor, besides those that it has.

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
            self.outputs.append(self.topics[spec])
            if spec.compressed is not None and maker.unrecorded is not None:
                level, converter_name = spec.compressed
                converter = make_converter(converter_name, frames)
                topic = maker.unrecorded.create(converter.message_type, f"{name}/{level}", quality)
                self.compressed[spec] = TopicOutput(topic, converter)
                self.outputs.append(self.compressed[spec])

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


def _check_unique(found: Mapping[str, DeviceTopics], naming: BodyNaming) -> None:
    """Check that no topic name is used twice."""
    taken = {naming.topic(name): f"'{name}' of its body" for name in names.BODY_TOPICS}
    for key, topics in found.items():
        for topic in topics.data:
            if topic in taken:
                message = f"'{key}' and {taken[topic]} would both be topic '{topic}'"
                raise names.NameCollisionError(f"{message}; rename it, or use another 'naming'")
            taken[topic] = f"'{key}'"


def _enabled(alike: list[str], body: Body) -> list[str]:
    """Return those of several sensors of one kind that are on at the start, or all if none is."""
    devices = instruments(body)
    return [name for name in alike if devices[name].on] or alike


class InitialPose:
    """Publishes where a robot is when localization starts to listen, and after a reset.

    At the start twice, as a subscriber may not know the publisher at once; see ``Output``. Each is
    sent a step later than it is read: AMCL looks up the transform of its time at once, and another
    thread of AMCL receives that.

    Args:
        topic: Topic of the messages.
        converter: Converts the true motion.
    """

    def __init__(self, topic: Topic, converter: Converter[Reading]) -> None:
        self._topic, self._converter = topic, converter
        self._waiting: Message | bytes | None = None
        self._left, self._last_ns, self._had_subscribers = 0, 0, False

    def restart(self) -> None:
        """Publish it again, after a reset."""
        self._left, self._waiting = 1, None
        self._last_ns = -_REPETITION_NS

    def has_subscribers(self) -> bool:
        """Return whether a reading is wanted."""
        has_subscribers = self._topic.has_subscribers()
        if has_subscribers and not self._had_subscribers:
            self._left = 2
        self._had_subscribers = has_subscribers
        return has_subscribers and self._left > 0

    def publish(self, reading: Reading) -> None:
        """Prepare the pose, if it is due."""
        if not self.has_subscribers():
            return
        if self._left == 1 and 0 <= reading.time_ns - self._last_ns < _REPETITION_NS:
            return
        self._left, self._last_ns = self._left - 1, reading.time_ns
        self._waiting = self._converter.convert(reading)

    repeat = publish

    def send(self) -> None:
        """Publish the pose of an earlier step; called after each step."""
        message, self._waiting = self._waiting, None
        if message is not None:
            self._topic.publish(message)
