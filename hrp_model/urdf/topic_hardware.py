"""Give a description with <ros2_control> blocks of its own the topic-based hardware.

Blocks for any hardware become one system, whose joints are read and commanded by topics. Checked
are the rules of hardware_interface's component parser, which ends a controller manager by an
exception, and those of JointStateTopicSystem, which reads and writes three quantities of joints.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from xml.etree import ElementTree

from ..body import Body
from ..diagnostics import Diagnostics, did_you_mean, did_you_mean_or_all, listed
from ..frames import BodyFrames
from ..kinematics.actuation import controlled_joints
from ..late_dataclass import dataclass
from ..readers.xml_tree import Element
from .control_blocks import STATE_INTERFACES, hardware_element, system_name, topic_state
from .options import Hardware
from .shapes import element

_BLOCK = "ros2_control"
_TYPES = ("system", "actuator", "sensor")
_MOVING = ("revolute", "continuous", "prismatic")
# Elements of a block; ros2_control refuses others.
_PARTS = ("hardware", "joint", "sensor", "gpio", "transmission", "properties")
_REASONS = {
    "gpio": "the simulation has no inputs and outputs",
    "transmission": "the simulation moves joints, not actuators",
}
_MAX_LISTED = 5


@dataclass(frozen=True, eq=False)
class ControlledDescription:
    """A URDF with one <ros2_control> block, whose joints are read and commanded by topics.

    Attributes:
        urdf: Its text.
        joints: Names of the joints of the robot that move, also of those not in the block.
        commands: Names of the command interfaces of each joint in the block.
        states: Names of the state interfaces of each joint and sensor in the block.
    """

    urdf: str
    joints: tuple[str, ...]
    commands: Mapping[str, tuple[str, ...]]
    states: Mapping[str, tuple[str, ...]]


def generated_description(body: Body, frames: BodyFrames) -> ControlledDescription:
    """Return the interfaces of the block that ``Hardware.TOPIC`` generates; without a URDF."""
    joints = {frames.joints[x.link.name]: x.command_interface for x in controlled_joints(body)}
    return ControlledDescription(
        "",
        tuple(joints),
        {name: () if x is None else (x.value,) for name, x in joints.items()},
        dict.fromkeys(joints, STATE_INTERFACES),
    )


@dataclass(eq=False)
class _Joint:
    """A joint in the blocks: its name, its first element, and the contents of all."""

    name: str
    first: Element
    commands: dict[str, Element] = field(default_factory=dict)
    states: dict[str, Element] = field(default_factory=dict)
    others: list[Element] = field(default_factory=list)

    def written(self) -> ElementTree.Element:
        """Return it with all states that the topics have, as the hardware sets each of them."""
        states = [*self.states, *(x for x in STATE_INTERFACES if x not in self.states)]
        made = element(
            "joint",
            *(_written(child, name=x) for x, child in self.commands.items()),
            *map(self._state, states),
            *map(_written, self.others),
        )
        made.attrib.update(self.first.attributes | {"name": self.name})
        return made

    def _state(self, name: str) -> ElementTree.Element:
        """Return a state interface as it was read, with an initial value."""
        made = topic_state(name)
        if (own := self.states.get(name)) is not None:
            params = [*made] if not _has_initial_value(own) else []
            made = _written(own, name=name)
            made.extend(params)
        return made


def with_topic_hardware(robot: Element, diagnostics: Diagnostics) -> ControlledDescription | None:
    """Return a description with topic-based hardware; None without blocks, or after errors.

    Joints keep their command interfaces position, velocity and effort, with limits and initial
    values, and get the state interfaces that they lack. Sensors are kept. Warns of what is left
    out: inputs and outputs, transmissions and other interfaces.

    Args:
        robot: The root element of the URDF.
        diagnostics: Receives warnings and errors.
    """
    blocks = list(robot.all(_BLOCK))
    if not blocks:
        return None
    merged = _Blocks(robot, diagnostics)
    for block in blocks:
        merged.add(block)
    merged.check()
    if diagnostics.has_errors:
        return None
    made = element(robot.tag, text=robot.text)
    made.attrib.update(robot.attributes)
    made.extend(
        merged.written() if x is blocks[0] else _written(x)
        for x in robot.children
        if x.tag != _BLOCK or x is blocks[0]
    )
    text = ElementTree.tostring(made, encoding="unicode")
    return ControlledDescription(
        f'<?xml version="1.0"?>\n{text}\n',
        tuple(merged.moving),
        {name: tuple(joint.commands) for name, joint in merged.joints.items()},
        {
            **{name: (*joint.states, *STATE_INTERFACES) for name, joint in merged.joints.items()},
            **{name: tuple(_names(x)) for name, x in merged.sensors.items()},
        },
    )


def _written(source: Element, **changed: str) -> ElementTree.Element:
    """Return an element as it was read, with some other attributes, for writing."""
    children = map(_written, source.children)
    made = element(source.tag, *children, text=source.text)
    made.attrib.update(source.attributes | changed)
    return made


def _has_initial_value(interface: Element) -> bool:
    params = (x.attributes.get("name", "").strip() for x in interface.all("param"))
    return "initial_value" in params


def _names(component: Element) -> Iterable[str]:
    return (x.attributes.get("name", "") for x in component.all("state_interface"))


class _Blocks:
    """The contents of all blocks of a robot."""

    def __init__(self, robot: Element, diagnostics: Diagnostics) -> None:
        self.robot_joints = {x.attributes.get("name", ""): x for x in robot.all("joint")}
        self.moving = {
            name: x for name, x in self.robot_joints.items() if x.attributes.get("type") in _MOVING
        }
        self.joints: dict[str, _Joint] = {}
        self.sensors: dict[str, Element] = {}
        self._robot = robot
        self._diagnostics = diagnostics

    def add(self, block: Element) -> None:
        """Add the contents of a block."""
        self._named(block)
        if (kind := block.attributes.get("type", "")) not in _TYPES:
            hint = did_you_mean_or_all(kind, _TYPES)
            message = f"<{_BLOCK}> has the type '{kind}', which ros2_control does not know.{hint}"
            self._error(message, block, "type")
        left_out: dict[str, list[Element]] = {}
        for part in block.children:
            if part.tag == "joint":
                self._add_joint(part)
            elif part.tag == "sensor":
                self._add_sensor(part)
            elif part.tag in _REASONS:
                left_out.setdefault(part.tag, []).append(part)
            elif part.tag not in _PARTS:
                hint = did_you_mean(part.tag, _PARTS)
                message = f"<{_BLOCK}> has an element <{part.tag}>, which ros2_control refuses"
                self._error(f"{message}.{hint}" if hint else message, part)
        for tag, parts in left_out.items():
            names = listed([f"'{x.attributes.get('name', '')}'" for x in parts], _MAX_LISTED)
            message = f"<{tag}> is left out: {_REASONS[tag]} ({names})"
            self._diagnostics.warn("not-used", message, parts[0].span)

    def check(self) -> None:
        """Report errors in the whole, and sensors, whose values the topics do not have."""
        if not any(joint.commands for joint in self.joints.values()):
            message = f"no joint in <{_BLOCK}> has a command interface position, velocity or effort"
            at = next(self._robot.all(_BLOCK)).span
            self._diagnostics.error("nothing-to-control", message, at)
        for name, joint in self.joints.items():
            self._check_follower(name, joint)
        for name, sensor in self.sensors.items():
            message = (
                f"sensor '{name}' has no values here: they are on topics of the simulation, and "
                "its interfaces stay NaN"
            )
            self._diagnostics.warn("not-used", message, sensor.at("name"))

    def written(self) -> ElementTree.Element:
        """Return the block."""
        return element(
            _BLOCK,
            hardware_element(Hardware.TOPIC),
            *(joint.written() for joint in self.joints.values()),
            *(_written(x, name=name) for name, x in self.sensors.items()),
            name=system_name(self._robot.attributes.get("name", "")),
            type="system",
        )

    def _add_joint(self, part: Element) -> None:
        if not (name := self._named(part)):
            return
        if name not in self.moving:
            other = self.robot_joints.get(name)
            message = f"<{_BLOCK}> has the joint '{name}', which the robot does not have"
            if other is not None:
                kind = other.attributes.get("type", "")
                message = f"<{_BLOCK}> has the joint '{name}', which is {kind}"
            message += f".{did_you_mean_or_all(name, self.moving)}"
            self._diagnostics.error("unknown-joint", message, part.at("name"))
            return
        joint = self.joints.setdefault(name, _Joint(name, part))
        others: dict[str, None] = {}
        for child in part.children:
            if child.tag not in ("command_interface", "state_interface"):
                joint.others.append(child)
            elif not (interface := self._named(child)):
                continue
            elif interface not in STATE_INTERFACES:
                others[interface] = None
            elif child.tag == "state_interface":
                joint.states.setdefault(interface, child)
            elif interface in joint.commands:
                line, _ = child.source.line_column(joint.commands[interface].start)
                message = f"'{name}/{interface}' is commanded twice, first in line {line}"
                self._diagnostics.error("duplicate-element", message, child.span)
            else:
                joint.commands[interface] = child
        if others:
            message = (
                f"of joint '{name}' {listed(list(others), _MAX_LISTED)} is left out: the "
                "simulation has position, velocity and effort"
            )
            self._diagnostics.warn("not-used", message, part.at("name"))

    def _add_sensor(self, part: Element) -> None:
        if not (name := self._named(part)):
            return
        if name in self.sensors:
            self._diagnostics.error(
                "duplicate-element", f"sensor '{name}' is given twice", part.span
            )
        self.sensors[name] = part

    def _check_follower(self, name: str, joint: _Joint) -> None:
        """Check a joint that follows another, or should."""
        mimic = self.robot_joints[name].first("mimic")
        declared = joint.first.attributes.get("mimic", "").strip().lower()
        if mimic is None:
            if declared == "true":
                message = f"joint '{name}' has mimic=\"true\", but no <mimic> in the robot"
                self._error(message, joint.first, "mimic")
            return
        leader = mimic.attributes.get("joint", "")
        if joint.commands:  # which ros2_control refuses, unless mimic="false"
            message = f"joint '{name}' follows '{leader}' in the simulation: it is not commanded"
            self._diagnostics.warn("not-used", message, joint.first.at("name"))
            joint.commands.clear()
        if declared != "false" and leader not in self.joints:
            message = f"joint '{name}' follows '{leader}', which is not in <{_BLOCK}>"
            self._error(message, joint.first, "name")

    def _named(self, part: Element) -> str:
        """Return the name of an element; reports an error if it has none."""
        name = part.attributes.get("name", "").strip()
        if not name:
            message = f"<{part.tag}> in <{_BLOCK}> needs a name"
            if part.tag == _BLOCK:
                message = f"<{_BLOCK}> needs a name"
            self._diagnostics.error("missing-attribute", message, part.span)
        return name

    def _error(self, message: str, at: Element, attribute: str = "") -> None:
        self._diagnostics.error("control-block", message, at.at(attribute))
