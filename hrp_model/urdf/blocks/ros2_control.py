"""The <ros2_control> block: hardware, joints and sensors of the controllers."""

from __future__ import annotations

from collections.abc import Iterable
from math import isfinite
from xml.etree.ElementTree import Element

import numpy as np

from hrp_msgs import names

from ...body import Body, Joint
from ...diagnostics import Diagnostics
from ...frames import BodyFrames, legal_name
from ...kinematics.actuation import CommandInterface, ControlledJoint, controlled_joints
from ...kinematics.postures import initial_poses
from ...kinematics.state import STANDARD_GRAVITY
from ...rigid import Array, matrix_quaternion
from ..options import Hardware, UrdfOptions
from ..xml import element, param
from .sensors import Sensors

STATE_INTERFACES = ("position", "velocity", "effort")
IMU_INTERFACES = (
    "orientation.x", "orientation.y", "orientation.z", "orientation.w",
    "angular_velocity.x", "angular_velocity.y", "angular_velocity.z",
    "linear_acceleration.x", "linear_acceleration.y", "linear_acceleration.z",
)  # fmt: skip
WRENCH_INTERFACES = ("force.x", "force.y", "force.z", "torque.x", "torque.y", "torque.z")

_PLUGINS = {
    Hardware.TOPIC: "joint_state_topic_hardware_interface/JointStateTopicSystem",
    Hardware.MOCK: "mock_components/GenericSystem",
    Hardware.GZ: "gz_ros2_control/GazeboSimSystem",
    Hardware.MUJOCO: "mujoco_ros2_control/MujocoSystemInterface",
}
_PARAMS: dict[Hardware, dict[str, str | float | bool]] = {
    Hardware.TOPIC: {
        "joint_commands_topic": names.HARDWARE_COMMANDS,
        "joint_states_topic": names.HARDWARE_STATES,
        "trigger_joint_command_threshold": -1.0,  # always send commands
    },
    Hardware.MOCK: {"calculate_dynamics": True, "mock_sensor_commands": True},
    Hardware.GZ: {},
    Hardware.MUJOCO: {},  # without "mujoco_model" it waits for a model on a topic
}
_GZ_LIBRARY = "libgz_ros2_control-system.so"
_GZ_PLUGIN = "gz_ros2_control::GazeboSimROS2ControlPlugin"


def elements(body: Body, frames: BodyFrames, options: UrdfOptions) -> list[Element]:
    """Return the block that the options request; nothing for a body without moving joints.

    Joints with an id have one command interface; all moving joints have the state interfaces
    position, velocity and effort. For Gazebo the plugin that runs the controller manager is
    added.
    """
    hardware = options.ros2_control
    joints = controlled_joints(body, options.command_interface)
    if hardware is None or not joints:
        return []
    block = element("ros2_control", name=legal_name(body.name, default="robot"), type="system")
    block.append(
        element(
            "hardware",
            element("plugin", text=_PLUGINS[hardware]),
            *(param(*item) for item in _PARAMS[hardware].items()),
        )
    )
    block.extend(_joint(joint, frames, hardware) for joint in joints)
    if has_sensors(hardware):
        block.extend(_sensors(body, frames, hardware))
    return [block, _gz_plugin(options)] if hardware is Hardware.GZ else [block]


def warn_of_missing_joints(body: Body, options: UrdfOptions, diagnostics: Diagnostics) -> None:
    """Warn if the options request a <ros2_control> block without joints to command."""
    if options.ros2_control is None:
        return
    joints = controlled_joints(body, options.command_interface)
    if not joints:
        problem = "the body has no moving joints, so there is no <ros2_control> block"
    elif all(joint.command_interface is None for joint in joints):
        problem = "no moving joint has an id, so the <ros2_control> block has no command interface"
    else:
        return
    diagnostics.warn("nothing-to-control", problem, body.root.at)


def has_sensors(hardware: Hardware | None) -> bool:
    """Return whether the hardware has sensors; topic-based hardware has joint states only."""
    return hardware not in (None, Hardware.TOPIC)


def _joint(joint: ControlledJoint, frames: BodyFrames, hardware: Hardware) -> Element:
    model = joint.link.joint
    result = element("joint", name=frames.joints[joint.link.name])
    command = joint.command_interface
    if command is not None:
        result.append(element("command_interface", *_limits(command, model), name=command.value))
    for name in STATE_INTERFACES:
        state = element("state_interface", name=name)
        # Topic-based states are unknown until a message arrives; controllers must wait for it.
        if name == "position" and hardware is not Hardware.TOPIC:
            state.append(param("initial_value", float(model.initial)))
        result.append(state)
    return result


def _limits(command: CommandInterface, joint: Joint) -> list[Element]:
    """Return the finite limits; of velocity and effort those of the <limit> element."""
    lower, upper = joint.position_limits
    if command is not CommandInterface.POSITION:
        upper = joint.max_velocity if command is CommandInterface.VELOCITY else joint.max_effort
        lower = -upper
    ends = (("min", float(lower)), ("max", float(upper)))
    return [param(name, end) for name, end in ends if isfinite(end)]


def _sensors(body: Body, frames: BodyFrames, hardware: Hardware) -> Iterable[Element]:
    sensors = Sensors(body, frames)
    poses = initial_poses(body)
    for unit in sensors.imus:
        X_WS = poses[unit.device.link] @ unit.device.X_LS
        values = at_rest(X_WS.R) if hardware is Hardware.MOCK else ()
        yield _sensor(sensors.name(unit.device), "imu", hardware, IMU_INTERFACES, values)
    for force in sensors.force:
        values = (0.0,) * len(WRENCH_INTERFACES) if hardware is Hardware.MOCK else ()
        yield _sensor(sensors.name(force), "fts", hardware, WRENCH_INTERFACES, values)


def _sensor(
    name: str,
    mujoco_type: str,
    hardware: Hardware,
    interfaces: tuple[str, ...],
    values: tuple[float, ...],
) -> Element:
    result = element("sensor", name=name)
    if hardware is Hardware.MUJOCO:
        result.append(param("mujoco_type", mujoco_type))
        result.append(param("mujoco_sensor_name", name))
    for i, interface in enumerate(interfaces):
        state = element("state_interface", name=interface)
        if values:
            state.append(param("initial_value", values[i]))
        result.append(state)
    return result


def at_rest(R_WS: Array) -> tuple[float, ...]:
    """Return the values of an IMU at rest, in the order of ``IMU_INTERFACES``."""
    specific_force = R_WS.T @ np.array([0.0, 0.0, STANDARD_GRAVITY])
    values = (*matrix_quaternion(R_WS), 0.0, 0.0, 0.0, *specific_force.tolist())
    return tuple(float(value) for value in values)


def _gz_plugin(options: UrdfOptions) -> Element:
    parameters = element("parameters", text=options.controllers)
    return element("gazebo", element("plugin", parameters, filename=_GZ_LIBRARY, name=_GZ_PLUGIN))
