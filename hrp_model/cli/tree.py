"""A Body as a text tree of links, joints and devices."""

from __future__ import annotations

from rich.text import Text
from rich.tree import Tree

from ..body import Body, Link
from ..devices import Device
from ..printable import printable
from ..program.body_text import device_words, joint_words

# Levels of indentation; without a limit, the text grows with the square of the links of a chain.
_MAX_DEPTH = 40


def body_tree(body: Body) -> Tree:
    """Return the links from the root down, each with its joint, mass and devices.

    Links deeper than 40 levels are at this level, with the names of their parents.
    """
    title = _label(
        (body.name, "bold"),
        f"  {_count(len(body.links), 'link')}, {_count(len(body.moving_links), 'moving joint')}, "
        f"{_count(len(body.devices), 'device')}, {body.total_mass:.6g} kg",
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
        (f"  {link.mass:.6g} kg" if link.mass else "", "green"),
    )


def _device_label(device: Device) -> Text:
    return _label((device.name, "yellow"), f"  {device_words(device)}")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")
