"""Steps that would take more memory and time than anybody has: ``ode/_core_guard.c``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ..ode.guard import FAULT_ROWS, MOST_ROWS
from .assembly import Assembly

CONTACT_ROWS, JOINT_ROWS = 3, 6  # at most
Ends = tuple[Any, Any]
Fault = tuple[int, int, int]


def find_crowd(
    bodies: Sequence[Assembly], contacts: int, ends: Iterable[tuple[Ends, int]]
) -> Fault | None:
    """Return the fault of the first island with too many rows for WorldStep, or None.

    Args:
        bodies: In their order.
        contacts: Of the step.
        ends: Bodies and rows of each of them.
    """
    rows = CONTACT_ROWS * contacts
    rows += sum(JOINT_ROWS * (2 * len(b.joints) + len(b.loops)) for b in bodies)
    if rows <= MOST_ROWS:
        return None
    parents = {id(g): id(g) for b in bodies for g in b.groups}
    totals = dict.fromkeys(parents, 0)
    for (a, b), count in (*ends, *_ends(bodies)):
        first = _root(parents, id(b if a is None else a))
        if a is not None and b is not None:
            second = _root(parents, id(b))
            if first != second:
                parents[second] = first
                totals[first] += totals[second]
        totals[first] += count
    for body in bodies:
        for g, group in enumerate(body.groups):
            if totals[_root(parents, id(group))] > MOST_ROWS:
                return FAULT_ROWS, body.number, g
    return None


def _ends(bodies: Sequence[Assembly]) -> Iterable[tuple[Ends, int]]:
    for body in bodies:
        for joint in body.joints:
            yield joint.bodies, JOINT_ROWS * (2 if joint.motor else 1)
        for loop in body.loops:
            yield (loop.getBody(0), loop.getBody(1)), JOINT_ROWS


def _root(parents: dict[int, int], key: int) -> int:
    while parents[key] != key:
        parents[key] = parents[parents[key]]
        key = parents[key]
    return key
