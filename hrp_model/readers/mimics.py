"""Joints that a Body has in another form: mimic joints, and chains of joints.

Mimic joints of any format are resolved, including chains of them. Joints of several hinges become
chains of a Body's joints with links without mass between.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from ..body import Joint, JointType, Link, Mimic
from ..diagnostics import Diagnostics, Span, did_you_mean
from ..rigid import Pose


@dataclass(frozen=True)
class Follower:
    """How a joint follows another in a file.

    Attributes:
        leader: Name of the other joint, which may be a follower, too.
        multiplier, offset: As of a ``Mimic``.
        at: Place of the reference.
    """

    leader: str
    multiplier: float
    offset: float
    at: Span


def resolve_mimics(
    links: Mapping[str, str], followers: Mapping[str, Follower], diagnostics: Diagnostics
) -> dict[str, Mimic]:
    """Return the mimic of each joint that has one, by name of the joint.

    Chains are resolved: a joint that mimics a follower follows the leader of that one.

    Args:
        links: The link that each moving joint moves, by name of the joint.
        followers: By name of the joint; all are moving joints.
        diagnostics: Receives warnings about unknown leaders and cycles; such joints move
            independently.
    """
    known = {name: x for name, x in followers.items() if _has_leader(name, x, links, diagnostics)}
    found: dict[str, Mimic] = {}
    for name in list(known):
        for follower in reversed(_chain(name, known, found, diagnostics)):
            found[follower] = _composed(known[follower], links, found)
    return found


def _has_leader(
    name: str, follower: Follower, links: Mapping[str, str], diagnostics: Diagnostics
) -> bool:
    if follower.leader in links:
        return True
    message = f"<mimic> of joint '{name}' is ignored: there is no moving joint "
    message += f"'{follower.leader}'.{did_you_mean(follower.leader, links)}"
    diagnostics.warn("unknown-joint", message, follower.at)
    return False


def _chain(
    name: str,
    followers: dict[str, Follower],
    found: Mapping[str, Mimic],
    diagnostics: Diagnostics,
) -> list[str]:
    """Return the unresolved joints from one on along its chain of leaders; remove cycles."""
    chain: dict[str, None] = {}
    while name in followers and name not in found:
        if name in chain:
            names = list(chain)
            for member in names[names.index(name) :]:
                message = f"<mimic> of joint '{member}' is ignored: it would follow itself"
                diagnostics.warn("mimic-cycle", message, followers[member].at)
                del followers[member]
            break
        chain[name] = None
        name = followers[name].leader
    return [name for name in chain if name in followers]


def _composed(follower: Follower, links: Mapping[str, str], found: Mapping[str, Mimic]) -> Mimic:
    multiplier, offset = follower.multiplier, follower.offset
    above = found.get(follower.leader)
    if above is None:
        return Mimic(links[follower.leader], multiplier, offset)
    return Mimic(above.link, multiplier * above.multiplier, multiplier * above.offset + offset)


def ball_hinges(joint: Joint, new_name: Callable[[str], str]) -> list[Joint]:
    """Return the three hinges of a ball joint, from the parent on.

    They are about Z, X and Y of the joint frame, so that the rotation of the child at positions z,
    x and y is R_Z(z) R_X(x) R_Y(y). This is singular only where x is 90 degrees: neither for a ball
    that rolls ahead along X below a turning robot, nor for pendulums and tops that are tilted by
    less than that. The hinges have no motors.

    Args:
        joint: Of the ball: its name, its damping about each axis and so on.
        new_name: Returns an unused name similar to the given one.
    """
    return [
        replace(
            joint,
            type=JointType.REVOLUTE,
            name=new_name(f"{joint.name}_{letter}"),
            axis=axis,
            is_passive=True,
        )
        for letter, axis in zip("zxy", np.eye(3)[[2, 0, 1]], strict=True)
    ]


def intermediate_link(name: str, parent: str | None, joint: Joint, X_PL: Pose, at: Span) -> Link:
    """Return the link that a joint of a chain, other than the last one, moves."""
    return Link(name=name, parent=parent, joint=joint, X_PL=X_PL, at=at, is_between_joints=True)
