"""Blocks for ros2_control and MuJoCo, and warnings about what simulators reject or drop.

* <ros2_control>: hardware, joints and sensors of the controllers.
* <mujoco_inputs>: ``mujoco_ros2_control`` converts a URDF to MJCF and copies these elements into
  it: an actuator for each command interface, and the sensors. It makes a site of each link of the
  URDF, at which sensors are placed.
* <mujoco>: compiler options for MuJoCo's own URDF reader, see "compiler" in MuJoCo's XML reference.
  Other URDF readers ignore the block; urdf_parser_py logs that it is unknown.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import isfinite
from xml.etree.ElementTree import Element

import numpy as np

from hrp_msgs import names

from ..body import Body, Joint, JointType, Link, Range
from ..diagnostics import Diagnostics, listed
from ..frames import BodyFrames, initial_poses
from ..kinematics.actuation import (
    NATURAL_FREQUENCY,
    CommandInterface,
    ControlledJoint,
    controlled_joints,
    critically_damped,
    initial_inertias,
)
from ..kinematics.state import STANDARD_GRAVITY
from ..rigid import Array, matrix_quaternion
from .gazebo_blocks import Sensors, sensors_in_joints
from .options import Hardware, UrdfOptions
from .shapes import element, param, xml_text

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
# In [kg] and [kg m^2]: accepted by MuJoCo, and too small to have an effect.
_MIN_MASS = "1e-12"
# Rounding error of principal moments, relative to the largest.
_ROUNDING = 1e-9
# Masses up to this count as zero in Gazebo, in [kg]: the tolerance of gz-math's equal().
_ZERO_MASS = 1e-6
_WORLD = "world"  # simulators take a root link of this name for the world itself


def ros2_control_elements(body: Body, frames: BodyFrames, options: UrdfOptions) -> list[Element]:
    """Return the block that the options request; nothing for a body without moving joints.

    Joints with an id have one command interface; all moving joints have the state interfaces
    position, velocity and effort. For Gazebo the plugin that runs the controller manager is
    added.
    """
    hardware = options.ros2_control
    joints = controlled_joints(body, options.command_interface)
    if hardware is None or not joints:
        return []
    block = element("ros2_control", name=system_name(body.name), type="system")
    block.append(hardware_element(hardware))
    block.extend(_joint(joint, frames, options) for joint in joints)
    if has_sensors(hardware):
        block.extend(_sensors(body, frames, hardware))
    return [block, _gz_plugin(options)] if hardware is Hardware.GZ else [block]


def system_name(robot: str) -> str:
    """Return the name of a robot's block, from which ros2_control makes the name of a node."""
    return names.topic_token(robot or "robot")


def hardware_element(hardware: Hardware) -> Element:
    """Return the <hardware> of a block."""
    params = (param(*item) for item in _PARAMS[hardware].items())
    return element("hardware", element("plugin", text=_PLUGINS[hardware]), *params)


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


def topic_state(name: str, position: float = 0.0) -> Element:
    """Return a state interface of topic-based hardware, which is NaN until it has a message.

    Controllers are activated before, and broadcasters would publish that.

    Args:
        name: One of ``STATE_INTERFACES``.
        position: Where the joint is before the first message, in [rad] or [m].
    """
    value = position if name == "position" else 0.0
    return element("state_interface", param("initial_value", value), name=name)


def _joint(joint: ControlledJoint, frames: BodyFrames, options: UrdfOptions) -> Element:
    model, initial = joint.link.joint, float(joint.link.joint.initial)
    result = element("joint", name=frames.joints[joint.link.name])
    command = joint.command_interface
    if command is not None:
        result.append(element("command_interface", *_limits(command, model), name=command.value))
    for name in STATE_INTERFACES:
        if options.ros2_control is Hardware.TOPIC:
            result.append(topic_state(name, options.positions.get(joint.link.name, initial)))
            continue
        state = element("state_interface", name=name)
        if name == "position":
            state.append(param("initial_value", initial))
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


