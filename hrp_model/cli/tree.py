"""A Body as a text tree of links, joints and devices."""

from __future__ import annotations

from rich.text import Text
from rich.tree import Tree

from ..body import Body, Link
from ..devices import Device
from ..printable import printable
from ..program.body_text import device_words, joint_words


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
    return _label(
        (link.name, "bold cyan"),
        f"  {joint_words(link)}",
        (f"  {link.mass:.6g} kg" if link.mass else "", "green"),
    )


def _device_label(device: Device) -> Text:
    return _label((device.name, "yellow"), f"  {device_words(device)}")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")
