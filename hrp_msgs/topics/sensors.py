"""From what a sensor reads to its topics: one output per sensor, whatever simulates it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from geometry_msgs.msg import WrenchStamped
from nav_msgs.msg import Odometry
from rclpy.node import Node
from rclpy.qos import QoSProfile
from sensor_msgs.msg import CameraInfo, Image, Imu, JointState, LaserScan, PointCloud2

from ..convert.image import AnyPixels, ImageBuffer, camera_info
from ..convert.imu import imu
from ..convert.joint_state import JointStateBuffer
from ..convert.laser_scan import laser_scan
from ..convert.odometry import odometry
from ..convert.point_cloud import PointCloudBuffer
from ..convert.tf import tf_message, transform
from ..convert.wrench import wrench
from ..node import qos
from .topic import Topic


@dataclass(frozen=True)
class Route:
    """How the readings of one kind of sensor become messages.

    Attributes:
        message: Class of the message.
        convert: Fills a message with a reading in the frame of this name, and returns it.
        buffer: Makes what ``convert`` fills for one sensor; None means the message itself.
    """

    message: Any
    convert: Callable[[Any, str, Any], Any]
    buffer: Callable[[], Any] | None = None


def _scan_settings(r: Any) -> dict[str, float]:
    keys = ("angle_min", "angle_increment", "time_increment", "scan_time", "range_min", "range_max")
    return {key: getattr(r, key) for key in keys}


# Readings have these attributes. Odometry and cameras say more than one message.
JOINTS = Route(
    JointState,
    lambda r, _frame, buffer: buffer.joint_state(
        r.time_ns, r.names, r.position, r.velocity, r.effort
    ),
    buffer=JointStateBuffer,
)
IMU = Route(
    Imu,
    lambda r, frame, m: imu(
        r.time_ns,
        frame,
        r.angular_velocity,
        r.linear_acceleration,
        r.orientation,
        angular_velocity_stdev=r.angular_velocity_stdev,
        linear_acceleration_stdev=r.linear_acceleration_stdev,
        orientation_stdev=r.orientation_stdev,
        into=m,
    ),
)
WRENCH = Route(
    WrenchStamped,
    lambda r, frame, m: wrench(r.time_ns, frame, r.force, r.torque, m),
)
SCAN = Route(
    LaserScan,
    lambda r, frame, m: laser_scan(r.time_ns, frame, r.ranges, **_scan_settings(r), into=m),
)
POINTS = Route(
    PointCloud2,
    lambda r, frame, buffer: buffer.cloud(r.time_ns, frame, r.points),
    buffer=PointCloudBuffer,
)


class SensorOutput:
    """The topic of one sensor, and the message that is filled anew for each reading."""

    def __init__(
        self, node: Node, route: Route, topic: str, frame: str, profile: QoSProfile
    ) -> None:
        self.topics = [Topic(node, route.message, topic, profile)]
        self._route = route
        self._frame = frame
        self._message = (route.buffer or route.message)()

    def is_wanted(self) -> bool:
        """Tell whether the sensor should be read."""
        return self.topics[0].has_listener()

    def publish(self, reading: Any) -> None:
        """Publish a reading, if anybody listens."""
        if self.topics[0].has_listener():
            self.topics[0].publish(self._route.convert(reading, self._frame, self._message))


class OdometryOutput:
    """The true motion of a root, as odometry and, unless that is published elsewhere, as TF.

    Args:
        node: Publishes.
        topic: Of the odometry.
        world, root: Names of the frames.
        tf: Returns where the transform is published, or None, at any moment.
        profile: Of the odometry.
    """

    def __init__(
        self,
        node: Node,
        topic: str,
        world: str,
        root: str,
        tf: Callable[[], Topic | None],
        profile: QoSProfile,
    ) -> None:
        self.topics = [Topic(node, Odometry, topic, profile)]
        self._frames = world, root
        self._tf = tf
        self._message = Odometry()

    def is_wanted(self) -> bool:
        """Tell whether the root should be looked at."""
        if self.topics[0].has_listener():
            return True
        tf = self._tf()
        return tf is not None and tf.has_listener()

    def publish(self, r: Any) -> None:
        """Publish where the root is, if anybody listens."""
        pose, twist = (r.position, r.orientation), (r.linear_velocity, r.angular_velocity)
        if self.topics[0].has_listener():
            msg = odometry(r.time_ns, *self._frames, *pose, *twist, self._message)
            self.topics[0].publish(msg)
        tf = self._tf()
        if tf is not None and tf.has_listener():
            tf.publish(tf_message([transform(r.time_ns, *self._frames, *pose)]))


class _ImageTopics:
    """An image and the camera_info beside it."""

    def __init__(self, node: Node, image: str, info: str) -> None:
        self.image = Topic(node, Image, image, qos.IMAGE)
        # As many as of the images: one without the other is of no use.
        self.info = Topic(node, CameraInfo, info, qos.IMAGE)
        self._buffer = ImageBuffer()

    def publish(self, time_ns: int, frame: str, pixels: AnyPixels | None, lens: Any) -> None:
        if pixels is not None and self.image.has_listener():
            self.image.publish(self._buffer.image(time_ns, frame, pixels))
        if self.info.has_listener():
            optics = lens.width, lens.height, lens.focal_length
            self.info.publish(camera_info(time_ns, frame, *optics))


class CameraOutput:
    """The topics of one camera. What comes of one exposure has one stamp.

    Args:
        node: Publishes.
        frame: Name of the optical frame: x right, y down, z forward.
        image_topics: Of image and camera_info; empty for a camera that sees depths alone.
        depth_topics: Of depth image, camera_info and points; empty for one that sees none.
    """

    def __init__(
        self, node: Node, frame: str, image_topics: Sequence[str], depth_topics: Sequence[str]
    ) -> None:
        self._frame = frame
        self._images = _ImageTopics(node, *image_topics) if image_topics else None
        self._depths: _ImageTopics | None = None
        self._points: Topic | None = None
        if depth_topics:
            *images, points = depth_topics
            self._depths = _ImageTopics(node, *images)
            self._points = Topic(node, PointCloud2, points, qos.IMAGE)
        both = (self._images, self._depths)
        self.topics = [t for pair in both if pair is not None for t in (pair.image, pair.info)]
        self.topics += [] if self._points is None else [self._points]
        self._clouds = PointCloudBuffer()

    def is_wanted(self) -> bool:
        """Tell whether the camera should take pictures."""
        return any(topic.has_listener() for topic in self.topics)

    def wanted_parts(self) -> tuple[bool, bool]:
        """Tell whether somebody wants to see colours or grey values, and whether depths."""
        points = self._points is not None and self._points.has_listener()
        images, depths = (
            pair is not None and (points or pair.image.has_listener())
            for pair in (self._images, self._depths)
        )
        return images, depths

    def publish(self, r: Any) -> None:
        """Publish those messages of a picture that somebody listens to."""
        pixels = r.mono if r.color is None else r.color
        if self._images is not None:
            self._images.publish(r.time_ns, self._frame, pixels, r.lens)
        if self._depths is not None:
            self._depths.publish(r.time_ns, self._frame, r.depth, r.lens)
        if self._points is None or r.depth is None or not self._points.has_listener():
            return
        if pixels is None and self._images is not None:
            return  # who listens came when the picture was drawn already; the next has colours
        if pixels is not None and pixels.ndim == 2:
            pixels = np.broadcast_to(pixels[..., np.newaxis], (*pixels.shape, 3))
        self._points.publish(self._clouds.cloud(r.time_ns, self._frame, r.points(), pixels))
