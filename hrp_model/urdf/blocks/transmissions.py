"""The <transmission> blocks: what lies between the joints and their motors."""

from __future__ import annotations

from collections.abc import Iterable
from math import isfinite
from xml.etree.ElementTree import Element

from ...body import Body
from ...frames import BodyFrames
from ...kinematics.actuation import CommandInterface, ControlledJoint, controlled_joints
from ..options import UrdfOptions
from ..xml import element

_PLUGIN = "transmission_interface/SimpleTransmission"
_HARDWARE_INTERFACES = {
    CommandInterface.POSITION: "hardware_interface/PositionJointInterface",
    CommandInterface.VELOCITY: "hardware_interface/VelocityJointInterface",
    CommandInterface.EFFORT: "hardware_interface/EffortJointInterface",
}


def elements(body: Body, frames: BodyFrames, options: UrdfOptions) -> list[Element]:
    """Return one block below <robot> for each joint with a motor, if the options ask for them.

    This is the form of urdf_parser_py, Drake and older tools. ros2_control reads only its own
    form, inside its block: ``control_elements``.
    """
    if not options.transmissions:
        return []
    return [
        element(
            "transmission",
            element("type", text=_PLUGIN),
            element("joint", _interface(joint), name=name),
            element(
                "actuator",
                element("mechanicalReduction", text=float(joint.link.joint.gear_ratio)),
                name=actuator_name(name),
            ),
            name=transmission_name(name),
        )
        for joint, name in _geared(controlled_joints(body, options.command_interface), frames)
    ]


def control_elements(joints: Iterable[ControlledJoint], frames: BodyFrames) -> list[Element]:
    """Return one block inside <ros2_control> for each joint with a motor."""
    return [
        element(
            "transmission",
            element("plugin", text=_PLUGIN),
            element(
                "joint",
                element("mechanical_reduction", text=float(joint.link.joint.gear_ratio)),
                name=name,
                role="joint1",
            ),
            element("actuator", name=actuator_name(name), role="actuator1"),
            name=transmission_name(name),
        )
        for joint, name in _geared(joints, frames)
    ]


def actuator_name(joint: str) -> str:
    """Return what the motor of a joint is called."""
    return f"{joint}_motor"


def transmission_name(joint: str) -> str:
    """Return what the transmission of a joint is called."""
    return f"{joint}_transmission"


def _geared(
    joints: Iterable[ControlledJoint], frames: BodyFrames
) -> Iterable[tuple[ControlledJoint, str]]:
    """Yield the joints with motors, and their names; no gear has a ratio of zero."""
    for joint in joints:
        ratio = joint.link.joint.gear_ratio
        if joint.command_interface is not None and isfinite(ratio) and ratio != 0.0:
            yield joint, frames.joints[joint.link.name]


def _interface(joint: ControlledJoint) -> Element:
    assert joint.command_interface is not None
    return element("hardwareInterface", text=_HARDWARE_INTERFACES[joint.command_interface])
