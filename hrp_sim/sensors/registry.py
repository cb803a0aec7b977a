"""The sensor registry: one row for each kind, and the sensors of a body by kind."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from hrp_model import Body, devices
from hrp_model.inertial_units import inertial_units
from hrp_model.rigid import Array
from hrp_msgs import names
from hrp_msgs.readings import (
    ImageReading,
    ImuReading,
    JointReading,
    LightBeamReading,
    OdometryReading,
    RangeImageReading,
    ScanReading,
    TorqueReading,
    WrenchReading,
)

from ..render import Parts
from .base import BodySource, Sensor
from .body_state import (
    JOINT_STATES,
    ODOMETRY,
    JointSensor,
    OdometrySensor,
    make_joint_sensor,
    make_odometry,
)
from .camera import CameraSensor, make_camera
from .force import ForceSensor, TorqueSensor, make_force_sensor, make_torque_sensor
from .imu import ImuSensor, make_imu
from .kinds import FIXED_SIZE, Quantity, SensorKind, TopicSpec
from .range import (
    LightBeamSensor,
    RangeSensor,
    RangeSensor3D,
    make_light_beam,
    make_range_sensor,
)

AnyKind = SensorKind[Any, Any, Any]
AnyTopic = TopicSpec[Any, Any]

_D = TypeVar("_D", bound=devices.Device)
# Sizes in a message, in [byte]: of a joint three numbers and the length of its name; of a ray one
# number.
_JOINT_SIZE, _RANGE_SIZE = 32, 4
_WHITE = 255.0
_COLOR, _DEPTH = Parts(color=True, depth=False), Parts(color=False, depth=True)
_BOTH = Parts(color=True, depth=True)


def _devices(device_type: type[_D]) -> Callable[[Body], Iterator[_D]]:
    """Return a function that finds the devices of a class in a body."""
    return lambda body: (d for d in body.devices if isinstance(d, device_type))


def _length(vector: Array | None) -> float | None:
    return None if vector is None else float(np.linalg.norm(vector))


def _nearest(distances: Array | NDArray[np.float32] | None) -> float | None:
    """Return the smallest measured distance, in [m]; inf if there is none."""
    if distances is None:
        return None
    return float(np.min(distances, initial=np.inf, where=np.isfinite(distances)))


def _brightness(image: ImageReading) -> float | None:
    """Return the mean of an image, from 0 (black) to 1 (white)."""
    shown = image.color_or_mono
    return None if shown is None else float(shown.mean()) / _WHITE


def _has_colors(camera: CameraSensor) -> bool:
    return camera.image_type.has_color or camera.image_type.has_mono


def _has_depths(camera: CameraSensor) -> bool:
    return camera.image_type.has_depth


JOINTS = SensorKind(
    name="joints",
    sensors=(JointSensor,),
    find=lambda body: [BodySource(JOINT_STATES)] if body.jointed_links else [],
    make=make_joint_sensor,
    is_device=False,
    topics=(
        TopicSpec(
            names.JOINT_STATES,
            "sensor_msgs/JointState",
            JointReading,
            "hrp_msgs.convert.sensors:JointStateConverter",
            size=lambda s: FIXED_SIZE + sum(_JOINT_SIZE + len(joint) for joint in s.joints),
        ),
    ),
)
_ODOMETRY = SensorKind(
    name="odometry",
    sensors=(OdometrySensor,),
    find=lambda body: [] if body.is_static else [BodySource(ODOMETRY)],
    make=make_odometry,
    is_device=False,
    topics=(
        TopicSpec(
            names.ODOMETRY,
            "nav_msgs/Odometry",
            OdometryReading,
            "hrp_msgs.convert.tf:OdometryConverter",
        ),
    ),
    quantities=(Quantity("linear_speed", "m/s", lambda r: _length(r.linear_velocity)),),
)
_IMU = SensorKind(
    name="imu",
    sensors=(ImuSensor,),
    find=inertial_units,
    make=make_imu,
    topics=(
        TopicSpec(
            names.IMU,
            "sensor_msgs/Imu",
            ImuReading,
            "hrp_msgs.convert.sensors:ImuConverter",
            only=names.ONLY_IMU,
        ),
    ),
    quantities=(
        Quantity("acceleration", "m/s^2", lambda r: _length(r.linear_acceleration)),
        Quantity("turn_rate", "rad/s", lambda r: _length(r.angular_velocity)),
    ),
)
_FORCE = SensorKind(
    name="force",
    sensors=(ForceSensor,),
    find=_devices(devices.ForceSensor),
    make=make_force_sensor,
    topics=(
        TopicSpec(
            names.WRENCH,
            "geometry_msgs/WrenchStamped",
            WrenchReading,
            "hrp_msgs.convert.sensors:WrenchConverter",
        ),
    ),
    quantities=(
        Quantity("force", "N", lambda r: _length(r.force)),
        Quantity("torque", "N m", lambda r: _length(r.torque)),
    ),
)
_RANGE = SensorKind[
    devices.RangeSensor, RangeSensor | RangeSensor3D, ScanReading | RangeImageReading
](
    name="range",
    sensors=(RangeSensor, RangeSensor3D),
    find=_devices(devices.RangeSensor),
    make=make_range_sensor,
    skips_unsubscribed=True,
    topics=(
        TopicSpec(
            names.SCAN,
            "sensor_msgs/LaserScan",
            ScanReading,
            "hrp_msgs.convert.sensors:LaserScanConverter",
            only=names.ONLY_SCAN,
            offered=lambda s: isinstance(s, RangeSensor),
            size=lambda s: FIXED_SIZE + _RANGE_SIZE * s.ray_count,
        ),
        TopicSpec(
            names.POINTS,
            "sensor_msgs/PointCloud2",
            RangeImageReading,
            "hrp_msgs.convert.point_cloud:PointCloudConverter",
            offered=lambda s: isinstance(s, RangeSensor3D),
            size=None,
        ),
    ),
    quantities=(Quantity("nearest", "m", lambda r: _nearest(r.ranges)),),
)
_CAMERA = SensorKind(
    name="camera",
    sensors=(CameraSensor,),
    find=_devices(devices.Camera),
    make=make_camera,
    topics=(
        TopicSpec(
            names.IMAGE,
            "sensor_msgs/Image",
            ImageReading,
            "hrp_msgs.convert.image:ImageConverter",
            offered=_has_colors,
            size=None,
            parts=_COLOR,
            compressed=(
                names.COMPRESSED,
                "hrp_msgs.convert.image:CompressedImageConverter",
            ),
        ),
        # With the same queue size as the images: one without the other is of no use.
        TopicSpec(
            names.CAMERA_INFO,
            "sensor_msgs/CameraInfo",
            ImageReading,
            "hrp_msgs.convert.image:CameraInfoConverter",
            offered=_has_colors,
            size=None,
        ),
        TopicSpec(
            names.DEPTH_IMAGE,
            "sensor_msgs/Image",
            ImageReading,
            "hrp_msgs.convert.image:DepthImageConverter",
            offered=_has_depths,
            size=None,
            parts=_DEPTH,
            compressed=(
                names.COMPRESSED_DEPTH,
                "hrp_msgs.convert.image:CompressedDepthConverter",
            ),
        ),
        TopicSpec(
            names.DEPTH_INFO,
            "sensor_msgs/CameraInfo",
            ImageReading,
            "hrp_msgs.convert.image:CameraInfoConverter",
            offered=_has_depths,
            size=None,
        ),
        TopicSpec(
            names.DEPTH_POINTS,
            "sensor_msgs/PointCloud2",
            ImageReading,
            "hrp_msgs.convert.point_cloud:ColorPointsConverter",
            offered=lambda s: _has_depths(s) and _has_colors(s),
            size=None,
            parts=_BOTH,
        ),
        TopicSpec(
            names.DEPTH_POINTS,
            "sensor_msgs/PointCloud2",
            ImageReading,
            "hrp_msgs.convert.point_cloud:DepthPointsConverter",
            offered=lambda s: _has_depths(s) and not _has_colors(s),
            size=None,
            parts=_DEPTH,
        ),
    ),
    quantities=(
        Quantity("brightness", "", _brightness, offered=_has_colors),
        Quantity("nearest", "m", lambda r: _nearest(r.depth), offered=_has_depths),
    ),
)
_TORQUE = SensorKind(
    name="torque",
    sensors=(TorqueSensor,),
    find=_devices(devices.TorqueSensor),
    make=make_torque_sensor,
    topics=(
        TopicSpec(
            names.WRENCH,
            "geometry_msgs/WrenchStamped",
            TorqueReading,
            "hrp_msgs.convert.sensors:WrenchConverter",
        ),
    ),
    quantities=(
        Quantity("force", "N", lambda r: _length(r.force)),
        Quantity("torque", "N m", lambda r: _length(r.torque)),
    ),
)
_LIGHT_BEAM = SensorKind(
    name="light_beam",
    sensors=(LightBeamSensor,),
    find=_devices(devices.PhotoInterrupter),
    make=make_light_beam,
    topics=(
        TopicSpec(
            names.BEAM,
            "sensor_msgs/Range",
            LightBeamReading,
            "hrp_msgs.convert.sensors:LightBeamConverter",
        ),
    ),
    quantities=(Quantity("blocked", "", lambda r: float(r.is_blocked)),),
)
# In the order of the sensors of a body, also in snapshots.
KINDS: tuple[AnyKind, ...] = (
    *(JOINTS, _ODOMETRY, _IMU, _FORCE, _RANGE, _CAMERA),
    *(_TORQUE, _LIGHT_BEAM),
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
        raise TypeError(f"{type(sensor).__name__} is not in the sensor registry")
    return _KIND_OF[type(sensor)]


@dataclass(frozen=True, slots=True)
class Instrument:
    """A sensor, light, holder or conveyor of a body, according to its model.

    Attributes:
        name: Unique in the body.
        kind: Name of a row of the registry, "light", "holder" or "conveyor".
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
