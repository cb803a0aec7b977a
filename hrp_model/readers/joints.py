"""Joints of any format: mimic joints, chains of joints, resistances and circles of links.

Mimic joints are resolved, including chains of them. Joints of several hinges become chains of a
Body's joints with links without mass between.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import replace

import numpy as np

from ..body import Joint, JointType, Link, Mimic
from ..diagnostics import Diagnostics, Span, did_you_mean
from ..late_dataclass import dataclass
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


def resistance(name: str, value: float, at: Span, diagnostics: Diagnostics) -> float:
    """Return damping, friction or stiffness; 0 after warning of a negative one.

    Args:
        name: Of the value, as messages name it.
        value: As stated.
        at: Its place.
        diagnostics: Receives the warning.
    """
    if value < 0.0:
        message = f"{name} is {value:g}, but it must not be negative; 0 is used"
        diagnostics.warn("negative-resistance", message, at)
    return max(value, 0.0)


def has_circle(
    links: Iterable[str],
    reached: Container[str],
    at: Callable[[str], Span],
    diagnostics: Diagnostics,
) -> bool:
    """Return whether links are not below a root; reports the first of them as an error.

    Args:
        links: All links, by name.
        reached: Those that descend from a root.
        at: Returns the place of a link.
        diagnostics: Receives the error.
    """
    lost = next((name for name in links if name not in reached), None)
    if lost is None:
        return False
    message = f"link '{lost}' is its own ancestor, or the descendant of such a link"
    diagnostics.error("link-cycle", message, at(lost))
    return True


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
