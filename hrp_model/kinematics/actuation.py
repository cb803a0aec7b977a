"""Which joints of a body controllers command, and by what."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from weakref import WeakKeyDictionary

from ..body import Body, Link
from .loops import mimic_joints
from .vehicle import rolling_wheels


class CommandInterface(Enum):
    """What a controller asks of a joint; the values are ros2_control's names."""

    POSITION = "position"
    VELOCITY = "velocity"
    EFFORT = "effort"


@dataclass(frozen=True, eq=False)
class ControlledJoint:
    """A joint that moves, as controllers see it.

    Attributes:
        link: The link that the joint moves.
        command_interface: What controllers command; None for a joint that they only watch.
    """

    link: Link
    command_interface: CommandInterface | None


_FOUND: WeakKeyDictionary[Body, dict[CommandInterface, tuple[ControlledJoint, ...]]] = (
    WeakKeyDictionary()
)


def controlled_joints(
    body: Body, command: CommandInterface = CommandInterface.POSITION
) -> tuple[ControlledJoint, ...]:
    """Return the joints that move, those commanded first, else in the order of joint vectors.

    Commanded are the joints with an id: the formats number the joints that have motors. One
    that follows another because a loop leaves it no freedom is only watched. The wheels that
    a body rolls on are commanded by velocity where joints are commanded by position.

    Args:
        body: The robot. A joint between its root and the world is left out.
        command: How joints are commanded.
    """
    found = _FOUND.setdefault(body, {})
    if command not in found:
        found[command] = _find(body, command)
    return found[command]


def _find(body: Body, command: CommandInterface) -> tuple[ControlledJoint, ...]:
    followers = mimic_joints(body)
    wheels = rolling_wheels(body) if command is CommandInterface.POSITION else frozenset()
    commanded: list[ControlledJoint] = []
    watched: list[ControlledJoint] = []
    for link in body.moving_links:
        if link.parent is None:
            continue
        if link.joint.id is None or link.name in followers:
            watched.append(ControlledJoint(link, None))
        else:
            how = CommandInterface.VELOCITY if link.name in wheels else command
            commanded.append(ControlledJoint(link, how))
    return (*commanded, *watched)
