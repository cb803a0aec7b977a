"""The ros2_control controllers of a robot, and their parameter file."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import field
from math import isfinite
from typing import TypeAlias

from ...body import Body
from ...files.writer import is_ambiguous
from ...frames import BodyFrames, add_unique
from ...kinematics.actuation import (
    CommandInterface,
    ControlledJoint,
    controlled_joints,
    critically_damped,
    initial_inertias,
)
from ...kinematics.drive import drive_kinematics
from ...kinematics.vehicle import DifferentialDrive, differential_drive, rolling_wheels
from ...late_dataclass import dataclass
from ..control_blocks import has_sensors
from ..gazebo_blocks import Sensors, wrench_frame
from ..options import Hardware, UrdfOptions

# Rate of the controllers, in [Hz]: that of the simulation's joint states.
UPDATE_RATE = 500

# Natural frequency at which velocity and effort controllers track a trajectory, critically
# damped, in [rad/s].
_TRACKING_FREQUENCY = 20.0

# Plain scalars that every YAML reader takes for a string, unless they are ambiguous.
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_./-]*")

Value: TypeAlias = "bool | int | float | str | list[str] | dict[str, Value]"


@dataclass(frozen=True)
class Controller:
    """A controller and its parameters.

    Attributes:
        name: Name of its node.
        type: Its plugin.
        comment: Its purpose, in one line.
        active: Whether it is active from the start.
        parameters: Values by name; a mapping has parameters with a common prefix.
    """

    name: str
    type: str
    comment: str
    active: bool = True
    parameters: dict[str, Value] = field(default_factory=dict)


def controllers(
    body: Body, frames: BodyFrames, options: UrdfOptions | None = None
) -> list[Controller]:
    """Return the controllers for the <ros2_control> block of the same options.

    State broadcasters are active, as are a trajectory controller for all joints but wheels, and
    a diff_drive_controller for a vehicle. Forward command controllers are active only if no
    other controller commands their joints, such as the wheels of a car.
    """
    options = UrdfOptions() if options is None else options
    joints = controlled_joints(body, options.command_interface)
    if not joints:
        return []
    commanded = {
        interface: [joint for joint in joints if joint.command_interface is interface]
        for interface in CommandInterface
    }
    drive = differential_drive(body)
    driven = {link.name for link in (*drive.left, *drive.right)} if drive is not None else set()
    wheels = rolling_wheels(body)
    result = [_joint_states(frames)]
    moved: set[str] = set()
    for interface, group in commanded.items():
        limbs = [joint for joint in group if joint.link.name not in wheels]
        if limbs:
            moved.update(joint.link.name for joint in limbs)
            result.append(_trajectories(body, frames, interface, limbs))
    if drive is not None and driven <= {j.link.name for j in commanded[CommandInterface.VELOCITY]}:
        moved |= driven
        result.append(_diff_drive(body, drive, frames, options))
    for interface, group in commanded.items():
        if group:
            active = moved.isdisjoint(joint.link.name for joint in group)
            names = [frames.joints[joint.link.name] for joint in group]
            result.append(_forward(interface, names, active=active))
    if has_sensors(options.ros2_control):
        taken = {"controller_manager", *(controller.name for controller in result)}
        result += _broadcasters(Sensors(body, frames), options, taken)
    return result


def controllers_yaml(body: Body, frames: BodyFrames, options: UrdfOptions | None = None) -> str:
    """Return the parameter file of the controller manager and the controllers."""
    used = controllers(body, frames, options)
    lines = [
        "# Controllers for ros2_control. /**/NAME matches in any namespace.",
        "/**/controller_manager:",
        "  ros__parameters:",
        f"    update_rate: {UPDATE_RATE}  # [Hz]",
    ]
    for controller in used:
        inactive = "" if controller.active else " (inactive at start)"
        lines += [
            f"    {controller.name}:  # {controller.comment}{inactive}",
            f"      type: {controller.type}",
        ]
    for controller in used:
        lines += ["", f"/**/{controller.name}:", "  ros__parameters:"]
        lines += _entries(controller.parameters, "    ")
    return "\n".join(lines) + "\n"


def _joint_states(frames: BodyFrames) -> Controller:
    return Controller(
        "joint_state_broadcaster",
        "joint_state_broadcaster/JointStateBroadcaster",
        "publishes joint_states",
        parameters={"frame_id": frames.root},
    )


def _trajectories(
    body: Body, frames: BodyFrames, interface: CommandInterface, joints: list[ControlledJoint]
) -> Controller:
    names = [frames.joints[joint.link.name] for joint in joints]
    parameters: dict[str, Value] = {
        "joints": names,
        "command_interfaces": [interface.value],
        "state_interfaces": ["position", "velocity"],
        "allow_partial_joints_goal": True,
    }
    if interface is CommandInterface.VELOCITY:
        gain: dict[str, Value] = {"p": _TRACKING_FREQUENCY / 2.0, "ff_velocity_scale": 1.0}
        parameters["gains"] = dict.fromkeys(names, gain)
    elif interface is CommandInterface.EFFORT:
        inertias = initial_inertias(body)
        parameters["gains"] = {
            name: _gains(inertias[joint.link.name])
            for name, joint in zip(names, joints, strict=True)
        }
    return Controller(
        "joint_trajectory_controller",
        "joint_trajectory_controller/JointTrajectoryController",
        "follows trajectories of all joints or a subset",
        parameters=parameters,
    )


def _gains(inertia: float) -> Value:
    p, d = critically_damped(inertia, _TRACKING_FREQUENCY)
    return {"p": float(f"{p:.4g}"), "d": float(f"{d:.4g}")}


def _diff_drive(
    body: Body, drive: DifferentialDrive, frames: BodyFrames, options: UrdfOptions
) -> Controller:
    kinematics = drive_kinematics(body)
    parameters: dict[str, Value] = {
        "left_wheel_names": [frames.joints[link.name] for link in drive.left],
        "right_wheel_names": [frames.joints[link.name] for link in drive.right],
        "wheel_separation": float(f"{drive.wheel_separation:.9g}"),
        "wheel_separation_multiplier": float(
            f"{kinematics.effective_track / kinematics.track:.9g}"
        ),
        "wheel_radius": float(f"{drive.wheel_radius:.9g}"),
        "base_frame_id": frames.root,
        "odom_frame_id": f"{options.frame_prefix}odom",
        "tf_frame_prefix_enable": False,
        # With topic-based hardware, the source of the joint states publishes the root's pose.
        "enable_odom_tf": options.ros2_control is not Hardware.TOPIC,
    }
    max_rate = min(link.joint.max_velocity for link in (*drive.left, *drive.right))
    if isfinite(max_rate):
        speed = float(f"{max_rate * drive.wheel_radius:.9g}")
        parameters["linear"] = {"x": {"max_velocity": speed, "min_velocity": -speed}}
    return Controller(
        "diff_drive_controller",
        "diff_drive_controller/DiffDriveController",
        "drives the wheels from ~/cmd_vel",
        parameters=parameters,
    )


def _forward(interface: CommandInterface, names: list[str], *, active: bool) -> Controller:
    return Controller(
        f"forward_{interface.value}_controller",
        "forward_command_controller/ForwardCommandController",
        f"forwards ~/commands, one {interface.value} for each joint",
        active=active,
        parameters={"joints": names, "interface_name": interface.value},
    )


def _broadcasters(sensors: Sensors, options: UrdfOptions, taken: set[str]) -> Iterable[Controller]:
    for unit in sensors.imus:
        name = sensors.name(unit.device)
        yield Controller(
            _broadcaster(name, taken),
            "imu_sensor_broadcaster/IMUSensorBroadcaster",
            "publishes ~/imu",
            parameters={"sensor_name": name, "frame_id": sensors.data_frame(unit.device)},
        )
    for force in sensors.force:
        name, frame = sensors.name(force), sensors.data_frame(force)
        if options.ros2_control is Hardware.GZ:
            frame = wrench_frame(force, sensors)
        parameters: dict[str, Value] = {"sensor_name": name, "frame_id": frame}
        if options.ros2_control is Hardware.MUJOCO:
            # MuJoCo measures the wrench of the parent on the link; this project the reverse.
            reverse: dict[str, Value] = dict.fromkeys("xyz", -1.0)
            parameters["multiplier"] = {"force": reverse, "torque": reverse}
        yield Controller(
            _broadcaster(name, taken),
            "force_torque_sensor_broadcaster/ForceTorqueSensorBroadcaster",
            "publishes ~/wrench",
            parameters=parameters,
        )


def _broadcaster(sensor: str, taken: set[str]) -> str:
    """Return a unique name for a broadcaster; a sensor may be called "joint_state"."""
    return add_unique(f"{sensor}_broadcaster", taken)


def _entries(values: dict[str, Value], indent: str) -> Iterable[str]:
    """Yield the lines of a block mapping."""
    for key, value in values.items():
        if isinstance(value, dict):
            yield f"{indent}{_scalar(key)}:"
            yield from _entries(value, indent + "  ")
        elif isinstance(value, list):
            yield f"{indent}{_scalar(key)}:"
            yield from (f"{indent}  - {_scalar(item)}" for item in value)
        else:
            yield f"{indent}{_scalar(key)}: {_scalar(value)}"


def _scalar(value: bool | float | str) -> str:
    """Return a scalar whose type YAML 1.1 and 1.2 agree on."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str):
        text = repr(value)  # 1e-05 would be a string to YAML 1.1
        return text.replace("e", ".0e") if "e" in text and "." not in text else text
    if _PLAIN.fullmatch(value) and not is_ambiguous(value):
        return value
    return json.dumps(value, ensure_ascii=False)
