"""Topic and service names of the sensors and other devices of a world."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from hrp_model import Body
from hrp_msgs import names

from ..sensors import instruments
from ..sensors.kinds import AnyTopic, kind_of
from ..sensors.sensor_schedule import Light, Switchable, Tool
from ..simulation import Simulation
from ..world.naming import MAX_DEVICE_NAME_LENGTH, BodyNaming


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
