"""Build the tree of links and joints: one root, parents before their children."""

from __future__ import annotations

from collections.abc import Mapping
from heapq import heappop, heappush

from ...diagnostics import Diagnostics, did_you_mean
from ..xml_tree import Element
from .conventions import WORLD
from .joints import JointParts
from .links import LinkParts

_MAX_LISTED = 4


def joints_by_child(
    joints: Mapping[str, JointParts], links: Mapping[str, LinkParts], diagnostics: Diagnostics
) -> dict[str, JointParts] | None:
    """Return the joint above each link that has one; None after reporting errors.

    The parent "world" of a fixed or floating joint need not be defined as a link.
    """
    above: dict[str, JointParts] = {}
    valid = True
    for joint in joints.values():
        name = joint.joint.name
        for role, link in (("parent", joint.parent), ("child", joint.child)):
            if link in links or (role == "parent" and link == WORLD and not joint.joint.moves):
                continue
            valid = False
            written = joint.element.first(role)
            at = joint.element.span if written is None else written.at("link")
            hint = did_you_mean(link, links)
            message = f"the {role} '{link}' of joint '{name}' is not defined as a link.{hint}"
            diagnostics.error("unknown-link", message, at)
        if joint.child in above:
            valid = False
            other = above[joint.child].joint.name
            message = f"link '{joint.child}' is the child of two joints, '{other}' and '{name}'"
            diagnostics.error("second-parent", message, joint.element.span)
        above.setdefault(joint.child, joint)
    return above if valid else None


def ordered(
    links: Mapping[str, LinkParts],
    above: Mapping[str, JointParts],
    robot: Element,
    diagnostics: Diagnostics,
) -> list[str]:
    """Return the names of links, parents before their children, else in the order of the file.

    Empty after reporting an error.
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
        shown = ", ".join(f"'{name}'" for name in roots[:_MAX_LISTED])
        more = f" and {len(roots) - _MAX_LISTED} more" if len(roots) > _MAX_LISTED else ""
        message = (
            f"a robot must have exactly one link without a parent, but {shown}{more} have none"
        )
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
        message = f"link '{lost}' is its own ancestor, or the descendant of such a link"
        at = above[lost].element.span if lost in above else robot.span
        diagnostics.error("link-cycle", message, at)
        return []
    return found
