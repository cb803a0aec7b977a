"""RViz configuration files: displays, and the document that contains them."""

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
from .document import body_box, document, rounded, view_radius

__all__ = [
    "Display",
    "absolute_topic",
    "body_box",
    "camera_image",
    "depth_image",
    "document",
    "frames",
    "grid",
    "group",
    "markers",
    "odometry",
    "point_cloud",
    "robot_model",
    "rounded",
    "scan",
    "tf_prefix",
    "view_radius",
    "wrench",
]
