"""Topic and frame names, and how a model's names become legal ROS names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

# ROS takes topics of 247 characters; the rest is for the node's namespace and the device.
MAX_NAMESPACE_LENGTH = 100
_NAMESPACE = re.compile(r"/?[A-Za-z_][A-Za-z0-9_]*(/[A-Za-z_][A-Za-z0-9_]*)*")

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
DEVICES = "devices"
# Of a whole world.
CONTACT_MARKERS = "contacts/markers"
# Services, under the name of the node.
RESET = "~/reset"
PAUSE = "~/pause"
# What ros2_control's hardware of topics reads and says; the broadcaster has joint_states then.
HARDWARE_STATES = "robot_joint_states"
HARDWARE_COMMANDS = "robot_joint_command"

# Of devices: "{}" is the topic token of the device. The only IMU and scanner have shorter ones.
IMU, ONLY_IMU = "{}/data_raw", "imu/data_raw"
WRENCH = "{}/wrench"
SCAN, ONLY_SCAN = "{}/scan", "scan"
POINTS = "{}/points"
IMAGE, CAMERA_INFO = "{}/image_raw", "{}/camera_info"
DEPTH_IMAGE, DEPTH_INFO = "{}/depth/image_rect_raw", "{}/depth/camera_info"
DEPTH_POINTS = "{}/depth/points"

STANDARD, CHOREONOID, HRPSYS = "standard", "choreonoid", "hrpsys"
# What other simulators and bridges call topics of the same meaning; units, frames and quality of
# service stay those of this package. Topics that they do not have keep their names.
NAMINGS: Mapping[str, Mapping[str, str]] = {
    STANDARD: {},
    # choreonoid_ros: BodyROS2Item, whose topics lie below the name of the body.
    CHOREONOID: {
        IMU: "{}",
        ONLY_IMU: "{}",
        WRENCH: "{}",
        ONLY_SCAN: "{}/scan",
        POINTS: "{}/point_cloud",
        IMAGE: "{}",
        DEPTH_POINTS: "{}/point_cloud",
    },
    # rtmros_common: hrpsys_ros_bridge, with its bridges of cameras and scanners in a namespace of
    # each device.
    HRPSYS: {
        ODOMETRY: "odom",
        ONLY_IMU: "imu",
        WRENCH: "{}",
        SCAN: "{}/range",
        ONLY_SCAN: "range",
        DEPTH_IMAGE: "{}/depth",
        DEPTH_POINTS: "{}/points",
        JOINT_TRAJECTORY: "fullbody_controller/command",
        FOLLOW_JOINT_TRAJECTORY: "fullbody_controller/follow_joint_trajectory_action",
    },
}
# Where the only robot of a world has a namespace of its own, too.
NAMESPACED = (CHOREONOID,)
# What each body has, or may have, besides what its sensors read.
BODY_TOPICS = (
    ROBOT_DESCRIPTION,
    ROBOT_DESCRIPTION_SEMANTIC,
    DEVICES,
    JOINT_COMMANDS,
    JOINT_TRAJECTORY,
    POSITION_COMMANDS,
    VELOCITY_COMMANDS,
    EFFORT_COMMANDS,
    CMD_VEL,
    EXTERNAL_WRENCH,
    FOLLOW_JOINT_TRAJECTORY,
    HARDWARE_STATES,
    HARDWARE_COMMANDS,
)

_ILLEGAL = re.compile(r"[^A-Za-z0-9_]")


class NameCollisionError(ValueError):
    """Two names of a model become the same ROS name; the message gives both."""


def namespace_error(namespace: str) -> str:
    """Return why ROS has no such namespace, or "" if it does."""
    if len(namespace) > MAX_NAMESPACE_LENGTH:
        return f"a namespace of {len(namespace)} characters has more than {MAX_NAMESPACE_LENGTH}"
    if not namespace or _NAMESPACE.fullmatch(namespace):
        return ""
    return (
        f"'{namespace}' is no namespace: it has letters, digits and '_' between its slashes, and "
        "no digit first"
    )


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


def topic_name(name: str, naming: str, token: str = "") -> str:
    """Return what one of the topics above is called by a naming of ``NAMINGS``.

    Args:
        name: Of the topic; that of a device with its "{}".
        naming: Name of the naming.
        token: Topic token of the device.
    """
    return NAMINGS[naming].get(name, name).format(token)


def imu_topic(token: str, *, only_one: bool) -> str:
    """Return the topic of an IMU."""
    return (ONLY_IMU if only_one else IMU).format(token)


def wrench_topic(token: str) -> str:
    """Return the topic of a force sensor."""
    return WRENCH.format(token)


def scan_topic(token: str, *, only_one: bool) -> str:
    """Return the topic of a planar range sensor."""
    return (ONLY_SCAN if only_one else SCAN).format(token)


def switch_service(token: str) -> str:
    """Return the service that switches a sensor or light."""
    return f"{DEVICES}/{token}/set_enabled"


def points_topic(token: str) -> str:
    """Return the topic of a range sensor with layers."""
    return POINTS.format(token)


def image_topics(token: str) -> tuple[str, str]:
    """Return the topics of a colour camera: (image, camera_info)."""
    return IMAGE.format(token), CAMERA_INFO.format(token)


def depth_topics(token: str) -> tuple[str, str, str]:
    """Return the topics of a depth camera: (image, camera_info, points)."""
    image, info, points = (x.format(token) for x in (DEPTH_IMAGE, DEPTH_INFO, DEPTH_POINTS))
    return image, info, points