def mujoco_inputs_elements(body: Body, frames: BodyFrames, options: UrdfOptions) -> list[Element]:
    """Return the block, if the options select MuJoCo's hardware."""
    joints = [
        joint
        for joint in controlled_joints(body, options.command_interface)
        if joint.command_interface is not None
    ]
    if options.ros2_control is not Hardware.MUJOCO or not joints:
        return []
    inertias = initial_inertias(body)
    raw = element(
        "raw_inputs",
        element("option", integrator="implicitfast"),  # no gain is too stiff for it
        element("actuator", *(_actuator(x, frames, inertias[x.link.name]) for x in joints)),
    )
    sensors = _mujoco_sensors(Sensors(body, frames))
    if sensors:
        raw.append(element("sensor", *sensors))
    return [element("mujoco_inputs", raw)]


def _actuator(joint: ControlledJoint, frames: BodyFrames, inertia: float) -> Element:
    """Return the critically damped servo of a joint, or its motor, named after the joint."""
    name = frames.joints[joint.link.name]
    model = joint.link.joint
    effort = model.effort_limits
    attributes = {"name": name, "joint": name}
    if model.max_effort == 0.0:
        attributes["gear"] = "0"  # MuJoCo takes a range of 0 to 0 for no limit
    if joint.command_interface is CommandInterface.EFFORT:
        return element("motor", **attributes, **_range("ctrlrange", effort))
    attributes |= _range("forcerange", effort)
    kp, kd = critically_damped(inertia, NATURAL_FREQUENCY)
    if joint.command_interface is CommandInterface.VELOCITY:
        attributes |= {"kv": _rounded(kd / 2.0)}  # w I: the velocity error decays at the same rate
        attributes |= _range("ctrlrange", model.velocity_limits)
        return element("velocity", **attributes)
    attributes |= {"kp": _rounded(kp), "kv": _rounded(kd)}
    attributes |= _range("ctrlrange", model.position_limits)
    return element("position", **attributes)


def _range(name: str, limits: Range) -> dict[str, str]:
    """Return a range as an attribute; none for an infinite end or an empty range."""
    if not all(map(isfinite, limits)) or limits.lower >= limits.upper:
        return {}
    return {name: " ".join(xml_text(float(end)) for end in limits)}


def _rounded(gain: float) -> str:
    return xml_text(float(f"{gain:.4g}"))


def _mujoco_sensors(sensors: Sensors) -> list[Element]:
    """Return MuJoCo's sensors, with the suffixes that mujoco_ros2_control expects."""
    elements: list[Element] = []
    for unit in sensors.imus:
        name, site = sensors.name(unit.device), sensors.data_frame(unit.device)
        elements.append(element("framequat", name=f"{name}_quat", objtype="site", objname=site))
        elements.append(element("gyro", name=f"{name}_gyro", site=site))
        elements.append(element("accelerometer", name=f"{name}_accel", site=site))
    for force in sensors.force:
        name, site = sensors.name(force), sensors.data_frame(force)
        elements.append(element("force", name=f"{name}_force", site=site))
        elements.append(element("torque", name=f"{name}_torque", site=site))
    return elements


def mujoco_compiler_elements(
    body: Body, _frames: BodyFrames, options: UrdfOptions
) -> list[Element]:
    """Return the block, if the options name a mesh folder for MuJoCo."""
    if options.mujoco_meshes is None:
        return []
    compiler = {
        # MuJoCo resolves neither file:// nor package://, but finds the file name in this folder.
        "meshdir": options.mujoco_meshes,
        "strippath": "true",
        # The default derives the mass of a massless link from its collision shapes.
        "inertiafromgeom": "false",
    }
    if not any(link.joint.type is JointType.FREE for link in body.links[1:]):
        # The default fuses links joined by fixed joints and loses their names. A floating link
        # needs it, since MuJoCo allows free joints at the top level only.
        compiler["fusestatic"] = "false"
    if any(map(_breaks_triangle_inequality, body.links)):
        compiler["balanceinertia"] = "true"  # rejected otherwise
    if any(map(_moves_without_inertia, body.links)):
        compiler |= {"boundmass": _MIN_MASS, "boundinertia": _MIN_MASS}  # rejected otherwise
    return [element("mujoco", element("compiler", **compiler))]


def _moves_without_inertia(link: Link) -> bool:
    return link.joint.moves and (link.mass == 0.0 or not link.inertia.any())


