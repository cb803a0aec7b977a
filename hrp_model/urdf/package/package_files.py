"""The parts of a description package: text files for a purpose, with what they need."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import NamedTuple, TypeAlias
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from hrp_msgs import names

from ... import rviz
from ...body import Body
from ...collision.decompose import Progress
from ...devices import Camera
from ...diagnostics import Diagnostics, counted
from ...files.writer import yaml_text
from ...frames import BodyFrames, initial_poses, legal_name
from ...kinematics.actuation import controlled_joints
from ...late_dataclass import dataclass
from ...rigid import matrix_rpy
from ..convert import LOOPS_FILE, Conversion
from ..gazebo_blocks import (
    Sensors,
    camera_element,
    camera_topics,
    sensors_in_joints,
    sensors_on_links,
)
from ..moveit.srdf import body_to_srdf, top_pose
from ..options import Hardware, UrdfOptions
from .controllers import controllers, controllers_yaml
from .templates import fill_template

_COMMENT = "The robot and its frames, as display.launch.py shows them."
_NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
_SUFFIX = "_description"
_DISPLAY_DEPENDENCIES = (
    "ament_index_python",
    "joint_state_publisher",
    "joint_state_publisher_gui",
    "launch",
    "launch_ros",
    "robot_state_publisher",
    "rviz2",
)
_HARDWARE_DEPENDENCIES = {
    Hardware.TOPIC: ("joint_state_topic_hardware_interface",),
    Hardware.MOCK: ("hardware_interface",),
    Hardware.GZ: ("gz_ros2_control", "ros_gz_bridge", "ros_gz_sim"),
    Hardware.MUJOCO: ("mujoco_ros2_control",),
}
_HARDWARE_LAUNCH = {
    Hardware.TOPIC: "ros2_control.launch.py",
    Hardware.MOCK: "ros2_control.launch.py",
    Hardware.GZ: "gz.launch.py",
    Hardware.MUJOCO: "mujoco.launch.py",
}


@dataclass(frozen=True, eq=False)
class PackagedRobot:
    """The robot of a package, for which its parts are made.

    Attributes:
        package: Name of the package.
        conversion: The robot as written to the URDF, with its frames.
        options: Options of the URDF, with the paths of the package.
        diagnostics: Receives warnings and errors; with an error nothing is written.
        progress: Called with the number of postures tested and their total number.
    """

    package: str
    conversion: Conversion
    options: UrdfOptions
    diagnostics: Diagnostics
    progress: Progress | None = None

    @property
    def stem(self) -> str:
        """Base name of the files of the robot."""
        return self.package.removesuffix(_SUFFIX)

    @property
    def urdf(self) -> str:
        """Path of the URDF in the package."""
        return f"urdf/{self.stem}.urdf"

    @property
    def srdf(self) -> str:
        """Path of the SRDF in the package."""
        return f"srdf/{self.stem}.srdf"


@dataclass(frozen=True, eq=False)
class Part:
    """The files of a package for one purpose.

    Attributes:
        texts: The text of each file, by its path in the package. A file of a later part replaces
            that of an earlier one.
        launches: What each launch file does, by its path, for the README.
        folders: What is in folders of this part alone, by name, for the README.
        dependencies: Packages whose nodes, plugins or modules the files use.
    """

    texts: Mapping[str, str]
    launches: Mapping[str, str] = field(default_factory=dict)
    folders: Mapping[str, str] = field(default_factory=dict)
    dependencies: Collection[str] = ()


PartMaker: TypeAlias = Callable[[PackagedRobot], Part]


class Addition(NamedTuple):
    """A part that an option of the command line adds to a package.

    Attributes:
        words: The option with its values, such as ``("--moveit",)``.
        launch: Path of its launch file in the package.
        make: Returns the part. A ``ModelError`` or ``ValueError`` states why it cannot be made;
            then nothing is written.
    """

    words: Sequence[str]
    launch: str
    make: PartMaker


def display_part(robot: PackagedRobot) -> Part:
    """Return the files that describe and show the robot."""
    body, frames = robot.conversion.body, robot.conversion.frames
    is_simulation = robot.options.ros2_control in (Hardware.GZ, Hardware.MUJOCO)
    launch = "launch/display.launch.py"
    urdf = json.dumps(robot.urdf.removeprefix("urdf/"))
    files = {
        robot.urdf: f"{robot.conversion.urdf}\n",
        robot.srdf: f"{body_to_srdf(body, frames, robot.diagnostics)}\n",
        launch: fill_template("display.launch.py", PACKAGE=robot.package, URDF=urdf),
        "rviz/display.rviz": rviz_config(body, frames, is_simulation=is_simulation),
    }
    if robot.conversion.loops is not None:
        files[f"urdf/{LOOPS_FILE}"] = robot.conversion.loops
    joint_state_publisher = joint_state_publisher_yaml(body, frames)
    if joint_state_publisher is not None:
        files["config/joint_state_publisher.yaml"] = joint_state_publisher
    return Part(files, {launch: "shows the robot"}, dependencies=_DISPLAY_DEPENDENCIES)


def control_part(robot: PackagedRobot) -> Part:
    """Return the files that run the robot's controllers with its hardware; none without them."""
    body, frames, options = robot.conversion.body, robot.conversion.frames, robot.options
    hardware = options.ros2_control
    if hardware is None or not controlled_joints(body):
        return Part({})
    used = controllers(body, frames, options)
    launch = "launch/ros2_control.launch.py"
    files = {
        launch: fill_template(
            _HARDWARE_LAUNCH[hardware],
            PACKAGE=robot.package,
            URDF=json.dumps(robot.urdf.removeprefix("urdf/")),
            ACTIVE=_list(controller.name for controller in used if controller.active),
            INACTIVE=_list(controller.name for controller in used if not controller.active),
            ROBOT=json.dumps(legal_name(body.name, default="robot")),
            POSE=_pose(body, frames),
        ),
        "config/controllers.yaml": controllers_yaml(body, frames, options),
    }
    if hardware is Hardware.GZ:
        files["config/gz_bridge.yaml"] = bridge_yaml(body, frames, options)
        files["worlds/robot.sdf"] = fill_template("robot.sdf")
    plugins = {controller.type.partition("/")[0] for controller in used}  # package/Class
    return Part(
        files,
        {launch: "runs its controllers"},
        {"worlds": "a floor for Gazebo, with the systems that the sensors need"},
        {"controller_manager", *_HARDWARE_DEPENDENCIES[hardware], *plugins},
    )


