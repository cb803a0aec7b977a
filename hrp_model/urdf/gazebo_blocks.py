"""The <gazebo> blocks: sensors, contacts, and how Gazebo (gz-sim) fixes the robot to the world.

The inverse of the readers' of SDF. Gazebo's cameras and scanners look along +X of the sensor, with
+Z up, so both have the axes of the scan frame; their messages have the frames of
``BodyFrames.data``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from math import atan, inf, pi, tan
from typing import TypeVar
from xml.etree.ElementTree import Element

import numpy as np

from hrp_msgs import names
from hrp_msgs.names import topic_token

from ..body import Body, JointType, Link
from ..devices import (
    NO_NOISE,
    AxisNoise,
    Camera,
    Device,
    ForceSensor,
    ImageType,
    LensType,
    RangeSensor,
    VectorNoise,
    WrenchFrame,
    pitch_angles,
    yaw_angles,
)
from ..frames import X_S_SCAN, BodyFrames, add_unique, unique_name
from ..geometry import Surface, SurfaceRule
from ..inertial_units import InertialUnit, inertial_units
from ..late_dataclass import dataclass
from ..rigid import Array, Pose
from .options import UrdfOptions
from .shapes import element, pose_text

_D = TypeVar("_D", bound=Device)
_FOREVER = 1e12  # [s], for a random walk that never returns
_AXES = ("x", "y", "z")
# Rate of sensors without one in the model, in [Hz]: as in this project's simulation.
DEFAULT_RATE = 500.0
_GREY = (ImageType.MONO, ImageType.MONO_DEPTH)
_DEPTH_ONLY = (ImageType.DEPTH, ImageType.POINT_CLOUD)


@dataclass(frozen=True, eq=False)
class Sensors:
    """The devices of a body that are switched on, by type."""

    body: Body
    frames: BodyFrames

    @cached_property
    def imus(self) -> tuple[InertialUnit, ...]:
        """IMUs; a gyro and an accelerometer at the same place are one."""
        return tuple(unit for unit in inertial_units(self.body) if unit.on)

    @cached_property
    def force(self) -> tuple[ForceSensor, ...]:
        """Force sensors whose link has a joint above it to measure in."""
        links = {x.name for x in self.body.links[1:] if x.joint.type is not JointType.FREE}
        return tuple(s for s in self._of_type(ForceSensor) if s.link in links)

    @cached_property
    def ranges(self) -> tuple[RangeSensor, ...]:
        """Laser scanners."""
        return self._of_type(RangeSensor)

    @cached_property
    def cameras(self) -> tuple[Camera, ...]:
        """Cameras with images and a lens without distortion."""
        return tuple(
            camera
            for camera in self._of_type(Camera)
            if camera.image_type is not ImageType.NONE and camera.lens_type is LensType.NORMAL
        )

    def name(self, device: Device) -> str:
        """Return the name of a sensor in the blocks, legal as one level of a topic."""
        return self._names[id(device)]

    def data_frame(self, device: Device) -> str:
        """Return the frame of a sensor's data."""
        index = next(i for i, other in enumerate(self.body.devices) if other is device)
        return self.frames.data[index]

    def _of_type(self, kind: type[_D]) -> tuple[_D, ...]:
        return tuple(d for d in self.body.devices if isinstance(d, kind) and d.on)

    @cached_property
    def _names(self) -> dict[int, str]:
        imus = (unit.device for unit in self.imus)
        return _unique_names((*imus, *self.force, *self.ranges, *self.cameras))


def _unique_names(devices: Iterable[Device]) -> dict[int, str]:
    """Return a name for each device, by ``id``; a number is appended to duplicates."""
    names: dict[int, str] = {}
    taken: set[str] = set()
    for device in devices:
        names[id(device)] = add_unique(topic_token(device.name), taken)
    return names


def noise(errors: AxisNoise) -> Iterator[Element]:
    """Yield the <noise> of a camera or scanner, if there is any."""
    if errors != AxisNoise():
        yield element("noise", element("type", text="gaussian"), *_numbers(errors))


def vector_noise(tag: str, errors: VectorNoise) -> Iterator[Element]:
    """Yield an element with the <noise> of each axis, if there is any."""
    if errors == NO_NOISE:
        return
    vector = element(tag)
    for axis, own in zip(_AXES, errors, strict=True):
        if own != AxisNoise():
            kind = "gaussian_quantized" if own.precision > 0.0 else "gaussian"
            vector.append(element(axis, element("noise", *_numbers(own), type=kind)))
    yield vector


