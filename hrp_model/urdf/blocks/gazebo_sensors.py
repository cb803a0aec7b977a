"""SDF elements of sensors for Gazebo (gz-sim).

Gazebo's cameras and scanners look along +X of the sensor, with +Z up, so both have the axes of
the scan frame; their messages have the frames of ``BodyFrames.data``.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import atan, inf, pi, tan
from xml.etree.ElementTree import Element

import numpy as np

from hrp_msgs import names

from ...devices import (
    AxisNoise,
    Camera,
    Device,
    ForceSensor,
    ImageType,
    RangeSensor,
    WrenchFrame,
    pitch_angles,
    yaw_angles,
)
from ...frames import X_S_SCAN
from ...inertial_units import InertialUnit
from ...rigid import Array, Pose
from ..xml import element, pose_text
from .gazebo_lenses import noise, optics, vector_noise
from .sensors import Sensors

# Rate of sensors without one in the model, in [Hz]: as in this project's simulation.
DEFAULT_RATE = 500.0

_GREY = (ImageType.MONO, ImageType.MONO_DEPTH)
_DEPTH_ONLY = (ImageType.DEPTH, ImageType.POINT_CLOUD)


def on_links(sensors: Sensors) -> Iterator[tuple[str, Element]]:
    """Yield the sensors on links, each with the name of its link in the model."""
    for unit in sensors.imus:
        yield unit.device.link, imu(unit, sensors)
    for scanner in sensors.ranges:
        lidar = gpu_lidar(scanner, sensors)
        if lidar is not None:
            yield scanner.link, lidar
    for device in sensors.cameras:
        sensor = camera(device, sensors)
        if sensor is not None:
            yield device.link, sensor


def in_joints(sensors: Sensors) -> Iterator[tuple[str, Element]]:
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


def camera(device: Camera, sensors: Sensors) -> Element | None:
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