def rviz_config(
    body: Body,
    frames: BodyFrames,
    *,
    namespace: str = "",
    frame_prefix: str = "",
    world_frame: str = "",
    is_simulation: bool = False,
) -> str:
    """Return the text of a configuration that shows the robot and its frames.

    Args:
        body: The robot.
        frames: Its frames, with the prefix.
        namespace: Namespace of its description topic.
        frame_prefix: Prefix of its frames in /tf, but not in its description.
        world_frame: Fixed frame, in which the root's pose is published; empty if there is none:
            then the fixed frame is the topmost one of the robot, and the grid lies under the
            lowest point of the initial posture.
        is_simulation: Whether to show simulation time.

    Raises:
        ValueError: The prefix or the namespace is not valid.
    """
    prefix = rviz.tf_prefix(frame_prefix)
    poses = initial_poses(body)
    if not world_frame:
        X_TW = top_pose(body, frames).inverse()
        poses = {name: X_TW @ pose for name, pose in poses.items()}
    topic = rviz.absolute_topic(namespace, names.ROBOT_DESCRIPTION)
    return rviz.document(
        [rviz.robot_model("Robot", topic, prefix)],
        world_frame or frames.root,
        rviz.body_box(body, poses),
        comment=_COMMENT,
        floor_height=0.0 if world_frame else None,
        namespace=namespace,
        is_simulation=is_simulation,
    )


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
    for _, element in (*sensors_on_links(sensors), *sensors_in_joints(sensors)):
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
        if camera_element(camera, sensors) is not None:
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
    kind, topic, info = camera_topics(camera, sensors)
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


def package_name(robot: str) -> str:
    """Return the name of a robot's package after REP 144, such as sample_robot_description."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", robot).lower()
    stem = re.sub(r"[^a-z0-9]+", "_", words).strip("_").removesuffix(_SUFFIX)
    if not stem[:1].isalpha():
        stem = f"robot_{stem}".rstrip("_")
    return stem + _SUFFIX


def check_package_name(name: str) -> None:
    """Check the name of a ROS package.

    Raises:
        ValueError: It is not lower case letters, digits and single underscores.
    """
    if len(name) < 2 or not _NAME.fullmatch(name):
        message = (
            f"'{name}' is not a valid name of a ROS package: use lower case letters, "
            f"digits and single underscores (REP 144), such as {package_name(name)}"
        )
        raise ValueError(message)


def joint_state_publisher_yaml(body: Body, frames: BodyFrames) -> str | None:
    """Return joint_state_publisher's parameters with the initial posture; None without joints.

    Its own default is zero, or the middle of limits that exclude zero.
    """
    zeros: dict[str, float] = {}
    for link in body.moving_links:
        if link.name in frames.joints:
            lower, upper = link.joint.position_limits
            zeros[frames.joints[link.name]] = min(max(float(link.joint.initial), lower), upper)
    return yaml_text({"/**": {"ros__parameters": {"zeros": zeros}}}) if zeros else None


def _pose(body: Body, frames: BodyFrames) -> str:
    """Return the pose of the top frame as a Python mapping, with ros_gz_sim's names."""
    pose = top_pose(body, frames)
    values = (*pose.p.tolist(), *matrix_rpy(pose.R))
    lines = (
        f'    "{name}": {float(value) + 0.0!r},\n'
        for name, value in zip("xyzRPY", values, strict=True)
    )
    return "{\n" + "".join(lines) + "}"


