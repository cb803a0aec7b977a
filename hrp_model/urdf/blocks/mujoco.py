"""The <mujoco_inputs> block: what MuJoCo's model needs for the <ros2_control> block to work.

``mujoco_ros2_control`` converts a URDF to MuJoCo's own format and copies these parts of it
there: an actuator for each command interface, and the parts of the sensors. It makes a site
of each link of the URDF, by which sensors are placed.
"""

from __future__ import annotations

from math import isfinite
from xml.etree.ElementTree import Element

from ...body import Body, Range
from ...frames import BodyFrames
from ...kinematics.actuation import CommandInterface, ControlledJoint, controlled_joints
from ...kinematics.joint_inertia import NATURAL_FREQUENCY, critically_damped, initial_inertias
from ..options import Hardware, UrdfOptions
from ..xml import element, written
from .sensors import Sensors


def elements(body: Body, frames: BodyFrames, options: UrdfOptions) -> list[Element]:
    """Return the block, if the hardware of the options is MuJoCo's."""
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
    """Return the servo of a joint, critically damped, or its motor; named after the joint."""
    name = frames.joints[joint.link.name]
    model = joint.link.joint
    effort = model.effort_limits
    made = {"name": name, "joint": name}
    if model.max_effort == 0.0:
        made["gear"] = "0"  # a range of 0 to 0 would be none
    if joint.command_interface is CommandInterface.EFFORT:
        return element("motor", **made, **_range("ctrlrange", effort))
    made |= _range("forcerange", effort)
    kp, kd = critically_damped(inertia, NATURAL_FREQUENCY)
    if joint.command_interface is CommandInterface.VELOCITY:
        made |= {"kv": _rounded(kd / 2.0)}  # w I: the error of the speed decays as fast
        made |= _range("ctrlrange", model.velocity_limits)
        return element("velocity", **made)
    made |= {"kp": _rounded(kp), "kv": _rounded(kd)}
    made |= _range("ctrlrange", model.position_limits)
    return element("position", **made)


def _range(name: str, limits: Range) -> dict[str, str]:
    """Return a range as an attribute; nothing where an end is missing or there is no room."""
    if not all(map(isfinite, limits)) or limits.lower >= limits.upper:
        return {}
    return {name: " ".join(written(float(end)) for end in limits)}


def _rounded(gain: float) -> str:
    return written(float(f"{gain:.4g}"))


def _sensors(sensors: Sensors) -> list[Element]:
    """Return what ros2_control's sensors are put together of, with the endings it expects."""
    made: list[Element] = []
    for unit in sensors.imus:
        name, site = sensors.name(unit.device), sensors.data_frame(unit.device)
        made.append(element("framequat", name=f"{name}_quat", objtype="site", objname=site))
        made.append(element("gyro", name=f"{name}_gyro", site=site))
        made.append(element("accelerometer", name=f"{name}_accel", site=site))
    for force in sensors.force:
        name, site = sensors.name(force), sensors.data_frame(force)
        made.append(element("force", name=f"{name}_force", site=site))
        made.append(element("torque", name=f"{name}_torque", site=site))
    return made
