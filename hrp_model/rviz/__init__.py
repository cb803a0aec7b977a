"""Configurations of RViz: displays as data, and the file that shows them."""

from .displays import (
    Display,
    absolute_topic,
    camera_image,
    depth_image,
    frames,
    grid,
    group,
    markers,
    odometry,
    point_cloud,
    robot_model,
    scan,
    tf_prefix,
    wrench,
)
from .document import Extent, document, joined, link_extent, rounded

__all__ = [
    "Display",
    "Extent",
    "absolute_topic",
    "camera_image",
    "depth_image",
    "document",
    "frames",
    "grid",
    "group",
    "joined",
    "link_extent",
    "markers",
    "odometry",
    "point_cloud",
    "robot_model",
    "rounded",
    "scan",
    "tf_prefix",
    "wrench",
]
