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
    rounded,
    scan,
    tf_prefix,
    tools,
    wrench,
)
from .document import body_box, document, link_box, view_radius

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
    "link_box",
    "markers",
    "odometry",
    "point_cloud",
    "robot_model",
    "rounded",
    "scan",
    "tf_prefix",
    "tools",
    "view_radius",
    "wrench",
]
