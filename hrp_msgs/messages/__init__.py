"""Message classes: those of ROS 2 where it is installed, else stand-ins with the same fields.

Conversions import their messages from here (``from hrp_msgs.messages import Imu``), so they run
without ROS, too.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any, Protocol

try:
    import rclpy  # noqa: F401
except ImportError:
    HAS_ROS = False
else:
    HAS_ROS = True

CLASSES = {
    "builtin_interfaces": ("Duration", "Time"),
    "diagnostic_msgs": ("DiagnosticArray", "DiagnosticStatus", "KeyValue"),
    "geometry_msgs": (
        *("Point", "Pose", "PoseWithCovarianceStamped", "Quaternion", "Transform"),
        *("TransformStamped", "Twist", "Vector3", "Wrench", "WrenchStamped"),
    ),
    "nav_msgs": ("Odometry",),
    "ros_gz_interfaces": ("Contact", "Contacts", "Entity", "JointWrench"),
    "rosgraph_msgs": ("Clock",),
    "sensor_msgs": (
        *("CameraInfo", "CompressedImage", "Image", "Imu", "JointState", "LaserScan"),
        *("PointCloud2", "PointField", "Range"),
    ),
    "std_msgs": ("ColorRGBA", "Float64MultiArray", "Header", "String", "UInt32"),
    "tf2_msgs": ("TFMessage",),
    "trajectory_msgs": ("JointTrajectory", "JointTrajectoryPoint"),
    "visualization_msgs": ("Marker", "MarkerArray"),
}
_PACKAGES = {name: package for package, names in CLASSES.items() for name in names}


class Message(Protocol):
    """A ROS message, of a class that rosidl has generated."""

    @classmethod
    def get_fields_and_field_types(cls) -> dict[str, str]:
        """Return the types of its fields by name."""


# Type checkers know no message classes, neither those of ROS.
def __getattr__(name: str) -> Any:  # only the packages that are needed are imported
    package = _PACKAGES.get(name)
    if package is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if HAS_ROS:
        return getattr(import_module(f"{package}.msg"), name)
    from .definitions import message_class

    return message_class(f"{package}/msg/{name}")


def not_installed(package: str) -> str:
    """Return the problem that a package of messages is not installed, with its remedy."""
    remedy = f"python -m hrp_msgs.interfaces.build {package}"
    if "ROS_DISTRO" in os.environ:  # a ROS installation was sourced
        remedy = f"apt install ros-$ROS_DISTRO-{package.replace('_', '-')}"
    return f"{package} is not installed ({remedy})"
