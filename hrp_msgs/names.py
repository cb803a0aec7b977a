"""Topic and frame names, and how a model's names become legal ROS names."""

from __future__ import annotations

import re
from collections.abc import Iterable

ROBOT_DESCRIPTION = "robot_description"
ROBOT_DESCRIPTION_SEMANTIC = "robot_description_semantic"
JOINT_STATES = "joint_states"
# Commands to a body.
JOINT_COMMANDS = "joint_commands"
JOINT_TRAJECTORY = "joint_trajectory"
POSITION_COMMANDS = "position_commands"
VELOCITY_COMMANDS = "velocity_commands"
EFFORT_COMMANDS = "effort_commands"
CMD_VEL = "cmd_vel"
EXTERNAL_WRENCH = "external_wrench"
FOLLOW_JOINT_TRAJECTORY = "follow_joint_trajectory"
TF = "/tf"
TF_STATIC = "/tf_static"
CLOCK = "/clock"
DIAGNOSTICS = "/diagnostics"
ODOMETRY = "ground_truth/odom"
# Services, under the name of the node.
RESET = "~/reset"
PAUSE = "~/pause"
# What ros2_control's hardware of topics reads and says; the broadcaster has joint_states then.
HARDWARE_STATES = "robot_joint_states"
HARDWARE_COMMANDS = "robot_joint_command"

_ILLEGAL = re.compile(r"[^A-Za-z0-9_]")


class NameCollisionError(ValueError):
    """Two names of a model become the same ROS name; the message gives both."""


def topic_token(name: str) -> str:
    """Return one level of a topic name: illegal characters become '_'.

    A digit in front gets an 'n' before it: ROS allows none there, and hides topics that
    begin with '_'.
    """
    token = _ILLEGAL.sub("_", name) or "_"
    return f"n{token}" if token[0].isdigit() else token


def topic_tokens(names: Iterable[str]) -> dict[str, str]:
    """Map each model name to its topic token.

    Raises:
        NameCollisionError: Two different names become the same token.
    """
    tokens: dict[str, str] = {}
    taken: dict[str, str] = {}
    for name in names:
        token = topic_token(name)
        other = taken.setdefault(token, name)
        if other != name:
            message = f"'{other}' and '{name}' would both be topic '{token}'; rename one of them"
            raise NameCollisionError(message)
        tokens[name] = token
    return tokens


def frame(name: str, prefix: str = "") -> str:
    """Return the TF frame of a link or device: its model name behind the frame prefix."""
    return prefix + name


def imu_topic(token: str, *, only_one: bool) -> str:
    """Return the topic of an IMU."""
    return "imu/data_raw" if only_one else f"{token}/data_raw"


def wrench_topic(token: str) -> str:
    """Return the topic of a force sensor."""
    return f"{token}/wrench"


def scan_topic(token: str, *, only_one: bool) -> str:
    """Return the topic of a planar range sensor."""
    return "scan" if only_one else f"{token}/scan"


def set_enabled(token: str) -> str:
    """Return the service and the topic that switch a sensor or light."""
    return f"{token}/set_enabled"


def enabled_topic(token: str) -> str:
    """Return the topic that tells whether a sensor or light is on."""
    return f"{token}/enabled"


def points_topic(token: str) -> str:
    """Return the topic of a range sensor with layers."""
    return f"{token}/points"


def image_topics(token: str) -> tuple[str, str]:
    """Return the topics of a colour camera: (image, camera_info)."""
    return f"{token}/image_raw", f"{token}/camera_info"


def depth_topics(token: str) -> tuple[str, str, str]:
    """Return the topics of a depth camera: (image, camera_info, points)."""
    return f"{token}/depth/image_rect_raw", f"{token}/depth/camera_info", f"{token}/depth/points"
