"""Resolve mimic joints, including chains of them."""

from __future__ import annotations

from collections.abc import Mapping

from ...body import Mimic
from ...diagnostics import Diagnostics, Span, did_you_mean
from .joints import JointParts


def resolve_mimics(moving: Mapping[str, JointParts], diagnostics: Diagnostics) -> dict[str, Mimic]:
    """Return the mimic of each joint that has one, by name of the joint.

    Chains are resolved: a joint that mimics a follower follows the leader of that one.

    Args:
        moving: The joints that move, by name.
        diagnostics: Receives warnings about unknown leaders and cycles; such joints move
            independently.
    """
    leaders = _leaders(moving, diagnostics)
    found: dict[str, Mimic] = {}
    for name in list(leaders):
        for follower in reversed(_chain(name, leaders, found, moving, diagnostics)):
            found[follower] = _composed(moving[follower], moving[leaders[follower]], found)
    return found


def _leaders(moving: Mapping[str, JointParts], diagnostics: Diagnostics) -> dict[str, str]:
    """Return the name of the joint that each joint mimics directly."""
    leaders: dict[str, str] = {}
    for name, parts in moving.items():
        if parts.mimic is None:
            continue
        leader = parts.mimic[0]
        if leader in moving:
            leaders[name] = leader
        else:
            message = f"<mimic> of joint '{name}' is ignored: there is no moving joint '{leader}'."
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
    """Return the unresolved joints from one on along its chain of leaders; remove cycles."""
    chain: dict[str, None] = {}
    while name in leaders and name not in found:
        if name in chain:
            names = list(chain)
            for member in names[names.index(name) :]:
                message = f"<mimic> of joint '{member}' is ignored: it would follow itself"
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
