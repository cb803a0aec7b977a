"""Where the sensors and lights of a world have their topics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hrp_model import Body
from hrp_msgs import names

from ..sensors import (
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
from ..sensors.sensor_schedule import Light
from ..simulation import Simulation
from ..world.naming import LONGEST_DEVICE, BodyNaming

# In bytes: header, frame, covariances; of a joint three numbers and the length of its name; of a
# ray one number.
_FIXED_SIZE, _JOINT_SIZE, _RANGE_SIZE = 768, 32, 4


@dataclass(frozen=True)
class DeviceTopics:
    """Topics of a sensor or light, in the namespace of its body.

    Attributes:
        switch: Service that switches it; empty for what the model does not have as a device.
        data: Of what a sensor reads; of a camera (image, camera_info), or nothing.
        depth: Of a camera that sees depths: (image, camera_info, points).
    """

    switch: str
    data: tuple[str, ...] = ()
    depth: tuple[str, ...] = ()


def device_topics(simulation: Simulation, body: str, naming: BodyNaming) -> dict[str, DeviceTopics]:
    """Return the topics of one body's sensors and lights, by their names in the simulation.

    Raises:
        NameCollisionError: Two of them would have the same, or one that the body itself has; or a
            name is longer than topics may be.
    """
    sensors = {k: s for k, s in simulation.sensors.items() if s.body == body}
    lights = {k: s for k, s in simulation.lights.items() if s.body == body}
    model = simulation.bodies[body].body
    devices: list[Sensor | Light] = [*sensors.values(), *lights.values()]
    for device in devices:
        if len(device.name) > LONGEST_DEVICE:
            raise names.NameCollisionError(
                f"device '{device.name[:LONGEST_DEVICE]}...' has a name of {len(device.name)} "
                f"characters, of which topics can be made up to {LONGEST_DEVICE}"
            )
    tokens = names.topic_tokens(device.name for device in devices)
    found = {}
    for key, sensor in sensors.items():
        alike = [s.name for s in sensors.values() if type(s) is type(sensor)]
        only_one = _alone(alike, model) == [sensor.name]
        token = tokens[sensor.name]
        data, depth = (
            tuple(naming.topic(topic, token) for topic in topics)
            for topics in _topics(sensor, only_one=only_one)
        )
        is_device = not isinstance(sensor, (JointSensor, OdometrySensor))
        switch = naming.place(names.switch_service(token)) if is_device else ""
        found[key] = DeviceTopics(switch, data, depth)
    for key, light in lights.items():
        switch = names.switch_service(tokens[light.name])
        found[key] = DeviceTopics(naming.place(switch))
    _check(found, naming)
    return found


def message_size(sensor: Sensor) -> int:
    """Return roughly how many bytes a message of a sensor has, of those that are small."""
    match sensor:
        case JointSensor():
            return _FIXED_SIZE + sum(_JOINT_SIZE + len(joint) for joint in sensor.joints)
        case RangeSensor():
            return _FIXED_SIZE + _RANGE_SIZE * sensor.ray_count
    return _FIXED_SIZE


def _check(found: Mapping[str, DeviceTopics], naming: BodyNaming) -> None:
    """Check that no topic has two meanings."""
    taken = {naming.topic(name): f"'{name}' of its body" for name in names.OF_BODY}
    for key, topics in found.items():
        for topic in (*topics.data, *topics.depth):
            if topic in taken:
                message = f"'{key}' and {taken[topic]} would both be topic '{topic}'"
                raise names.NameCollisionError(f"{message}; rename it, or take another naming")
            taken[topic] = f"'{key}'"


def _alone(alike: list[str], body: Body) -> list[str]:
    """Return which of several sensors of one kind count: those on at the start, if any is."""
    known = instruments(body)
    return [name for name in alike if known[name].on] or alike


def _topics(sensor: Sensor, *, only_one: bool) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of the topics of what a sensor reads, then those of depths."""
    match sensor:
        case JointSensor():
            return (names.JOINT_STATES,), ()
        case OdometrySensor():
            return (names.ODOMETRY,), ()
        case ImuSensor():
            return (names.ONLY_IMU if only_one else names.IMU,), ()
        case ForceSensor():
            return (names.WRENCH,), ()
        case RangeSensor():
            return (names.ONLY_SCAN if only_one else names.SCAN,), ()
        case RangeSensor3D():
            return (names.POINTS,), ()
        case CameraSensor(image_type=kind):
            images = (names.IMAGE, names.CAMERA_INFO) if kind.has_color or kind.has_mono else ()
            depths = (names.DEPTH_IMAGE, names.DEPTH_INFO, names.DEPTH_POINTS)
            return images, depths if kind.has_depth else ()
    raise TypeError(f"{type(sensor).__name__} has no topics")
