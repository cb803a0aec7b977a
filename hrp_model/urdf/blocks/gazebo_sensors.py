"""Sensors in the words of SDF, as Gazebo (gz-sim) simulates them.

Gazebo's cameras and scanners look along +X of the sensor, with +Z up. So both stand in the
axes of the scan frame; what they publish is labelled with the frames of ``BodyFrames.data``.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import atan, inf, pi, tan
from xml.etree.ElementTree import Element

import numpy as np

from hrp_msgs import names

from ...devices import Camera, Device, ForceSensor, ImageType, RangeSensor, pitch_angles, yaw_angles
from ...frames import X_S_SCAN
from ...inertial_units import InertialUnit
from ...rigid import Array, Pose
from ..xml import element, pose_text
from .sensors import Sensors

# Rate of the sensors to which a model gives none, in [Hz]: that of the simulation here.
DEFAULT_RATE = 500.0

_GREY = (ImageType.MONO, ImageType.MONO_DEPTH)
_DEPTH_ONLY = (ImageType.DEPTH, ImageType.POINT_CLOUD)


def on_links(sensors: Sensors) -> Iterator[tuple[str, Element]]:
    """Yield the sensors that hang on links, each with the name of its link in the model."""
    for unit in sensors.imus:
        yield unit.device.link, imu(unit, sensors)
    for scanner in sensors.ranges:
        made = gpu_lidar(scanner, sensors)
        if made is not None:
            yield scanner.link, made
    for device in sensors.cameras:
        made = camera(device, sensors)
        if made is not None:
            yield device.link, made


def in_joints(sensors: Sensors) -> Iterator[tuple[str, Element]]:
    """Yield what force sensors need, each with the name of the link below its joint."""
    preserved: set[str] = set()
    for force in sensors.force:
        link = sensors.body.link(force.link)
        if link.joint.is_fixed:  # then Gazebo makes one link of both, unless told not to
            if link.mass <= 0.0:
                continue
            if link.name not in preserved:
                preserved.add(link.name)
                yield link.name, element("preserveFixedJoint", text=True)
        yield link.name, force_torque(force, sensors)


def imu(unit: InertialUnit, sensors: Sensors) -> Element:
    """Return an IMU. Its orientation is that in the world (REP 145), not since the start."""
    frame = element("orientation_reference_frame", element("localization", text="ENU"))
    topic = names.imu_topic(sensors.name(unit.device), only_one=len(sensors.imus) == 1)
    made = _sensor("imu", unit.device, sensors, topic, DEFAULT_RATE, unit.device.X_LS)
    made.append(element("imu", frame))
    return made


def force_torque(device: ForceSensor, sensors: Sensors) -> Element:
    """Return a force sensor in the joint above its link.

    It measures what the link exerts on its parent. Gazebo knows the torque about the origin
    of the joint only: ``wrench_frame`` says in which frame that is the whole truth.
    """
    topic = names.wrench_topic(sensors.name(device))
    made = _sensor("force_torque", device, sensors, topic, DEFAULT_RATE, device.X_LS)
    frame = "sensor" if _is_at_joint(device) else "child"
    made.append(
        element(
            "force_torque",
            element("frame", text=frame),
            element("measure_direction", text="child_to_parent"),
        )
    )
    return made


def wrench_frame(device: ForceSensor, sensors: Sensors) -> str:
    """Return the frame that Gazebo's wrench of a force sensor is expressed in and about.

    That of the sensor where its origin is the joint's, else that of its link.
    """
    if _is_at_joint(device):
        return sensors.data_frame(device)
    return sensors.frames.links[device.link]


def gpu_lidar(device: RangeSensor, sensors: Sensors) -> Element | None:
    """Return a laser scanner with the rays of the model; None if none would be cast.

    Of one with layers Gazebo publishes points on the topic that follows from this one.
    """
    nearest, farthest = device.min_distance, device.max_distance
    if not 0.0 <= nearest < farthest < inf or not _is_rate(device.scan_rate):
        return None
    try:
        yaw = yaw_angles(device.yaw_range, device.yaw_step)
        pitch = pitch_angles(device.pitch_range, device.pitch_step)
    except ValueError:
        return None
    name, planar = sensors.name(device), [s for s in sensors.ranges if s.is_planar]
    topic = names.scan_topic(name, only_one=len(planar) == 1) if device.is_planar else name
    made = _sensor("gpu_lidar", device, sensors, topic, device.scan_rate, _ahead(device))
    scan = element("scan", _rays("horizontal", yaw))
    if not device.is_planar:
        scan.append(_rays("vertical", pitch))
    lidar = element(
        "lidar",
        scan,
        element("range", element("min", text=nearest), element("max", text=farthest)),
    )
    if device.error_deviation > 0.0:
        deviation = element("stddev", text=device.error_deviation)
        lidar.append(element("noise", element("type", text="gaussian"), deviation))
    made.append(lidar)
    return made


def camera(device: Camera, sensors: Sensors) -> Element | None:
    """Return a camera for colours, depths or both; None where no image can be made."""
    if min(device.width, device.height) < 1 or not 0.0 < device.field_of_view < pi:
        return None
    if not 0.0 < device.near_clip < device.far_clip < inf or not _is_rate(device.frame_rate):
        return None
    kind, topic, info = camera_topics(device, sensors)
    made = _sensor(kind, device, sensors, topic, device.frame_rate, _ahead(device))
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
    if kind != "camera":
        nearest = max(device.near_clip, device.min_distance)
        farthest = min(device.far_clip, device.max_distance)
        if nearest < farthest:
            lens.append(element("depth_camera", _clip(nearest, farthest)))
    made.append(lens)
    return made


def camera_topics(device: Camera, sensors: Sensors) -> tuple[str, str, str]:
    """Return (kind of sensor, topic, topic of camera_info).

    Of an rgbd_camera the topic is only the beginning: image, depth_image and points follow.
    """
    name = sensors.name(device)
    if device.image_type in _DEPTH_ONLY:
        return "depth_camera", *names.depth_topics(name)[:2]
    image, info = names.image_topics(name)
    return ("rgbd_camera", name, info) if device.image_type.has_depth else ("camera", image, info)


def horizontal_field_of_view(device: Camera) -> float:
    """Return the angle across the width of the image, in [rad].

    The model's is across the shorter side; pixels are square: both follow from the focal
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
    """Return a sensor without its particulars, at a pose in its link."""
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


def _ahead(device: Device) -> Pose:
    """Return the pose in the link of a sensor that looks along +X where the model's does."""
    return device.X_LS @ X_S_SCAN


def _is_at_joint(device: ForceSensor) -> bool:
    return not np.any(device.X_LS.p)


def _is_rate(rate: float) -> bool:
    return 0.0 < rate < inf
