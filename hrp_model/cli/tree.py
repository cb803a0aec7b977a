"""A Body as a text tree of links, joints and devices."""

from __future__ import annotations

from math import degrees, isinf

from rich.text import Text
from rich.tree import Tree

from ..body import Body, Joint, JointType, Link, Range
from ..devices import Device, GenericDevice
from ..printable import printable


def body_tree(body: Body) -> Tree:
    """Return the links from the root down, each with its joint, mass and devices."""
    title = _label(
        (body.name, "bold"),
        f"  {_count(len(body.links), 'link')}, {_count(len(body.moving_links), 'moving joint')}, "
        f"{_count(len(body.devices), 'device')}, {body.total_mass:.6g} kg",
    )
    top = Tree(title)
    branches: dict[str, Tree] = {}
    for link in body.links:
        above = top if link.parent is None else branches[link.parent]
        branches[link.name] = branch = above.add(_link_label(link))
        for device in body.devices:
            if device.link == link.name:
                branch.add(_device_label(device))
    for extra in body.extra_joints:
        label = f"{extra.type.value} between {extra.links[0]} and {extra.links[1]}"
        top.add(_label(("loop ", "magenta"), label))
    return top


def _label(*parts: str | tuple[str, str]) -> Text:
    """Return a text of parts, each with an optional style."""
    pairs = [(part, "") if isinstance(part, str) else part for part in parts]
    return Text.assemble(*((printable(text), style) for text, style in pairs))


def _link_label(link: Link) -> Text:
    joint = link.joint
    words = [joint.type.value]
    if joint.name != link.name:
        words.append(f"'{joint.name}'")
    if joint.id is not None:
        words.append(f"id {joint.id}")
    if joint.type not in (JointType.FIXED, JointType.FREE):
        words.append(f"axis {_axis(joint)}")
    if joint.moves:
        words.append(_range(joint.position, in_degrees=joint.type is JointType.REVOLUTE))
    return _label(
        (link.name, "bold cyan"),
        "  " + " ".join(words),
        (f"  {link.mass:.6g} kg" if link.mass else "", "green"),
    )


def _axis(joint: Joint) -> str:
    for index, letter in enumerate("xyz"):
        if abs(joint.axis[index]) > 1.0 - 1e-12:
            return ("-" if joint.axis[index] < 0.0 else "") + letter
    return "(" + ", ".join(f"{c:.4g}" for c in joint.axis) + ")"


def _range(position: Range, *, in_degrees: bool) -> str:
    def text(value: float) -> str:
        if isinf(value):
            return "-∞" if value < 0.0 else "∞"
        return f"{degrees(value):.4g}°" if in_degrees else f"{value:.4g} m"

    return f"[{text(position.lower)}, {text(position.upper)}]"


def _device_label(device: Device) -> Text:
    kind = device.type_name if isinstance(device, GenericDevice) else type(device).__name__
    number = "" if device.id is None else f" id {device.id}"
    return _label((device.name, "yellow"), f"  {kind}{number}")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")
