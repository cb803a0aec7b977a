"""Joints that follow others: from names to the joint that leads them all."""

from __future__ import annotations

from collections.abc import Mapping

from ...body import Mimic
from ...diagnostics import Diagnostics, Span, did_you_mean
from .joints import JointParts


def resolved(moving: Mapping[str, JointParts], diagnostics: Diagnostics) -> dict[str, Mimic]:
    """Return what each joint follows, by the name of the joint that follows.

    Where one follows another that follows a third, it follows the third.

    Args:
        moving: The joints that move, by name.
        diagnostics: Where warnings go: of leaders that are none, and of circles. Such joints
            move by themselves.
    """
    leaders = _leaders(moving, diagnostics)
    found: dict[str, Mimic] = {}
    for name in list(leaders):
        for follower in reversed(_chain(name, leaders, found, moving, diagnostics)):
            found[follower] = _composed(moving[follower], moving[leaders[follower]], found)
    return found


def _leaders(moving: Mapping[str, JointParts], diagnostics: Diagnostics) -> dict[str, str]:
    """Return the name of the joint that each joint follows at first."""
    leaders: dict[str, str] = {}
    for name, parts in moving.items():
        if parts.mimic is None:
            continue
        leader = parts.mimic[0]
        if leader in moving:
            leaders[name] = leader
        else:
            message = f"joint '{name}' moves by itself: '{leader}' is no joint that moves."
            message += did_you_mean(leader, moving)
            diagnostics.warn("unknown-joint", message, _place(parts))
    return leaders


def _chain(
    name: str,
    leaders: dict[str, str],
    found: Mapping[str, Mimic],
    moving: Mapping[str, JointParts],
    diagnostics: Diagnostics,
) -> list[str]:
    """Return the joints from one to the last that still has to be found; undo circles."""
    chain: dict[str, None] = {}
    while name in leaders and name not in found:
        if name in chain:
            names = list(chain)
            for member in names[names.index(name) :]:
                message = f"joint '{member}' moves by itself: in the end it would follow itself"
                diagnostics.warn("mimic-cycle", message, _place(moving[member]))
                del leaders[member]
            break
        chain[name] = None
        name = leaders[name]
    return [name for name in chain if name in leaders]


def _composed(follower: JointParts, leader: JointParts, found: Mapping[str, Mimic]) -> Mimic:
    assert follower.mimic is not None
    _, multiplier, offset = follower.mimic
    above = found.get(leader.joint.name)
    if above is None:
        return Mimic(leader.child, multiplier, offset)
    return Mimic(above.link, multiplier * above.multiplier, multiplier * above.offset + offset)


def _place(parts: JointParts) -> Span:
    written = parts.element.first("mimic")
    return parts.element.span if written is None else written.at("joint")