def _breaks_triangle_inequality(link: Link) -> bool:
    """Return whether no mass distribution has the link's principal moments.

    Flat bodies, where a + b = c, count too: whether MuJoCo rejects them depends on rounding.
    """
    a, b, c = np.linalg.eigvalsh(link.inertia).tolist()
    return bool(a + b < c * (1.0 + _ROUNDING))


def warn_of_simulator_limits(
    body: Body, frames: BodyFrames, options: UrdfOptions, diagnostics: Diagnostics
) -> None:
    """Warn of parts of a URDF that the simulators selected by the options would not simulate."""
    for_gazebo = options.gazebo or options.ros2_control is Hardware.GZ
    for_mujoco = options.mujoco_meshes is not None or options.ros2_control is Hardware.MUJOCO
    if for_gazebo:
        _warn_of_shared_names(body, frames, diagnostics)
        _warn_of_dropped_links(body, frames, options, diagnostics)
    selected = (("MuJoCo", for_mujoco), ("Gazebo", for_gazebo))
    simulators = " and ".join(name for name, is_selected in selected if is_selected)
    if simulators and frames.root != _WORLD:
        _warn_of_world(body, frames, simulators, diagnostics)


def _warn_of_world(
    body: Body, frames: BodyFrames, simulators: str, diagnostics: Diagnostics
) -> None:
    """Warn of a link or device below the root that is called "world"."""
    of_links = [link.at for link in body.links if frames.links[link.name] == _WORLD]
    of_devices = [
        device.at or body.link(device.link).at
        for device, name in zip(body.devices, frames.devices, strict=True)
        if name == _WORLD
    ]
    for at in (*of_links, *of_devices)[:1]:
        message = f"a frame is called '{_WORLD}', a name reserved for the world in {simulators}"
        diagnostics.warn("reserved-name", message, at)


def _warn_of_shared_names(body: Body, frames: BodyFrames, diagnostics: Diagnostics) -> None:
    """Warn of joints with the names of links: SDFormat 1.7 and later requires unique names."""
    shared = [name for name in frames.joints.values() if name in frames.names]
    if shared:
        shown = listed([f"'{name}'" for name in shared], 1)
        message = f"Gazebo rejects a joint with the name of a link: {shown}"
        diagnostics.warn("joint-named-like-link", message, body.root.at)


def _warn_of_dropped_links(
    body: Body, frames: BodyFrames, options: UrdfOptions, diagnostics: Diagnostics
) -> None:
    """Warn of links without mass, which SDFormat drops with all their descendants.

    Links that are joined by fixed joints are lumped into one, which has the mass of all.
    """
    tops = _top_links(body, frames, options)
    masses = dict.fromkeys(tops.values(), 0.0)
    for link in body.links:
        masses[tops[link.name]] += link.mass
    dropped: dict[str, list[str]] = {}  # by the massless link that causes it
    causes: dict[str, str] = {}
    for link in body.links:
        top = body.link(tops[link.name])
        cause = causes.get(top.parent) if top.parent is not None else None
        if cause is None and masses[top.name] <= _ZERO_MASS and not _is_world(top, frames):
            cause = top.name
        if cause is not None:
            causes[link.name] = cause
            dropped.setdefault(cause, []).append(link.name)
    for name, links in dropped.items():
        others = len(links) - 1
        below = f", and {others} more below it" if others else ""
        message = f"Gazebo drops link '{name}', which has no mass{below}"
        diagnostics.warn("dropped-by-gazebo", message, body.link(name).at)


def _top_links(body: Body, frames: BodyFrames, options: UrdfOptions) -> dict[str, str]:
    """Return for each link the topmost of the links that Gazebo lumps together with it."""
    preserved: set[str] = set()
    if options.gazebo:
        elements = sensors_in_joints(Sensors(body, frames))
        preserved = {name for name, child in elements if child.tag == "preserveFixedJoint"}
    tops: dict[str, str] = {}
    for link in body.links:
        tops[link.name] = link.name
        if link.parent is None or not link.joint.is_fixed or link.name in preserved:
            continue
        if not _is_world(body.link(link.parent), frames):
            tops[link.name] = tops[link.parent]
    return tops


def _is_world(link: Link, frames: BodyFrames) -> bool:
    return link.parent is None and frames.links[link.name] == frames.root == _WORLD
