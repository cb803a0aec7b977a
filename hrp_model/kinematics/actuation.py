"""Joints that controllers command, and the command interface of each."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from weakref import WeakKeyDictionary

from ..body import Body, Link
from .loops import mimic_joints
from .vehicle import rolling_wheels


class CommandInterface(Enum):
    """Quantity that a controller commands of a joint; values are ros2_control's names."""

    POSITION = "position"
    VELOCITY = "velocity"
    EFFORT = "effort"


@dataclass(frozen=True, eq=False)
class ControlledJoint:
    """A moving joint and its command interface.

    Attributes:
        link: The link that the joint moves.
        command_interface: None for a joint that has state interfaces only.
    """

    link: Link
    command_interface: CommandInterface | None


_CACHE: WeakKeyDictionary[Body, dict[CommandInterface, tuple[ControlledJoint, ...]]] = (
    WeakKeyDictionary()
)


def controlled_joints(
    body: Body, command: CommandInterface = CommandInterface.POSITION
) -> tuple[ControlledJoint, ...]:
    """Return the moving joints: commanded ones first, each group in the order of joint vectors.

    Joints with an id are commanded, since the formats number the joints that have motors.
    Mimic joints are not. Where joints are commanded by position, the wheels that a body rolls
    on are commanded by velocity.

    Args:
        body: The robot. A joint between its root and the world is left out.
        command: Command interface of the joints.
    """
    cached = _CACHE.setdefault(body, {})
    if command not in cached:
        cached[command] = _controlled_joints(body, command)
    return cached[command]


def _controlled_joints(body: Body, command: CommandInterface) -> tuple[ControlledJoint, ...]:
    followers = mimic_joints(body)
    wheels = rolling_wheels(body) if command is CommandInterface.POSITION else frozenset()
    commanded: list[ControlledJoint] = []
    passive: list[ControlledJoint] = []
    for link in body.moving_links:
        if link.parent is None:
            continue
        if link.joint.id is None or link.name in followers:
            passive.append(ControlledJoint(link, None))
        else:
            interface = CommandInterface.VELOCITY if link.name in wheels else command
            commanded.append(ControlledJoint(link, interface))
    return (*commanded, *passive)
