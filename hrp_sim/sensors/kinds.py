"""The kinds of sensors: one row each, from the model to topics, and the sensors of a body by kind.

Summaries, pages, environments, topics and the tables of docs/sensors.md are derived from it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from math import inf
from typing import Any, Generic, TypeVar

import numpy as np

from hrp_model import Body, devices
from hrp_model.inertial_units import inertial_units
from hrp_model.kinematics.vehicle import vehicle_drive
from hrp_model.late_dataclass import dataclass
from hrp_model.rigid import Array
from hrp_msgs import names
from hrp_msgs.readings import Reading

from ..engine.articulation.numeric_limits import MAX_COORDINATE, MAX_SPEED
from ..render import Parts, RendererUnavailable
from .base import (
    BodySource,
    Bounds,
    Field,
    Sensor,
    SensorContext,
    Source,
    brightness,
    flag,
    nearest,
    vector,
)
from .body_state import (
    JOINT_STATES,
    ODOMETRY,
    JointSensor,
    OdometrySensor,
    make_joint_sensor,
    make_odometry,
)
from .camera import CameraSensor, RenderRequest, make_camera
from .force import ForceSensor, TorqueSensor, make_force_sensor, make_torque_sensor
from .imu import ImuSensor, make_imu
from .range import (
    LightBeamSensor,
    RangeSensor,
    RangeSensor3D,
    make_light_beam,
    make_range_sensor,
)
from .wheel_odometry import WHEEL_ODOMETRY, WheelOdometrySensor, make_wheel_odometry

D = TypeVar("D", bound=Source)
S = TypeVar("S", bound=Sensor)
_Device = TypeVar("_Device", bound=devices.Device)

# Approximate sizes in a message, in [byte]: of one without arrays, with its header, frame and
# covariances; of a joint three numbers and the length of its name; of a ray one number.
_FIXED_SIZE, _JOINT_SIZE, _RANGE_SIZE = 768, 32, 4
_log = logging.getLogger("hrp_sim")
_NO_PARTS = Parts(color=False, depth=False)
_COLOR, _DEPTH = Parts(color=True, depth=False), Parts(color=False, depth=True)
_BOTH = Parts(color=True, depth=True)


@dataclass(frozen=True, eq=False)
class TopicSpec(Generic[S]):
    """A topic of the sensors of a kind, independent of ROS.

    Attributes:
        name: From ``hrp_msgs.names``; "{}" is replaced by the topic token of the device.
        message: Type of its messages, such as "sensor_msgs/Imu".
        converter: Class in ``hrp_msgs.convert`` that converts the readings, as "module:Class";
            imported only to publish or record.
        device: What has this topic, and
        contents: what its messages contain, in words for the documentation.
        only: Name of the topic if the body has only one such sensor; empty for the same.
        offered: Returns whether a sensor of the kind has this topic.
        size: Returns the approximate size of a message in [byte]; None for images and clouds.
        parts: Parts of an image that must be rendered for this topic.
        compressed: Of images: last level of the topic below with the same images compressed, and
            their converter. They are published, but not recorded.
    """

    name: str
    message: str
    converter: str
    device: str
    contents: str
    only: str = ""
    offered: Callable[[S], bool] = lambda _: True
    size: Callable[[S], int] | None = lambda _: _FIXED_SIZE
    parts: Parts = _NO_PARTS
    compressed: tuple[str, str] | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class SensorKind(Generic[D, S]):
    """A kind of sensor, from the model to topics.

    Attributes:
        name: Used in options and by ``hrp-sim sensors``.
        sensors: The classes of its sensors, which belong to no other kind.
        find: Returns the sources of such sensors in a body.
        make: Creates a sensor from a source, or returns None after reporting why there is none;
            raises ValueError if the source is invalid.
        fields: Of its readings; those that only describe the sensor are left out.
        topics: Of its readings.
        is_device: Whether it is a device of the model, which a service can switch.
        skips_unsubscribed: Whether a stateful sensor is not read without subscribers: it is
            expensive, and restarts by itself after a gap in time.
    """

    name: str
    sensors: tuple[type[S], ...]
    find: Callable[[Body], Iterable[D]]
    make: Callable[[D, SensorContext], S | None]
    fields: tuple[Field[S], ...]
    topics: tuple[TopicSpec[S], ...]
    is_device: bool = True
    skips_unsubscribed: bool = False


AnyKind = SensorKind[Any, Any]
AnyTopic = TopicSpec[Any]


def _devices(device_type: type[_Device]) -> Callable[[Body], Iterator[_Device]]:
    """Return a function that finds the devices of a class in a body."""
    return lambda body: (d for d in body.devices if isinstance(d, device_type))


def _each_joint(largest: float) -> Callable[[JointSensor], Bounds]:
    return lambda s: (-largest, largest, (len(s.joints),))


def _has_colors(camera: CameraSensor) -> bool:
    return camera.image_type.has_color or camera.image_type.has_mono


def _has_depths(camera: CameraSensor) -> bool:
    return camera.image_type.has_depth


def _pixels(*channels: int) -> Callable[[CameraSensor], Bounds]:
    return lambda s: (0, 255, (s.lens.height, s.lens.width, *channels))


def _depths(camera: CameraSensor) -> Bounds:
    lens = camera.lens
    farthest = min(camera.max_distance, lens.far)
    return camera.min_distance, farthest, (lens.height, lens.width)


def _unlimited(_: object) -> Array:
    return np.full(3, inf)


JOINTS = SensorKind(
    name="joints",
    sensors=(JointSensor,),
    find=lambda body: [BodySource(JOINT_STATES)] if body.jointed_links else [],
    make=make_joint_sensor,
    is_device=False,
    fields=(
        Field("position", "rad or m", bounds=_each_joint(MAX_COORDINATE)),
        Field("velocity", "rad/s or m/s", bounds=_each_joint(MAX_SPEED)),
        Field("effort", "N m or N"),
    ),
    topics=(
        TopicSpec(
            names.JOINT_STATES,
            "sensor_msgs/JointState",
            "sensors:JointStateConverter",
            "every robot with joints",
            "positions, velocities, efforts",
            size=lambda s: _FIXED_SIZE + sum(_JOINT_SIZE + len(joint) for joint in s.joints),
        ),
    ),
)
_MOTION: tuple[Field[Any], ...] = (
    vector("position", "m"),
    Field("orientation"),
    vector("linear_velocity", "m/s", "linear_speed"),
    vector("angular_velocity", "rad/s"),
)
_ODOMETRY = SensorKind(
    name="odometry",
    sensors=(OdometrySensor,),
    find=lambda body: [] if body.is_static else [BodySource(ODOMETRY)],
    make=make_odometry,
    is_device=False,
    fields=_MOTION,
    topics=(
        TopicSpec(
            names.ODOMETRY,
            "nav_msgs/Odometry",
            "tf:OdometryConverter",
            "every movable body",
            "its true motion",
        ),
    ),
)
_WHEEL_ODOMETRY = SensorKind(
    name="wheel_odometry",
    sensors=(WheelOdometrySensor,),
    find=lambda body: [] if isinstance(vehicle_drive(body), str) else [BodySource(WHEEL_ODOMETRY)],
    make=make_wheel_odometry,
    is_device=False,
    fields=_MOTION,
    topics=(
        TopicSpec(
            names.WHEEL_ODOMETRY,
            "nav_msgs/Odometry",
            "tf:OdometryConverter",
            "vehicle, with the option `odometry: wheels` or `none`",
            "its motion as its wheels or tracks measure it",
        ),
    ),
)
_IMU = SensorKind(
    name="imu",
    sensors=(ImuSensor,),
    find=inertial_units,
    make=make_imu,
    fields=(
        vector(
            "angular_velocity",
            "rad/s",
            "turn_rate",
            limit=lambda s: s.max_angular_velocity,
            offered=lambda s: s.max_angular_velocity is not None,
        ),
        vector(
            "linear_acceleration",
            "m/s^2",
            "acceleration",
            limit=lambda s: s.max_acceleration,
            offered=lambda s: s.max_acceleration is not None,
        ),
        Field(
            "orientation",
            offered=lambda s: s.measures_orientation,
            bounds=lambda _: (-1.0, 1.0, (4,)),
        ),
    ),
    topics=(
        TopicSpec(
            names.IMU,
            "sensor_msgs/Imu",
            "sensors:ImuConverter",
            "gyro and accelerometer with the same pose, or either alone",
            "angular velocity, specific force",
            only=names.ONLY_IMU,
        ),
    ),
)
_FORCE = SensorKind(
    name="force",
    sensors=(ForceSensor,),
    find=_devices(devices.ForceSensor),
    make=make_force_sensor,
    fields=(
        vector("force", "N", "force", limit=lambda s: s.max_force),
        vector("torque", "N m", "torque", limit=lambda s: s.max_torque),
    ),
    topics=(
        TopicSpec(
            names.WRENCH,
            "geometry_msgs/WrenchStamped",
            "sensors:WrenchConverter",
            "force sensor",
            "force and torque between two links",
        ),
    ),
)
_RANGE = SensorKind[devices.RangeSensor, RangeSensor | RangeSensor3D](
    name="range",
    sensors=(RangeSensor, RangeSensor3D),
    find=_devices(devices.RangeSensor),
    make=make_range_sensor,
    skips_unsubscribed=True,
    fields=(
        Field(
            "ranges",
            "m",
            "nearest",
            nearest,
            bounds=lambda s: (s.min_distance, s.max_distance, s.shape),
        ),
    ),
    topics=(
        TopicSpec(
            names.SCAN,
            "sensor_msgs/LaserScan",
            "sensors:LaserScanConverter",
            "range sensor",
            "distances in a plane",
            only=names.ONLY_SCAN,
            offered=lambda s: isinstance(s, RangeSensor),
            size=lambda s: _FIXED_SIZE + _RANGE_SIZE * s.ray_count,
        ),
        TopicSpec(
            names.POINTS,
            "sensor_msgs/PointCloud2",
            "sensors:PointCloudConverter",
            "range sensor with pitch",
            "points in space",
            offered=lambda s: isinstance(s, RangeSensor3D),
            size=None,
        ),
    ),
)
_WITH_COLORS, _WITH_DEPTHS = "camera with colours or grey values", "camera with depths"
_CAMERA = SensorKind(
    name="camera",
    sensors=(CameraSensor,),
    find=_devices(devices.Camera),
    make=make_camera,
    fields=(
        Field(
            "color",
            "",
            "brightness",
            brightness,
            offered=lambda s: s.image_type.has_color,
            bounds=_pixels(3),
            dtype=np.uint8,
        ),
        Field(
            "mono",
            "",
            "brightness",
            brightness,
            offered=lambda s: s.image_type.has_mono,
            bounds=_pixels(1),
            dtype=np.uint8,
        ),
        Field(
            "depth", "m", "nearest", nearest, offered=_has_depths, bounds=_depths, dtype=np.float32
        ),
    ),
    topics=(
        TopicSpec(
            names.IMAGE,
            "sensor_msgs/Image",
            "image:ImageConverter",
            _WITH_COLORS,
            "rgb8 or mono8",
            offered=_has_colors,
            size=None,
            parts=_COLOR,
            compressed=(names.COMPRESSED, "image:CompressedImageConverter"),
        ),
        # With the same queue size as the images: one without the other is of no use.
        TopicSpec(
            names.CAMERA_INFO,
            "sensor_msgs/CameraInfo",
            "image:CameraInfoConverter",
            _WITH_COLORS,
            "projection and distortion",
            offered=_has_colors,
            size=None,
        ),
        TopicSpec(
            names.DEPTH_IMAGE,
            "sensor_msgs/Image",
            "image:DepthImageConverter",
            _WITH_DEPTHS,
            "32FC1 [m]",
            offered=_has_depths,
            size=None,
            parts=_DEPTH,
            compressed=(names.COMPRESSED_DEPTH, "image:CompressedDepthConverter"),
        ),
        TopicSpec(
            names.DEPTH_INFO,
            "sensor_msgs/CameraInfo",
            "image:CameraInfoConverter",
            _WITH_DEPTHS,
            "projection and distortion",
            offered=_has_depths,
            size=None,
        ),
        TopicSpec(
            names.DEPTH_POINTS,
            "sensor_msgs/PointCloud2",
            "sensors:ColorPointsConverter",
            f"{_WITH_DEPTHS} and colours or grey values",
            "points with colours",
            offered=lambda s: _has_depths(s) and _has_colors(s),
            size=None,
            parts=_BOTH,
        ),
        TopicSpec(
            names.DEPTH_POINTS,
            "sensor_msgs/PointCloud2",
            "sensors:DepthPointsConverter",
            f"{_WITH_DEPTHS} alone",
            "points",
            offered=lambda s: _has_depths(s) and not _has_colors(s),
            size=None,
            parts=_DEPTH,
        ),
    ),
)
_TORQUE = SensorKind(
    name="torque",
    sensors=(TorqueSensor,),
    find=_devices(devices.TorqueSensor),
    make=make_torque_sensor,
    fields=(
        vector("force", "N", "force", limit=lambda s: _unlimited(s) if s.slides else None),
        vector("torque", "N m", "torque", limit=lambda s: None if s.slides else _unlimited(s)),
    ),
    topics=(
        TopicSpec(
            names.WRENCH,
            "geometry_msgs/WrenchStamped",
            "sensors:WrenchConverter",
            "torque sensor",
            "the effort of one joint",
        ),
    ),
)
_LIGHT_BEAM = SensorKind(
    name="light_beam",
    sensors=(LightBeamSensor,),
    find=_devices(devices.PhotoInterrupter),
    make=make_light_beam,
    fields=(Field("is_blocked", "", "blocked", flag, bounds=lambda _: (0.0, 1.0, (1,))),),
    topics=(
        TopicSpec(
            names.BEAM,
            "sensor_msgs/Range",
            "sensors:LightBeamConverter",
            "photo interrupter",
            "whether a beam of light is blocked",
        ),
    ),
)
# In the order of the sensors of a body, also in snapshots.
KINDS: tuple[AnyKind, ...] = (
    *(JOINTS, _ODOMETRY, _IMU, _FORCE, _RANGE, _CAMERA),
    *(_TORQUE, _LIGHT_BEAM, _WHEEL_ODOMETRY),
)
# Devices that act on other bodies, by the kind of the instrument.
TOOLS: Mapping[str, type[devices.Device]] = {
    "holder": devices.Holder,
    "conveyor": devices.Conveyor,
}
_KIND_OF: dict[type[Sensor], AnyKind] = {c: kind for kind in KINDS for c in kind.sensors}


def kind_of(sensor: Sensor) -> AnyKind:
    """Return the row of a sensor.

    Raises:
        TypeError: Its class is in no row.
    """
    if type(sensor) not in _KIND_OF:
        raise TypeError(f"{type(sensor).__name__} is in no row of the kinds of sensors")
    return _KIND_OF[type(sensor)]


# Units of the numbers that summarize readings, by their names.
NUMBER_UNITS: Mapping[str, str] = {
    field.number: field.unit for kind in KINDS for field in kind.fields if field.number
}


def numbers_of(sensor: Sensor) -> dict[str, Field[Any]]:
    """Return the fields of a sensor that are summarized by a number, by its name, sorted."""
    fields = (f for f in kind_of(sensor).fields if f.number and f.offered(sensor))
    return dict(sorted((field.number, field) for field in fields))


@cache
def _report(problem: str) -> None:
    """Log once that this machine cannot render, which only the first picture shows."""
    _log.error("camera images are unavailable: %s", problem)


def summary(sensor: Sensor, reading: Reading | None) -> dict[str, float]:
    """Return the numbers that summarize a reading, by the names of ``numbers_of``.

    Args:
        sensor: Source of the reading.
        reading: The last one; a render request is rendered now. None if there is none.

    Returns:
        The numbers that are available; without a renderer an image has no brightness.
    """
    if isinstance(reading, RenderRequest) and isinstance(sensor, CameraSensor):
        try:
            reading = sensor.render(reading)
        except RendererUnavailable as error:
            _report(str(error))
            return {}
        except KeyError:  # its body was removed
            return {}
    if reading is None:
        return {}
    values = {name: field.value(reading) for name, field in numbers_of(sensor).items()}
    return {name: value for name, value in values.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Instrument:
    """A sensor, light, holder or conveyor of a body, according to its model.

    Attributes:
        name: Unique in the body.
        kind: Name of a row of ``KINDS``, "light", "holder" or "conveyor".
        on: Whether it is switched on initially.
    """

    name: str
    kind: str
    on: bool

    @property
    def is_sensor(self) -> bool:
        """Whether it is a sensor."""
        return self.kind not in ("light", *TOOLS)


def instruments(body: Body) -> dict[str, Instrument]:
    """Return the sensors, lights, holders and conveyors of a body; of equal names the first one.

    They depend on the model alone, so that machines without OpenGL can read the same snapshots.
    The order is that of ``make_sensors``, then lights, holders and conveyors.
    """
    found: dict[str, Instrument] = {}
    for instrument in _all(body):
        found.setdefault(instrument.name, instrument)
    return found


def _all(body: Body) -> Iterator[Instrument]:
    for kind in KINDS:
        for source in kind.find(body):
            yield Instrument(source.name, kind.name, source.on)
    for light in _devices(devices.Light)(body):
        yield Instrument(light.name, "light", light.on)
    for kind_name, device_type in TOOLS.items():
        for device in _devices(device_type)(body):
            yield Instrument(device.name, kind_name, device.on)