def _list(names: Iterable[str]) -> str:
    """Return a Python list, a line for each text."""
    return "[\n" + "".join(f"    {json.dumps(name)},\n" for name in names) + "]"


_FOLDER_CONTENTS = {
    "urdf": "the robot",
    "meshes": "visual meshes (GLB) and collision meshes (binary STL)",
    "srdf": "groups, postures, end effectors and collision pairs for MoveIt; rotor inertias "
    "for pinocchio",
    "config": "parameters of the nodes that the launch files start",
    "rviz": "RViz configuration",
}


def package_texts(
    robot: PackagedRobot, parts: Sequence[Part], command: Sequence[str], paths: Collection[str]
) -> dict[str, str]:
    """Return the files about the package itself: README.md, CMakeLists.txt and package.xml.

    Args:
        robot: The robot.
        parts: The parts of the package.
        command: The options of the command that writes it.
        paths: Paths of the other files in the package.
    """
    folders = {folder for folder, _, rest in (path.partition("/") for path in paths) if rest}
    dependencies = {name for part in parts for name in part.dependencies}
    files = "".join(
        f"\n\ninstall(FILES {path} DESTINATION share/${{PROJECT_NAME}})"
        for path in sorted(paths)
        if "/" not in path
    )
    cmake = fill_template(
        "CMakeLists.txt", PACKAGE=robot.package, FOLDERS=" ".join(sorted(folders)), FILES=files
    )
    return {
        "README.md": _readme(robot, parts, command, folders),
        "CMakeLists.txt": cmake,
        "package.xml": _package_xml(robot, dependencies),
    }


def _package_xml(robot: PackagedRobot, dependencies: Iterable[str]) -> str:
    """Return package.xml (REP 149) of a package with exec dependencies."""
    root = Element("package", format="3")
    SubElement(root, "name").text = robot.package
    SubElement(root, "version").text = "0.1.0"
    title = legal_name(robot.conversion.body.name, default="the robot")
    SubElement(root, "description").text = f"URDF, SRDF, meshes and launch files of {title}."
    SubElement(root, "maintainer", email="maintainer@example.org").text = "maintainer"
    root.append(ElementTree.Comment(" The model states no licence; NOASSERTION is SPDX's term. "))
    SubElement(root, "license").text = "NOASSERTION"
    SubElement(root, "buildtool_depend").text = "ament_cmake"
    for name in sorted(dependencies):
        SubElement(root, "exec_depend").text = name
    SubElement(SubElement(root, "export"), "build_type").text = "ament_cmake"
    ElementTree.indent(root)
    return f'<?xml version="1.0"?>\n{ElementTree.tostring(root, encoding="unicode")}\n'


def _readme(
    robot: PackagedRobot, parts: Sequence[Part], command: Sequence[str], folders: Collection[str]
) -> str:
    """Return README.md: contents, usage, and the command that wrote the package."""
    body = robot.conversion.body
    numbers = {
        "link": len(body.links),
        "moving joint": len(body.moving_links),
        "sensor or other device": len(body.devices),
    }
    counts = [counted(number, kind) for kind, number in numbers.items() if number]
    launches = {
        path.removeprefix("launch/"): use for part in parts for path, use in part.launches.items()
    }
    contents = {name: use for part in parts for name, use in part.folders.items()}
    contents |= _FOLDER_CONTENTS
    contents["launch"] = ", ".join(f"`{name}` {use}" for name, use in launches.items())
    files = [f"- `{folder}/`: {contents[folder]}" for folder in sorted(folders)]
    if robot.conversion.loops is not None:
        files.append(f"- `urdf/{LOOPS_FILE}`: the closed loops, which URDF cannot represent")
    return fill_template(
        "README.md",
        PACKAGE=robot.package,
        TITLE=legal_name(body.name, default="A robot"),
        COUNTS=", ".join(counts),
        OPTIONS="".join(f" {word}" for word in map(shlex.quote, command)),
        LAUNCH_COMMANDS="\n".join(f"ros2 launch {robot.package} {name}" for name in launches),
        FILES="\n".join(files),
    )
