"""Contacts, gravity and springs of a body in the words of Gazebo."""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree.ElementTree import Element

from ...body import Body, Link
from ...geometry import Surface, SurfaceRule
from ..xml import element


def on_links(body: Body) -> Iterator[tuple[str, Element]]:
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


def in_joints(body: Body) -> Iterator[tuple[str, Element]]:
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
