"""The text files of a description package besides URDF and SRDF."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Collection, Iterable, Sequence
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from ...body import Body
from ...diagnostics import counted
from ...files.writer import yaml_text
from ...frames import BodyFrames, legal_name
from ...rigid import matrix_rpy
from ..convert import LOOPS_FILE, Conversion
from ..options import Hardware, UrdfOptions
from ..srdf.srdf import top_pose
from .controllers import controllers
from .templates import fill_template

_NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
_SUFFIX = "_description"

# Paths in a package.
DISPLAY_LAUNCH = "launch/display.launch.py"
CONTROL_LAUNCH = "launch/ros2_control.launch.py"

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


def package_xml(package: str, robot: str, dependencies: Iterable[str]) -> str:
    """Return package.xml (REP 149) of a package with exec dependencies."""
    root = Element("package", format="3")
    SubElement(root, "name").text = package
    SubElement(root, "version").text = "0.1.0"
    title = legal_name(robot, default="the robot")
    SubElement(root, "description").text = f"URDF, SRDF, meshes and launch files of {title}."
    SubElement(root, "maintainer", email="maintainer@example.org").text = "maintainer"
    root.append(ElementTree.Comment(" The model states no licence; NOASSERTION is SPDX's term. "))
    SubElement(root, "license").text = "NOASSERTION"
    SubElement(root, "buildtool_depend").text = "ament_cmake"
    for name in sorted({*_DISPLAY_DEPENDENCIES, *dependencies}):
        SubElement(root, "exec_depend").text = name
    SubElement(SubElement(root, "export"), "build_type").text = "ament_cmake"
    ElementTree.indent(root)
    return f'<?xml version="1.0"?>\n{ElementTree.tostring(root, encoding="unicode")}\n'


def cmake_lists(package: str, folders: Iterable[str]) -> str:
    """Return CMakeLists.txt, which installs folders."""
    return fill_template("CMakeLists.txt", PACKAGE=package, FOLDERS=" ".join(sorted(folders)))


def display_launch(package: str, urdf: str) -> str:
    """Return the launch file that shows the robot of a file in the folder urdf/."""
    return fill_template("display.launch.py", PACKAGE=package, URDF=json.dumps(urdf))


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


def control_dependencies(conversion: Conversion, options: UrdfOptions) -> set[str]:
    """Return the packages that a robot's controllers depend on."""
    assert options.ros2_control is not None
    used = controllers(conversion.body, conversion.frames, options)
    plugins = {controller.type.partition("/")[0] for controller in used}  # package/Class
    return {"controller_manager", *_HARDWARE_DEPENDENCIES[options.ros2_control], *plugins}


def control_launch(package: str, urdf: str, conversion: Conversion, options: UrdfOptions) -> str:
    """Return the launch file that runs the robot's controllers with its hardware."""
    assert options.ros2_control is not None
    body, frames = conversion.body, conversion.frames
    used = controllers(body, frames, options)
    return fill_template(
        _HARDWARE_LAUNCH[options.ros2_control],
        PACKAGE=package,
        URDF=json.dumps(urdf),
        ACTIVE=_list(controller.name for controller in used if controller.active),
        INACTIVE=_list(controller.name for controller in used if not controller.active),
        ROBOT=json.dumps(legal_name(body.name, default="robot")),
        POSE=_pose(body, frames),
    )


def _pose(body: Body, frames: BodyFrames) -> str:
    """Return the pose of the top frame as a Python mapping, with ros_gz_sim's names."""
    pose = top_pose(body, frames)
    values = (*pose.p.tolist(), *matrix_rpy(pose.R))
    lines = (
        f'    "{name}": {float(value) + 0.0!r},\n'
        for name, value in zip("xyzRPY", values, strict=True)
    )
    return "{\n" + "".join(lines) + "}"


def gazebo_world() -> str:
    """Return a world for Gazebo: a floor, and the systems that the robot's sensors need."""
    return fill_template("robot.sdf")


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
    "worlds": "a floor for Gazebo, with the systems that the sensors need",
}
_LAUNCHES = {
    DISPLAY_LAUNCH: "shows the robot",
    CONTROL_LAUNCH: "runs its controllers",
}


def readme(package: str, body: Body, command: Sequence[str], paths: Collection[str]) -> str:
    """Return README.md: contents, usage, and the command that wrote the package.

    Args:
        package: Name of the package.
        body: The robot.
        command: The options of the command that writes it.
        paths: Paths of the files in the package.
    """
    numbers = {
        "link": len(body.links),
        "moving joint": len(body.moving_links),
        "sensor or other device": len(body.devices),
    }
    counts = [counted(number, kind) for kind, number in numbers.items() if number]
    launches = [path for path in _LAUNCHES if path in paths]
    contents = _FOLDER_CONTENTS | {"launch": ", ".join(map(_launch, launches))}
    folders = sorted({folder for folder, _, rest in (p.partition("/") for p in paths) if rest})
    files = [f"- `{folder}/`: {contents[folder]}" for folder in folders]
    if f"urdf/{LOOPS_FILE}" in paths:
        files.append(f"- `urdf/{LOOPS_FILE}`: the closed loops, which URDF cannot represent")
    commands = [f"ros2 launch {package} {path.rpartition('/')[2]}" for path in launches]
    return fill_template(
        "README.md",
        PACKAGE=package,
        TITLE=legal_name(body.name, default="A robot"),
        COUNTS=", ".join(counts),
        OPTIONS="".join(f" {word}" for word in map(shlex.quote, command)),
        LAUNCH_COMMANDS="\n".join(commands),
        FILES="\n".join(files),
    )


def _launch(path: str) -> str:
    return f"`{path.rpartition('/')[2]}` {_LAUNCHES[path]}"
