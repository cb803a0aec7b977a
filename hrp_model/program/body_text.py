"""A Body as a text tree of links, joints and devices, and short texts about these."""

from __future__ import annotations

from math import degrees, isinf

from rich.text import Text
from rich.tree import Tree

from ..body import Body, Joint, JointType, Link, Range
from ..devices import Device
from ..diagnostics import number_text
from ..printable import printable

# Levels of indentation; without a limit, the text grows with the square of the links of a chain.
_MAX_DEPTH = 40


def joint_words(link: Link) -> str:
    """Return the joint of a link in words: type, name and id, axis and range of positions."""
    joint = link.joint
    words = [joint.type.value]
    if joint.name != link.name:
        words.append(f"'{joint.name}'")
    if joint.id is not None:
        words.append(f"id {joint.id}")
    if joint.type not in (JointType.FIXED, JointType.FREE):
        words.append(f"axis {axis_words(joint)}")
    if joint.moves:
        words.append(range_words(joint.position, in_degrees=joint.type is JointType.REVOLUTE))
    return " ".join(words)


def axis_words(joint: Joint) -> str:
    """Return the axis of a joint: "x", "-z", or its elements."""
    for index, letter in enumerate("xyz"):
        if abs(joint.axis[index]) > 1.0 - 1e-12:
            return ("-" if joint.axis[index] < 0.0 else "") + letter
    return "(" + ", ".join(f"{c:.4g}" for c in joint.axis) + ")"


def range_words(position: Range, *, in_degrees: bool) -> str:
    """Return a range of positions, such as "[-90°, ∞]" or "[0 m, 0.2 m]".

    Args:
        position: In [rad] or [m].
        in_degrees: Whether it is an angle.
    """

    def text(value: float) -> str:
        if isinf(value):
            return "-∞" if value < 0.0 else "∞"
        return f"{degrees(value):.4g}°" if in_degrees else f"{value:.4g} m"

    return f"[{text(position.lower)}, {text(position.upper)}]"


def device_words(device: Device) -> str:
    """Return the kind of a device and its id."""
    return device.kind if device.id is None else f"{device.kind} id {device.id}"


def body_tree(body: Body) -> Tree:
    """Return the links from the root down, each with its joint, mass and devices.

    Links deeper than 40 levels are at this level, with the names of their parents.
    """
    title = _label(
        (body.name, "bold"),
        f"  {_count(len(body.links), 'link')}, {_count(len(body.moving_links), 'moving joint')}, "
        f"{_count(len(body.devices), 'device')}, {number_text(body.total_mass, 6)} kg",
    )
    top = Tree(title)
    devices: dict[str, list[Device]] = {}
    for device in body.devices:
        devices.setdefault(device.link, []).append(device)
    places: dict[str | None, tuple[Tree, int]] = {None: (top, 0)}  # nodes and depths of parents
    for link in body.links:
        above, depth = places[link.parent]
        words = _link_label(link)
        if depth > _MAX_DEPTH:
            words.append_text(_label(("  parent ", "magenta"), link.parent or ""))
        branch = above.add(words)
        places[link.name] = (branch, depth + 1) if depth < _MAX_DEPTH else (above, depth + 1)
        for device in devices.get(link.name, ()):
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
    return _label(
        (link.name, "bold cyan"),
        f"  {joint_words(link)}",
        (f"  {number_text(link.mass, 6)} kg" if link.mass else "", "green"),
    )


def _device_label(device: Device) -> Text:
    return _label((device.name, "yellow"), f"  {device_words(device)}")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")
