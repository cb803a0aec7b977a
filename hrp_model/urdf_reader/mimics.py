"""Joints that follow others: from names to the joint that leads them all."""

from __future__ import annotations

from collections.abc import Mapping

from ..body import Mimic
from ..diagnostics import Diagnostics, Span, did_you_mean
from .joints import JointParts


def resolved(moving: Mapping[str, JointParts], diagnostics: Diagnostics) -> dict[str, Mimic]:
    """Return what each joint follows, by the name of the joint that follows.

    Where one follows another that follows a third, it follows the third.

    Args:
        moving: The joints that move, by name.
        diagnostics: Where warnings go: of leaders that are none, and of circles.
    """
    found: dict[str, Mimic] = {}
    for name, parts in moving.items():
        if parts.mimic is not None:
            mimic = _leader(name, moving, diagnostics)
            if mimic is not None:
                found[name] = mimic
    return found


def _leader(name: str, moving: Mapping[str, JointParts], diagnostics: Diagnostics) -> Mimic | None:
    multiplier, offset = 1.0, 0.0
    passed: set[str] = set()
    parts = moving[name]
    while parts.mimic is not None:
        leader, m, o = parts.mimic
        multiplier, offset = multiplier * m, multiplier * o + offset
        if leader not in moving:
            if not passed:  # else it is reported of the joint in between
                message = f"joint '{name}' moves by itself: '{leader}' is no joint that moves."
                message += did_you_mean(leader, moving)
                diagnostics.warn("unknown-joint", message, _place(parts))
            return None
        passed.add(parts.joint.name)
        if leader in passed:
            message = f"joint '{name}' moves by itself: in the end it would follow itself"
            diagnostics.warn("mimic-cycle", message, _place(moving[name]))
            return None
        parts = moving[leader]
    return Mimic(parts.child, multiplier, offset)


def _place(parts: JointParts) -> Span:
    written = parts.element.first("mimic")
    return parts.element.span if written is None else written.at("joint")
