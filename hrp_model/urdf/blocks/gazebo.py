"""The <gazebo> blocks: sensors, contacts, and how Gazebo (gz-sim) fixes the robot to the world."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from xml.etree.ElementTree import Element

from ...body import Body, Link
from ...frames import BodyFrames, unique_name
from ...geometry import Surface, SurfaceRule
from ..options import UrdfOptions
from ..xml import element
from . import gazebo_sensors
from .sensors import Sensors


def elements(body: Body, frames: BodyFrames, options: UrdfOptions) -> list[Element]:
    """Return the blocks that the options request, at most one for each link and joint.

    Left out is what Gazebo cannot simulate: a scanner with unlimited range, a fisheye
    lens, a force sensor between a link and a massless one that is fixed to it.
    """
    if not options.gazebo:
        return []
    sensors = Sensors(body, frames)
    on_links = (*gazebo_sensors.on_links(sensors), *_contacts(body))
    in_joints = (*gazebo_sensors.in_joints(sensors), *_springs(body))
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


def _contacts(body: Body) -> Iterator[tuple[str, Element]]:
    """Yield the elements of links, with the names of the links in the body.

    Left out is what a link's block cannot express: surfaces by the rules of MuJoCo, with a
    direction or a restitution, or of some shapes only; a share of the weight.
    """
    for link in body.links:
        surface = _surface(link)
        if surface is not None and surface.friction is not None:
            yield link.name, element("mu1", text=surface.friction)
            yield link.name, element("mu2", text=surface.friction_across or 0.0)
        if surface is not None and surface.stiffness is not None:
            yield link.name, element("kp", text=surface.stiffness)
            yield link.name, element("kd", text=surface.damping)
        if link.weight_share == 0.0:
            yield link.name, element("turnGravityOff", text=True)


def _springs(body: Body) -> Iterator[tuple[str, Element]]:
    """Yield the springs of joints, with the names of their links in the body."""
    for link in body.links:
        if link.joint.moves and link.joint.stiffness > 0.0:
            yield link.name, element("springStiffness", text=link.joint.stiffness)
            yield link.name, element("springReference", text=link.joint.rest_position)


def _surface(link: Link) -> Surface | None:
    """Return the surface that all collision shapes of a link have."""
    surfaces = {shape.surface for shape in link.collision}
    [surface] = surfaces if len(surfaces) == 1 else [None]
    if surface is None or surface.rule is not SurfaceRule.GAZEBO:
        return None
    return surface if surface.direction is None and surface.restitution is None else None