def optics(device: Camera) -> Iterator[Element]:
    """Yield the <distortion> and the <lens> of a camera that has them."""
    if any(device.distortion):
        yield element("distortion", *_elements(device.distortion._asdict()))
    inside = []
    if device.intrinsics is not None:
        inside.append(element("intrinsics", *_elements(device.intrinsics._asdict())))
    if device.rectified is not None:
        intrinsics, x, y = device.rectified
        values = {f"p_{tag}": value for tag, value in intrinsics._asdict().items()}
        inside.append(element("projection", *_elements({**values, "tx": x, "ty": y})))
    if inside:
        yield element("lens", *inside)


def _numbers(errors: AxisNoise) -> list[Element]:
    """Return the numbers of a noise that are not zero."""
    values = {
        "mean": errors.mean,
        "stddev": errors.stdev,
        "bias_stddev": errors.mean_stdev,
        "dynamic_bias_stddev": errors.walk,
        "dynamic_bias_correlation_time": min(errors.correlation_time, _FOREVER),
        "precision": errors.precision,
    }
    if errors.walk == 0.0:
        del values["dynamic_bias_correlation_time"]
    return _elements({tag: value for tag, value in values.items() if value != 0.0})


def _elements(values: Mapping[str, float]) -> list[Element]:
    return [element(tag, text=value) for tag, value in values.items()]


def sensors_on_links(sensors: Sensors) -> Iterator[tuple[str, Element]]:
    """Yield the sensors on links, each with the name of its link in the model."""
    for unit in sensors.imus:
        yield unit.device.link, imu(unit, sensors)
    for scanner in sensors.ranges:
        lidar = gpu_lidar(scanner, sensors)
        if lidar is not None:
            yield scanner.link, lidar
    for device in sensors.cameras:
        sensor = camera_element(device, sensors)
        if sensor is not None:
            yield device.link, sensor


def sensors_in_joints(sensors: Sensors) -> Iterator[tuple[str, Element]]:
    """Yield the elements of force sensors, each with the name of the link below its joint."""
    preserved: set[str] = set()
    for force in sensors.force:
        link = sensors.body.link(force.link)
        if link.joint.is_fixed:  # by default Gazebo lumps both links into one
            if link.mass <= 0.0:
                continue
            if link.name not in preserved:
                preserved.add(link.name)
                yield link.name, element("preserveFixedJoint", text=True)
        yield link.name, force_torque(force, sensors)


def imu(unit: InertialUnit, sensors: Sensors) -> Element:
    """Return an IMU. Its orientation is relative to the world (REP 145), not to the start."""
    frame = element("orientation_reference_frame", element("localization", text="ENU"))
    topic = names.imu_topic(sensors.name(unit.device), only_one=len(sensors.imus) == 1)
    rate = unit.sample_rate or DEFAULT_RATE
    sensor = _sensor("imu", unit.device, sensors, topic, rate, unit.device.X_LS)
    inside = element("imu", frame)
    inside.extend(vector_noise("angular_velocity", unit.angular_velocity_noise))
    inside.extend(vector_noise("linear_acceleration", unit.acceleration_noise))
    sensor.append(inside)
    return sensor


def force_torque(device: ForceSensor, sensors: Sensors) -> Element:
    """Return a force sensor in the joint above its link.

    Gazebo measures the torque about the origin of the joint only; ``wrench_frame`` is the frame of
    that wrench.
    """
    topic = names.wrench_topic(sensors.name(device))
    rate = device.sample_rate or DEFAULT_RATE
    sensor = _sensor("force_torque", device, sensors, topic, rate, device.X_LS)
    frame = device.frame
    if frame is WrenchFrame.SENSOR and not _is_at_joint(device):
        frame = WrenchFrame.CHILD
    direction = "parent_to_child" if device.on_link else "child_to_parent"
    inside = element(
        "force_torque",
        element("frame", text=frame.value),
        element("measure_direction", text=direction),
    )
    inside.extend(vector_noise("force", device.force_noise))
    inside.extend(vector_noise("torque", device.torque_noise))
    sensor.append(inside)
    return sensor


