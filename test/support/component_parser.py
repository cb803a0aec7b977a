"""The rules by which ros2_control reads <ros2_control> blocks, from hardware_interface 4.46.

They are written again here, to judge what this project writes: what ros2_control refuses raises an
exception.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from xml.etree import ElementTree

_PARTS = {"hardware", "joint", "sensor", "gpio", "transmission", "properties"}
NODE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# What JointStateTopicSystem sets in each joint of a message that has all three arrays.
TOPIC_STATES = ("position", "velocity", "effort")


@dataclass
class Interface:
    """An interface: its parameters, such as min, max and initial_value."""

    name: str
    params: dict[str, str]


@dataclass
class Component:
    """A joint or a sensor."""

    commands: dict[str, Interface] = field(default_factory=dict)
    states: dict[str, Interface] = field(default_factory=dict)
    params: dict[str, str] = field(default_factory=dict)
    leader: str = ""


@dataclass
class Resource:
    """A block."""

    name: str
    type: str
    plugin: str
    params: dict[str, str]
    joints: dict[str, Component]
    sensors: dict[str, Component]


def control_resources(text: str) -> list[Resource]:
    """Return the blocks of a URDF, as parse_control_resources_from_urdf does."""
    robot = ElementTree.fromstring(text.encode())
    joints = {x.attrib["name"]: x for x in robot.findall("joint")}
    found = [_resource(block) for block in robot.findall("ros2_control")]
    assert found, "no ros2_control tag"
    for block, resource in zip(robot.findall("ros2_control"), found, strict=True):
        for part in block.findall("joint"):
            name, declared = part.attrib["name"], part.get("mimic", "").lower()
            urdf = joints[name]
            mimic = urdf.find("mimic")
            assert mimic is not None or declared != "true", f"{name} has no mimic information"
            if mimic is not None and declared != "false":
                assert not resource.joints[name].commands, f"{name} follows and is commanded"
                assert mimic.attrib["joint"] in resource.joints, f"no leader of {name}"
                resource.joints[name].leader = mimic.attrib["joint"]
            assert urdf.attrib["type"] != "fixed", f"{name} is fixed"
    exported = [f"{n}/{i}" for r in found for n, c in r.joints.items() for i in c.commands]
    assert len(set(exported)) == len(exported), "a command interface is exported twice"
    return found


def topic_problems(resource: Resource) -> list[str]:
    """Return why JointStateTopicSystem cannot have this hardware: set_state throws, or is lost."""
    found = [] if resource.type == "system" else ["it is no system"]
    if not NODE_NAME.fullmatch(resource.name):  # it gets a node of this name
        found.append(f"{resource.name} is not the name of a node")
    for name, joint in resource.joints.items():
        found += [f"{name}/{x} is not there" for x in TOPIC_STATES if x not in joint.states]
        found += [f"{name}/{x} is lost" for x in joint.commands if x not in TOPIC_STATES]
    return found


def _resource(block: ElementTree.Element) -> Resource:
    assert {x.tag for x in block} <= _PARTS, "invalid tag name"
    hardware = block.find("hardware")
    assert hardware is not None
    plugin = hardware.findtext("plugin")
    assert (plugin or "").strip()
    assert block.attrib["type"] in ("system", "actuator", "sensor")
    joints = [(x.attrib["name"], _component(x)) for x in block.findall("joint")]
    assert len(dict(joints)) == len(joints), "a joint twice"
    return Resource(
        block.attrib["name"],
        block.attrib["type"],
        (plugin or "").strip(),
        _params(hardware),
        dict(joints),
        {x.attrib["name"]: _component(x) for x in block.findall("sensor")},
    )


def _component(part: ElementTree.Element) -> Component:
    commands, states = (
        {x.attrib["name"]: Interface(x.attrib["name"], _params(x)) for x in part.findall(tag)}
        for tag in ("command_interface", "state_interface")
    )
    return Component(commands, states, _params(part))


def _params(element: ElementTree.Element) -> dict[str, str]:
    return {x.attrib["name"]: (x.text or "").strip() for x in element.findall("param")}
