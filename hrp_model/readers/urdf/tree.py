"""The tree that links and joints make: one root, and parents before their children."""

from __future__ import annotations

from collections.abc import Mapping
from heapq import heappop, heappush

from ...diagnostics import Diagnostics, did_you_mean
from .conventions import WORLD
from .joints import JointParts
from .links import LinkParts
from .xml_tree import Element

_SHOWN = 4


def joints_by_child(
    joints: Mapping[str, JointParts], links: Mapping[str, LinkParts], diagnostics: Diagnostics
) -> dict[str, JointParts] | None:
    """Return the joint above each link that has one; None after reporting errors.

    The parent "world" of a joint that is fixed or floats need not be a link.
    """
    above: dict[str, JointParts] = {}
    sound = True
    for joint in joints.values():
        name = joint.joint.name
        for what, end in (("parent", joint.parent), ("child", joint.child)):
            if end in links or (what == "parent" and end == WORLD and not joint.joint.moves):
                continue
            sound = False
            written = joint.element.first(what)
            at = joint.element.span if written is None else written.at("link")
            message = f"the {what} '{end}' of joint '{name}' is no link.{did_you_mean(end, links)}"
            diagnostics.error("unknown-link", message, at)
        if joint.child in above:
            sound = False
            other = above[joint.child].joint.name
            message = f"link '{joint.child}' hangs on two joints, '{other}' and '{name}'"
            diagnostics.error("second-parent", message, joint.element.span)
        above.setdefault(joint.child, joint)
    return above if sound else None


def ordered(
    links: Mapping[str, LinkParts],
    above: Mapping[str, JointParts],
    robot: Element,
    diagnostics: Diagnostics,
) -> list[str]:
    """Return the names of links, the root first, parents before their children.

    Else they keep the order of the file. An empty list comes back after reporting an error.
    """
    index = {name: i for i, name in enumerate(links)}
    children: dict[str, list[str]] = {}
    roots: list[str] = []
    for name in links:
        joint = above.get(name)
        if joint is None or joint.parent not in links:
            roots.append(name)
        else:
            children.setdefault(joint.parent, []).append(name)
    if len(roots) > 1:
        shown = ", ".join(f"'{name}'" for name in roots[:_SHOWN])
        more = f" and {len(roots) - _SHOWN} more" if len(roots) > _SHOWN else ""
        message = f"one link hangs on no other, the root; here {shown}{more} hang on none"
        diagnostics.error("second-root", message, links[roots[1]].element.span)
        return []
    found: list[str] = []
    ready = [(index[name], name) for name in roots]
    while ready:
        _, name = heappop(ready)
        found.append(name)
        for child in children.get(name, ()):
            heappush(ready, (index[child], child))
    if len(found) < len(links):
        reached = set(found)
        lost = next(name for name in links if name not in reached)
        message = f"link '{lost}' is its own ancestor, or hangs on one that is"
        at = above[lost].element.span if lost in above else robot.span
        diagnostics.error("link-cycle", message, at)
        return []
    return found
