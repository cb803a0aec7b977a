"""The controllers of ros2_control for a robot, and the file of their parameters."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from math import isfinite
from typing import TypeAlias

from ...body import Body
from ...frames import BodyFrames, unique_name
from ...kinematics.actuation import CommandInterface, ControlledJoint, controlled_joints
from ...kinematics.joint_inertia import critically_damped, initial_inertias
from ...kinematics.vehicle import DifferentialDrive, differential_drive, rolling_wheels
from ..blocks import gazebo_sensors
from ..blocks.ros2_control import has_sensors
from ..blocks.sensors import Sensors
from ..options import Hardware, UrdfOptions

# How often controllers run, in [Hz]: as often as the simulation here says where joints are.
UPDATE_RATE = 500

# Controllers of velocities and efforts follow a trajectory as a critically damped oscillator
# of this natural frequency would, in [rad/s].
_TRACKING_FREQUENCY = 20.0

# Plain scalars that no reader of YAML takes for something else than a string.
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_./-]*")
_NOT_PLAIN = {"y", "n", "yes", "no", "on", "off", "true", "false", "null"}

Value: TypeAlias = "bool | int | float | str | list[str] | dict[str, Value]"


@dataclass(frozen=True)
class Controller:
    """A controller and its parameters.

    Attributes:
        name: Of its node.
        type: Its plugin.
        comment: What it is for, in a line.
        active: Whether it runs from the start; the others wait to be switched to.
        parameters: By name; a mapping holds parameters with a common prefix.
    """

    name: str
    type: str
    comment: str
    active: bool = True
    parameters: dict[str, Value] = field(default_factory=dict)


def controllers(
    body: Body, frames: BodyFrames, options: UrdfOptions | None = None
) -> list[Controller]:
    """Return the controllers that fit the <ros2_control> block of the same options.

    Active are those that tell the state, one for trajectories of all joints but wheels, and
    one that drives a vehicle. Those that pass single commands on are active where no other
    commands the same joints: for the wheels of a car.
    """
    options = UrdfOptions() if options is None else options
    joints = controlled_joints(body, options.command_interface)
    if not joints:
        return []
    commanded = {how: [j for j in joints if j.command_interface is how] for how in CommandInterface}
    drive = differential_drive(body)
    driven = {link.name for link in (*drive.left, *drive.right)} if drive is not None else set()
    wheels = rolling_wheels(body)
    made = [_joint_states(frames)]
    moved: set[str] = set()
    for how, group in commanded.items():
        on_board = [joint for joint in group if joint.link.name not in wheels]
        if on_board:
            moved.update(joint.link.name for joint in on_board)
            made.append(_trajectories(body, frames, how, on_board))
    if drive is not None and driven <= {j.link.name for j in commanded[CommandInterface.VELOCITY]}:
        moved |= driven
        made.append(_diff_drive(drive, frames, options))
    for how, group in commanded.items():
        if group:
            active = moved.isdisjoint(joint.link.name for joint in group)
            names = [frames.joints[joint.link.name] for joint in group]
            made.append(_forward(how, names, active=active))
    if has_sensors(options.ros2_control):
        taken = {"controller_manager", *(controller.name for controller in made)}
        made += _broadcasters(Sensors(body, frames), options, taken)
    return made


def controllers_yaml(body: Body, frames: BodyFrames, options: UrdfOptions | None = None) -> str:
    """Return the parameters of the controller manager and the controllers, for any namespace."""
    made = controllers(body, frames, options)
    lines = [
        "# Controllers for ros2_control. The names hold in any namespace: /**/NAME.",
        "/**/controller_manager:",
        "  ros__parameters:",
        f"    update_rate: {UPDATE_RATE}  # [Hz]",
    ]
    for controller in made:
        waits = "" if controller.active else ", when switched to"
        lines += [
            f"    {controller.name}:  # {controller.comment}{waits}",
            f"      type: {controller.type}",
        ]
    for controller in made:
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
    body: Body, frames: BodyFrames, how: CommandInterface, joints: list[ControlledJoint]
) -> Controller:
    names = [frames.joints[joint.link.name] for joint in joints]
    parameters: dict[str, Value] = {
        "joints": names,
        "command_interfaces": [how.value],
        "state_interfaces": ["position", "velocity"],
        "allow_partial_joints_goal": True,
    }
    if how is CommandInterface.VELOCITY:
        gain: dict[str, Value] = {"p": _TRACKING_FREQUENCY / 2.0, "ff_velocity_scale": 1.0}
        parameters["gains"] = dict.fromkeys(names, gain)
    elif how is CommandInterface.EFFORT:
        inertias = initial_inertias(body)
        parameters["gains"] = {
            name: _gains(inertias[joint.link.name])
            for name, joint in zip(names, joints, strict=True)
        }
    return Controller(
        "joint_trajectory_controller",
        "joint_trajectory_controller/JointTrajectoryController",
        "follows trajectories of all joints or some",
        parameters=parameters,
    )


def _gains(inertia: float) -> Value:
    p, d = critically_damped(inertia, _TRACKING_FREQUENCY)
    return {"p": float(f"{p:.4g}"), "d": float(f"{d:.4g}")}


def _diff_drive(drive: DifferentialDrive, frames: BodyFrames, options: UrdfOptions) -> Controller:
    parameters: dict[str, Value] = {
        "left_wheel_names": [frames.joints[link.name] for link in drive.left],
        "right_wheel_names": [frames.joints[link.name] for link in drive.right],
        "wheel_separation": float(f"{drive.wheel_separation:.9g}"),
        "wheel_radius": float(f"{drive.wheel_radius:.9g}"),
        "base_frame_id": frames.root,
        "odom_frame_id": f"{options.frame_prefix}odom",
        "tf_frame_prefix_enable": False,
        # Where the joints' states come by topic, whoever sends them tells where the root is.
        "enable_odom_tf": options.ros2_control is not Hardware.TOPIC,
    }
    fastest = min(link.joint.max_velocity for link in (*drive.left, *drive.right))
    if isfinite(fastest):
        speed = float(f"{fastest * drive.wheel_radius:.9g}")
        parameters["linear"] = {"x": {"max_velocity": speed, "min_velocity": -speed}}
    return Controller(
        "diff_drive_controller",
        "diff_drive_controller/DiffDriveController",
        "drives the wheels by ~/cmd_vel",
        parameters=parameters,
    )


def _forward(how: CommandInterface, names: list[str], *, active: bool) -> Controller:
    return Controller(
        f"forward_{how.value}_controller",
        "forward_command_controller/ForwardCommandController",
        f"passes on what ~/commands says, one {how.value} for each joint",
        active=active,
        parameters={"joints": names, "interface_name": how.value},
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
            frame = gazebo_sensors.wrench_frame(force, sensors)
        parameters: dict[str, Value] = {"sensor_name": name, "frame_id": frame}
        if options.ros2_control is Hardware.MUJOCO:
            # MuJoCo measures what the parent exerts on the link; here it is the reverse.
            reverse: dict[str, Value] = dict.fromkeys("xyz", -1.0)
            parameters["multiplier"] = {"force": reverse, "torque": reverse}
        yield Controller(
            _broadcaster(name, taken),
            "force_torque_sensor_broadcaster/ForceTorqueSensorBroadcaster",
            "publishes ~/wrench",
            parameters=parameters,
        )


def _broadcaster(sensor: str, taken: set[str]) -> str:
    """Return a name that no controller has, for a sensor may well be called "joint_state"."""
    name = unique_name(f"{sensor}_broadcaster", taken)
    taken.add(name)
    return name


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
    """Return a scalar that YAML 1.1 and 1.2 read as what it is."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str):
        text = repr(value)  # 1e-05 would be a string to YAML 1.1
        return text.replace("e", ".0e") if "e" in text and "." not in text else text
    if _PLAIN.fullmatch(value) and value.lower() not in _NOT_PLAIN:
        return value
    return json.dumps(value, ensure_ascii=False)
