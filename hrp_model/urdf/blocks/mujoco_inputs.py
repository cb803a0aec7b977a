"""The <mujoco_inputs> block: the actuators and sensors that mujoco_ros2_control needs.

``mujoco_ros2_control`` converts a URDF to MJCF and copies these elements into it: an actuator
for each command interface, and the sensors. It makes a site of each link of the URDF, at which
sensors are placed.
"""

from __future__ import annotations

from math import isfinite
from xml.etree.ElementTree import Element

from ...body import Body, Range
from ...frames import BodyFrames
from ...kinematics.actuation import CommandInterface, ControlledJoint, controlled_joints
from ...kinematics.joint_inertia import NATURAL_FREQUENCY, critically_damped, initial_inertias
from ..options import Hardware, UrdfOptions
from ..xml import element, xml_text
from .sensors import Sensors


def elements(body: Body, frames: BodyFrames, options: UrdfOptions) -> list[Element]:
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
    sensors = _sensors(Sensors(body, frames))
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


def _sensors(sensors: Sensors) -> list[Element]:
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
