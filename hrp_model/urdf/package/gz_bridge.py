"""The configuration of ros_gz_bridge: topics from Gazebo to ROS."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import NamedTuple

from hrp_msgs import names

from ...body import Body
from ...devices import Camera
from ...frames import BodyFrames
from ..blocks import gazebo_sensors
from ..blocks.sensors import Sensors
from ..options import UrdfOptions


class Bridge(NamedTuple):
    """One topic: its name and type on both sides."""

    ros_topic: str
    gz_topic: str
    ros_type: str
    gz_type: str


_IMAGE = ("sensor_msgs/msg/Image", "gz.msgs.Image")
_INFO = ("sensor_msgs/msg/CameraInfo", "gz.msgs.CameraInfo")
_POINTS = ("sensor_msgs/msg/PointCloud2", "gz.msgs.PointCloudPacked")
_SCAN = ("sensor_msgs/msg/LaserScan", "gz.msgs.LaserScan")
_IMU = ("sensor_msgs/msg/Imu", "gz.msgs.IMU")
_WRENCH = ("geometry_msgs/msg/WrenchStamped", "gz.msgs.Wrench")


def bridges(body: Body, frames: BodyFrames, options: UrdfOptions) -> list[Bridge]:
    """Return a bridge for the clock, and for each topic of the sensors in <gazebo> blocks."""
    result = [Bridge(names.CLOCK, names.CLOCK, "rosgraph_msgs/msg/Clock", "gz.msgs.Clock")]
    if not options.gazebo:
        return result
    sensors = Sensors(body, frames)
    for _, element in (*gazebo_sensors.on_links(sensors), *gazebo_sensors.in_joints(sensors)):
        kind, topic = element.get("type"), element.findtext("topic", "")
        if kind == "imu":
            result.append(Bridge(topic, topic, *_IMU))
        elif kind == "force_torque":
            result.append(Bridge(topic, topic, *_WRENCH))
        elif kind == "gpu_lidar" and element.find("lidar/scan/vertical") is None:
            result.append(Bridge(topic, topic, *_SCAN))
        elif kind == "gpu_lidar":
            result.append(Bridge(names.points_topic(topic), f"{topic}/points", *_POINTS))
    for camera in sensors.cameras:
        if gazebo_sensors.camera(camera, sensors) is not None:
            result += _camera_bridges(camera, sensors)
    return result


def bridge_yaml(body: Body, frames: BodyFrames, options: UrdfOptions) -> str:
    """Return the bridges as a file for ros_gz_bridge's parameter ``config_file``."""
    return "".join(
        f"- ros_topic_name: {json.dumps(bridge.ros_topic)}\n"
        f"  gz_topic_name: {json.dumps(bridge.gz_topic)}\n"
        f"  ros_type_name: {bridge.ros_type}\n"
        f"  gz_type_name: {bridge.gz_type}\n"
        "  direction: GZ_TO_ROS\n"
        for bridge in bridges(body, frames, options)
    )


def _camera_bridges(camera: Camera, sensors: Sensors) -> Iterator[Bridge]:
    """Yield the topics of a camera; those of an rgbd_camera have fixed suffixes in Gazebo."""
    kind, topic, info = gazebo_sensors.camera_topics(camera, sensors)
    name = sensors.name(camera)
    image, _ = names.image_topics(name)
    depth, _, points = names.depth_topics(name)
    yield Bridge(info, info, *_INFO)
    if kind == "camera":
        yield Bridge(image, topic, *_IMAGE)
    elif kind == "depth_camera":
        yield Bridge(depth, topic, *_IMAGE)
        yield Bridge(points, f"{topic}/points", *_POINTS)
    else:
        yield Bridge(image, f"{topic}/image", *_IMAGE)
        yield Bridge(depth, f"{topic}/depth_image", *_IMAGE)
        yield Bridge(points, f"{topic}/points", *_POINTS)
