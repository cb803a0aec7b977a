"""Where the sensors and lights of a world have their topics."""

from __future__ import annotations

from dataclasses import dataclass

from hrp_model import Body
from hrp_msgs import names

from .naming import BodyNaming
from .sensors import (
    CameraSensor,
    ForceSensor,
    ImuSensor,
    JointSensor,
    OdometrySensor,
    RangeSensor,
    RangeSensor3D,
    Sensor,
    instruments,
)
from .simulation import Simulation
from .watch import Light


@dataclass(frozen=True)
class DeviceTopics:
    """Topics of a sensor or light, in the namespace of its body.

    Attributes:
        place: Above the topics that all of them have.
        data: Of what a sensor reads; of a camera (image, camera_info), or nothing.
        depth: Of a camera that sees depths: (image, camera_info, points).
    """

    place: str
    data: tuple[str, ...] = ()
    depth: tuple[str, ...] = ()


def device_topics(simulation: Simulation, body: str, naming: BodyNaming) -> dict[str, DeviceTopics]:
    """Return the topics of one body's sensors and lights, by their names in the simulation.

    Raises:
        NameCollisionError: Two of them would have the same.
    """
    sensors = {k: s for k, s in simulation.sensors.items() if s.body == body}
    lights = {k: s for k, s in simulation.lights.items() if s.body == body}
    model = simulation.bodies[body].body
    devices: list[Sensor | Light] = [*sensors.values(), *lights.values()]
    tokens = names.topic_tokens(device.name for device in devices)
    found = {}
    for key, sensor in sensors.items():
        alike = [s.name for s in sensors.values() if type(s) is type(sensor)]
        only_one = _alone(alike, model) == [sensor.name]
        data, depth = _topics(sensor, tokens[sensor.name], only_one=only_one)
        place, *topics = map(naming.topic, (tokens[sensor.name], *data, *depth))
        found[key] = DeviceTopics(place, tuple(topics[: len(data)]), tuple(topics[len(data) :]))
    found |= {k: DeviceTopics(naming.topic(tokens[s.name])) for k, s in lights.items()}
    return found


def _alone(alike: list[str], body: Body) -> list[str]:
    """Return which of several sensors of one kind count: those on at the start, if any is."""
    known = instruments(body)
    return [name for name in alike if known[name].on] or alike


def _topics(
    sensor: Sensor, token: str, *, only_one: bool
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the topics of what a sensor reads, then those of depths."""
    match sensor:
        case JointSensor():
            return (names.JOINT_STATES,), ()
        case OdometrySensor():
            return (names.ODOMETRY,), ()
        case ImuSensor():
            return (names.imu_topic(token, only_one=only_one),), ()
        case ForceSensor():
            return (names.wrench_topic(token),), ()
        case RangeSensor():
            return (names.scan_topic(token, only_one=only_one),), ()
        case RangeSensor3D():
            return (names.points_topic(token),), ()
        case CameraSensor(image_type=kind):
            images = names.image_topics(token) if kind.has_color or kind.has_mono else ()
            return images, names.depth_topics(token) if kind.has_depth else ()
    raise TypeError(f"{type(sensor).__name__} has no topics")
