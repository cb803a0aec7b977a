"""The <gazebo> blocks: sensors, contacts, and how Gazebo (gz-sim) fixes the robot to the world."""

from __future__ import annotations

from collections.abc import Iterable
from xml.etree.ElementTree import Element

from ...body import Body
from ...frames import BodyFrames, unique_name
from ..options import UrdfOptions
from ..xml import element
from . import gazebo_contacts, gazebo_sensors
from .sensors import Sensors


def elements(body: Body, frames: BodyFrames, options: UrdfOptions) -> list[Element]:
    """Return the blocks that the options request, at most one for each link and joint.

    Left out is what Gazebo cannot simulate: a scanner with unlimited range, a lens with
    distortion, a force sensor between a link and a massless one that is fixed to it.
    """
    if not options.gazebo:
        return []
    sensors = Sensors(body, frames)
    on_links = (*gazebo_sensors.on_links(sensors), *gazebo_contacts.on_links(body))
    in_joints = (*gazebo_sensors.in_joints(sensors), *gazebo_contacts.in_joints(body))
    return [
        *_world_joint(body, frames),
        *_blocks((frames.links[name], child) for name, child in on_links),
        *_blocks((frames.joints[name], child) for name, child in in_joints),
    ]


def _blocks(children: Iterable[tuple[str, Element]]) -> list[Element]:
    """Return one block for each link or joint, in order of their first child."""
    by_name: dict[str, list[Element]] = {}
    for name, child in children:
        by_name.setdefault(name, []).append(child)
    return [element("gazebo", *children, reference=name) for name, children in by_name.items()]


def _world_joint(body: Body, frames: BodyFrames) -> list[Element]:
    """Return the block that fixes a robot with a fixed root to the world."""
    if body.is_static:
        return [element("gazebo", element("static", text=True))]
    if not body.is_root_fixed:
        return []
    root = frames.links[body.root.name]
    if frames.root == "world":  # Gazebo takes a root of this name for the world itself
        return []
    name = unique_name("world_joint", frames.joint_names | frames.names)
    parent, child = element("parent", text="world"), element("child", text=root)
    return [element("gazebo", element("joint", parent, child, name=name, type="fixed"))]
