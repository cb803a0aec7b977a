"""Mimic joints of a placed body, between its joints."""

from __future__ import annotations

from math import isfinite

import numpy as np

from hrp_model import Link

from ..engine import Placement
from ..state import MAX_DRIVE_VALUE
from .articulation import Gears, JointKind, Joints, link_error

_MAX_RATIO = 1e6


def flatten_gears(placement: Placement, joints: Joints) -> Gears:
    """Return the mimic joints of a body as flat arrays.

    Args:
        placement: The body.
        joints: Its joints.

    Raises:
        PhysicsError: A joint follows one that does not move, or itself, or a number is not finite
            or too large; the message names the link.
    """
    body = placement.body
    moving = [kind != JointKind.FIXED for kind in joints.kind.tolist()]
    row = {
        body.links[link].name: j
        for j, link in enumerate(joints.link.tolist())
        if moving[j] and joints.coordinate[j] >= 0
    }
    leaders: dict[str, str] = {}
    found = []
    for link in body.moving_links:
        mimic = link.joint.mimic
        if mimic is None:
            continue
        if link.name not in row or mimic.link not in row:
            problem = f"its joint follows that of '{mimic.link}', but one of them does not move"
            raise link_error(placement, link, problem)
        leaders[link.name] = mimic.link
        _check_numbers(placement, link, mimic.multiplier, mimic.offset)
        found.append((row[link.name], row[mimic.link], mimic.multiplier, mimic.offset))
    _check_cycles(placement, leaders)
    return Gears(
        follower=np.array([x[0] for x in found], dtype=np.int32),
        leader=np.array([x[1] for x in found], dtype=np.int32),
        ratio=np.array([x[2] for x in found], dtype=np.float64),
        offset=np.array([x[3] for x in found], dtype=np.float64),
    )


def _check_numbers(placement: Placement, link: Link, ratio: float, offset: float) -> None:
    if not (isfinite(ratio) and abs(ratio) <= _MAX_RATIO):
        problem = f"its mimic joint has the multiplier {ratio:g}, beyond {_MAX_RATIO:g}"
        raise link_error(placement, link, problem)
    if not (isfinite(offset) and abs(offset) < MAX_DRIVE_VALUE):
        problem = f"its mimic joint has the offset {offset:g}, beyond {MAX_DRIVE_VALUE:g}"
        raise link_error(placement, link, problem)


def _check_cycles(placement: Placement, leaders: dict[str, str]) -> None:
    known: set[str] = set()  # lead to a joint that follows no other
    for name in leaders:
        chain: set[str] = set()
        leader: str | None = name
        while leader is not None and leader not in known:
            if leader in chain:
                link = placement.body.link(leader)
                problem = f"its joint '{link.joint.name}' follows itself"
                raise link_error(placement, link, problem)
            chain.add(leader)
            leader = leaders.get(leader)
        known |= chain
