"""The <gazebo> blocks: sensors, and how the robot stands in the world of Gazebo (gz-sim)."""

from __future__ import annotations

from collections.abc import Iterable
from xml.etree.ElementTree import Element

from ...body import Body
from ...frames import BodyFrames, unique_name
from ..options import UrdfOptions
from ..xml import element
from . import gazebo_sensors
from .sensors import Sensors


def elements(body: Body, frames: BodyFrames, options: UrdfOptions) -> list[Element]:
    """Return the blocks, if the options ask for them: one for each link and joint that has any.

    What Gazebo cannot simulate is left out: a scanner without an end to its range, a lens that
    bends, a force sensor between a link and a massless one that is fixed to it.
    """
    if not options.gazebo:
        return []
    sensors = Sensors(body, frames)
    return [
        *_stand(body, frames),
        *_blocks((frames.links[name], sensor) for name, sensor in gazebo_sensors.on_links(sensors)),
        *_blocks(
            (frames.joints[name], inside) for name, inside in gazebo_sensors.in_joints(sensors)
        ),
    ]


def _blocks(parts: Iterable[tuple[str, Element]]) -> list[Element]:
    """Return one block for each link or joint, in order of their first part."""
    by_name: dict[str, list[Element]] = {}
    for name, part in parts:
        by_name.setdefault(name, []).append(part)
    return [element("gazebo", *inside, reference=name) for name, inside in by_name.items()]


def _stand(body: Body, frames: BodyFrames) -> list[Element]:
    """Return what keeps a robot that is fixed to the world from falling."""
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