def wrench_frame(device: ForceSensor, sensors: Sensors) -> str:
    """Return the frame in which Gazebo reports the wrench of a force sensor.

    The one that the sensor states; of its own only if its origin is the joint's, else that of its
    link.
    """
    if device.frame is not WrenchFrame.SENSOR or _is_at_joint(device):
        return sensors.data_frame(device)
    return sensors.frames.links[device.link]


def gpu_lidar(device: RangeSensor, sensors: Sensors) -> Element | None:
    """Return a laser scanner with the rays of the model; None if it has no valid rays.

    For a scanner with several layers Gazebo publishes points on a topic derived from this one.
    """
    nearest, farthest = device.min_distance, device.max_distance
    if not 0.0 <= nearest < farthest < inf or not _is_rate(device.scan_rate):
        return None
    try:
        yaw = yaw_angles(device.yaw_range, device.yaw_step, device.yaw_min)
        pitch = pitch_angles(device.pitch_range, device.pitch_step, device.pitch_min)
    except ValueError:
        return None
    name, planar = sensors.name(device), [s for s in sensors.ranges if s.is_planar]
    topic = names.scan_topic(name, only_one=len(planar) == 1) if device.is_planar else name
    sensor = _sensor("gpu_lidar", device, sensors, topic, device.scan_rate, _forward_pose(device))
    scan = element("scan", _rays("horizontal", yaw))
    if not device.is_planar:
        scan.append(_rays("vertical", pitch))
    lidar = element(
        "lidar",
        scan,
        element("range", element("min", text=nearest), element("max", text=farthest)),
    )
    errors = AxisNoise(device.error_mean, device.error_mean_deviation, device.error_deviation)
    lidar.extend(noise(errors))
    sensor.append(lidar)
    return sensor


def camera_element(device: Camera, sensors: Sensors) -> Element | None:
    """Return a camera for colours, depths or both; None if its parameters are invalid."""
    if min(device.width, device.height) < 1 or not 0.0 < device.field_of_view < pi:
        return None
    if not 0.0 < device.near_clip < device.far_clip < inf or not _is_rate(device.frame_rate):
        return None
    kind, topic, info = camera_topics(device, sensors)
    sensor = _sensor(kind, device, sensors, topic, device.frame_rate, _forward_pose(device))
    image = element(
        "image", element("width", text=device.width), element("height", text=device.height)
    )
    if device.image_type in _GREY and kind == "camera":
        image.append(element("format", text="L8"))
    lens = element(
        "camera",
        element("camera_info_topic", text=info),
        element("horizontal_fov", text=horizontal_field_of_view(device)),
        image,
        _clip(device.near_clip, device.far_clip),
    )
    lens.extend(optics(device))
    is_depth = device.image_type in _DEPTH_ONLY
    mean = device.error_mean if is_depth else device.color_mean
    stdev = device.error_deviation if is_depth else device.color_stdev
    lens.extend(noise(AxisNoise(mean, stdev=stdev)))
    if kind != "camera":
        nearest = max(device.near_clip, device.min_distance)
        farthest = min(device.far_clip, device.max_distance)
        if nearest < farthest:
            lens.append(element("depth_camera", _clip(nearest, farthest)))
    sensor.append(lens)
    return sensor


def camera_topics(device: Camera, sensors: Sensors) -> tuple[str, str, str]:
    """Return (type of sensor, topic, topic of camera_info).

    For an rgbd_camera the topic is a prefix of image, depth_image and points.
    """
    name = sensors.name(device)
    if device.image_type in _DEPTH_ONLY:
        return "depth_camera", *names.depth_topics(name)[:2]
    image, info = names.image_topics(name)
    return ("rgbd_camera", name, info) if device.image_type.has_depth else ("camera", image, info)


def horizontal_field_of_view(device: Camera) -> float:
    """Return the angle across the width of the image, in [rad].

    The model's angle is across the shorter side. With square pixels both follow from the focal
    length, (shorter / 2) / tan(angle / 2) pixels.
    """
    shorter = min(device.width, device.height)
    return 2.0 * atan(device.width / shorter * tan(device.field_of_view / 2.0))


def _rays(name: str, angles: Array) -> Element:
    return element(
        name,
        element("samples", text=len(angles)),
        element("resolution", text=1),
        element("min_angle", text=float(angles[0])),
        element("max_angle", text=float(angles[-1])),
    )


