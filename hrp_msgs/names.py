"""Names of topics, services and frames, and valid ROS names from model names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

# ROS limits topic names to 247 characters; the rest is for the node's namespace and the device.
MAX_NAMESPACE_LENGTH = 100
_NAMESPACE = r"/?[A-Za-z_][A-Za-z0-9_]*(/[A-Za-z_][A-Za-z0-9_]*)*"

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
SET_JOINT_POSITIONS = "set_joint_positions"
FOLLOW_JOINT_TRAJECTORY = "follow_joint_trajectory"
TF = "/tf"
TF_STATIC = "/tf_static"
CLOCK = "/clock"
DIAGNOSTICS = "/diagnostics"
ODOMETRY = "ground_truth/odom"
WHEEL_ODOMETRY = "odom"
DEVICES = "devices"
PLANNING_SCENE = "planning_scene"
# Of a whole world.
CONTACTS = "contacts"
CONTACT_MARKERS = "contacts/markers"
# Services, under the name of the node.
RESET = "~/reset"
PAUSE = "~/pause"
# Topics of ros2_control's topic-based hardware, whose broadcaster publishes joint_states.
HARDWARE_STATES = "robot_joint_states"
HARDWARE_COMMANDS = "robot_joint_command"

# Topics of devices; "{}" is the topic token of the device. A single IMU or scanner has a short one.
IMU, ONLY_IMU = "{}/data_raw", "imu/data_raw"
WRENCH = "{}/wrench"
BEAM = "{}/range"
SCAN, ONLY_SCAN = "{}/scan", "scan"
POINTS = "{}/points"
IMAGE, CAMERA_INFO = "{}/image_raw", "{}/camera_info"
DEPTH_IMAGE, DEPTH_INFO = "{}/depth/image_rect_raw", "{}/depth/camera_info"
DEPTH_POINTS = "{}/depth/points"
# Of the same images, below their topics, as image_transport names them.
COMPRESSED, COMPRESSED_DEPTH = "compressed", "compressedDepth"

STANDARD, CHOREONOID, HRPSYS = "standard", "choreonoid", "hrpsys"
# Topic names of other simulators and bridges; units, frames and quality of service are not
# affected. Other topics keep their names.
NAMINGS: Mapping[str, Mapping[str, str]] = {
    STANDARD: {},
    # choreonoid_ros: BodyROS2Item, whose topics have the name of the body as namespace.
    CHOREONOID: {
        IMU: "{}",
        ONLY_IMU: "{}",
        WRENCH: "{}",
        ONLY_SCAN: "{}/scan",
        POINTS: "{}/point_cloud",
        IMAGE: "{}",
        DEPTH_POINTS: "{}/point_cloud",
    },
    # rtmros_common: hrpsys_ros_bridge; its camera and scanner bridges use a namespace per device.
    HRPSYS: {
        ODOMETRY: "odom",
        WHEEL_ODOMETRY: "wheel_odom",
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
# Namings in which the only robot of a world has a namespace, too.
NAMESPACED = (CHOREONOID,)
# Topics of a body other than those of its sensors.
BODY_TOPICS = (
    ROBOT_DESCRIPTION,
    ROBOT_DESCRIPTION_SEMANTIC,
    DEVICES,
    PLANNING_SCENE,
    JOINT_COMMANDS,
    JOINT_TRAJECTORY,
    POSITION_COMMANDS,
    VELOCITY_COMMANDS,
    EFFORT_COMMANDS,
    CMD_VEL,
    EXTERNAL_WRENCH,
    SET_JOINT_POSITIONS,
    FOLLOW_JOINT_TRAJECTORY,
    HARDWARE_STATES,
    HARDWARE_COMMANDS,
)

_ILLEGAL = re.compile(r"[^A-Za-z0-9_]")


class NameCollisionError(ValueError):
    """Two names of a model would become the same ROS name; the message gives both."""


def namespace_error(namespace: str) -> str:
    """Return why a namespace is invalid, or ""."""
    if len(namespace) > MAX_NAMESPACE_LENGTH:
        return f"the namespace has {len(namespace)} characters, more than {MAX_NAMESPACE_LENGTH}"
    if not namespace or re.fullmatch(_NAMESPACE, namespace):
        return ""
    return (
        f"'{namespace}' is not a valid namespace: use letters, digits and '_', separated by "
        "slashes, without a leading digit"
    )


def topic_token(name: str) -> str:
    """Return a model name as one level of a topic name.

    Invalid characters become '_'. A leading digit, which ROS forbids, gets the prefix 'n', since
    ROS hides topics that begin with '_'.
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
    """Return the TF frame of a link or device: its model name with the frame prefix."""
    return prefix + name


def topic_name(name: str, naming: str, token: str = "") -> str:
    """Return the name of a topic in one of the ``NAMINGS``.

    Args:
        name: Standard name; those of devices contain "{}".
        naming: Key of ``NAMINGS``.
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
    """Return the service that switches a sensor or light on and off."""
    return f"{DEVICES}/{token}/set_enabled"


def hold_topic(token: str) -> str:
    """Return the topic that lets a holder take hold of a body or let go."""
    return f"{DEVICES}/{token}/hold"


def speed_topic(token: str) -> str:
    """Return the topic of the speed of a conveyor."""
    return f"{DEVICES}/{token}/speed"


def points_topic(token: str) -> str:
    """Return the topic of a multi-layer range sensor."""
    return POINTS.format(token)


def image_topics(token: str) -> tuple[str, str]:
    """Return the topics of a colour camera: (image, camera_info)."""
    return IMAGE.format(token), CAMERA_INFO.format(token)


def depth_topics(token: str) -> tuple[str, str, str]:
    """Return the topics of a depth camera: (image, camera_info, points)."""
    image, info, points = (x.format(token) for x in (DEPTH_IMAGE, DEPTH_INFO, DEPTH_POINTS))
    return image, info, points