def _clip(near: float, far: float) -> Element:
    return element("clip", element("near", text=near), element("far", text=far))


def _sensor(
    kind: str, device: Device, sensors: Sensors, topic: str, rate: float, X_LG: Pose
) -> Element:
    """Return a <sensor> with the elements common to all types, at a pose in its link."""
    frame = sensors.data_frame(device)
    if isinstance(device, ForceSensor):
        frame = wrench_frame(device, sensors)
    return element(
        "sensor",
        element("pose", text=pose_text(X_LG)),
        element("always_on", text=True),
        element("update_rate", text=rate),
        element("topic", text=topic),
        element("gz_frame_id", text=frame),
        name=sensors.name(device),
        type=kind,
    )


def _forward_pose(device: Device) -> Pose:
    """Return the pose in the link of a sensor frame whose +X is the viewing direction."""
    return device.X_LS @ X_S_SCAN


def _is_at_joint(device: ForceSensor) -> bool:
    return not np.any(device.X_LS.p)


def _is_rate(rate: float) -> bool:
    return 0.0 < rate < inf


def gazebo_elements(body: Body, frames: BodyFrames, options: UrdfOptions) -> list[Element]:
    """Return the blocks that the options request, at most one for each link and joint.

    Left out is what Gazebo cannot simulate: a scanner with unlimited range, a fisheye
    lens, a force sensor between a link and a massless one that is fixed to it.
    """
    if not options.gazebo:
        return []
    sensors = Sensors(body, frames)
    on_links = (*sensors_on_links(sensors), *_contacts(body))
    in_joints = (*sensors_in_joints(sensors), *_springs(body))
    return [
        *_world_joint(body, frames),
        *_blocks((frames.links[name], child) for name, child in on_links),
        *_blocks((frames.joints[name], child) for name, child in in_joints),
    ]


def _blocks(children: Iterable[tuple[str, Element]]) -> list[Element]:
    """Return one block for each link or joint, in order of their first child."""
    by_name: dict[str, list[Element]] = {}
    for name, child in children:
        by_name.setdefault(name, []).append(child)
    return [element("gazebo", *children, reference=name) for name, children in by_name.items()]


def _world_joint(body: Body, frames: BodyFrames) -> list[Element]:
    """Return the block that fixes a robot with a fixed root to the world."""
    if body.is_static:
        return [element("gazebo", element("static", text=True))]
    if not body.is_root_fixed:
        return []
    root = frames.links[body.root.name]
    if frames.root == "world":  # Gazebo takes a root of this name for the world itself
        return []
    name = unique_name("world_joint", frames.joint_names | frames.names)
    parent, child = element("parent", text="world"), element("child", text=root)
    return [element("gazebo", element("joint", parent, child, name=name, type="fixed"))]


def _contacts(body: Body) -> Iterator[tuple[str, Element]]:
    """Yield the elements of links, with the names of the links in the body.

    Left out is what a link's block cannot express: surfaces by the rules of MuJoCo, with a
    direction or a restitution, or of some shapes only; a share of the weight.
    """
    for link in body.links:
        surface = _surface(link)
        if surface is not None and surface.friction is not None:
            yield link.name, element("mu1", text=surface.friction)
            yield link.name, element("mu2", text=surface.friction_across or 0.0)
        if surface is not None and surface.stiffness is not None:
            yield link.name, element("kp", text=surface.stiffness)
            yield link.name, element("kd", text=surface.damping)
        if link.weight_share == 0.0:
            yield link.name, element("turnGravityOff", text=True)


def _springs(body: Body) -> Iterator[tuple[str, Element]]:
    """Yield the springs of joints, with the names of their links in the body."""
    for link in body.links:
        if link.joint.moves and link.joint.stiffness > 0.0:
            yield link.name, element("springStiffness", text=link.joint.stiffness)
            yield link.name, element("springReference", text=link.joint.rest_position)


def _surface(link: Link) -> Surface | None:
    """Return the surface that all collision shapes of a link have."""
    surfaces = {shape.surface for shape in link.collision}
    [surface] = surfaces if len(surfaces) == 1 else [None]
    if surface is None or surface.rule is not SurfaceRule.GAZEBO:
        return None
    return surface if surface.direction is None and surface.restitution is None else None
