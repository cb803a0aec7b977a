"""Joints that controllers command, their command interfaces, inertias and servo gains."""

from __future__ import annotations

from enum import Enum
from typing import TypeVar
from weakref import WeakKeyDictionary

import numpy as np

from ..body import Body, JointType, Link
from ..late_dataclass import dataclass
from ..rigid import Array
from . import BodyState
from .arrays import cross
from .loops import mimic_joints
from .vehicle import rolling_wheels

# Natural frequency of simulated servos, in [rad/s]. Stiff enough that a limb sags by a few
# milliradians under its own weight: g / (l w^2) = 3 mrad for a limb of 0.3 m.
NATURAL_FREQUENCY = 100.0
# Minimum inertia for gains, in [kg m^2] or [kg]: a servo without gains does nothing, and many
# readers refuse it.
_MIN_INERTIA = 1e-6
_T = TypeVar("_T", float, Array)


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


def apparent_inertias(body: Body, q: Array, *, fixed: bool) -> Array:
    """Return the inertia that each joint accelerates, with its rotor.

    That of the links below the joint or, if the root is free and the robot may stand on those
    links, that of all the others, whichever is larger. Joints that follow it add theirs.

    Args:
        body: The model.
        q: Joint positions, in [rad] or [m], shape (joints,).
        fixed: Whether the root is fixed to the world.

    Returns:
        In [kg m^2] or [kg], shape (joints,).
    """
    state = BodyState(body, fix_root=False)
    state.q[:] = q
    state.calc_forward_kinematics()
    with_rotor = state.calc_joint_inertias()
    followers = _of_followers(state)
    if fixed:
        return with_rotor + followers
    rotor = np.array([link.joint.equivalent_rotor_inertia for link in body.moving_links])
    # The whole robot as one rigid body that moves about the joint's axis at unit speed.
    twists = _twists(state)
    whole: Array = np.einsum("ni,ij,nj->n", twists, state.calc_root_inertia(), twists)
    below = with_rotor - rotor
    largest: Array = rotor + np.maximum(below, whole - below)
    return largest + followers


def initial_inertias(body: Body) -> dict[str, float]:
    """Return ``apparent_inertias`` in the model's initial posture, by link name."""
    q = np.array([link.joint.initial for link in body.moving_links])
    inertias = apparent_inertias(body, q, fixed=body.is_root_fixed)
    names = (link.name for link in body.moving_links)
    return dict(zip(names, inertias.tolist(), strict=True))


def critically_damped(inertia: _T, frequency: float) -> tuple[_T, _T]:
    """Return (kp, kd) of critically damped servos: they settle fastest without overshoot.

    kp = w^2 I and kd = 2 w I: I q'' + kd (q' - v) + kp (q - r) = 0 has a double pole at -w.

    Args:
        inertia: Inertia that the servo accelerates, in [kg m^2] or [kg]; a minimum applies, so
            that gains are never zero.
        frequency: Natural frequency w, in [rad/s].

    Returns:
        Stiffness in [N m/rad] or [N/m] and damping in [N m s/rad] or [N s/m].
    """
    inertia = np.maximum(inertia, _MIN_INERTIA)
    return frequency**2 * inertia, 2.0 * frequency * inertia


def _of_followers(state: BodyState) -> Array:
    """Return what joints that follow each joint add to the inertia about it, shape (joints,)."""
    links = state.body.moving_links
    added = np.zeros(len(links))
    index = {link.name: i for i, link in enumerate(links)}
    moved = np.eye(len(links))  # motion of all joints with each one
    for i, link in enumerate(links):
        mimic = link.joint.mimic
        if mimic is not None and mimic.link in index:
            moved[index[mimic.link], i] = mimic.multiplier
    leaders = np.flatnonzero(np.count_nonzero(moved, axis=1) > 1)
    if len(leaders):
        M = state.calc_mass_matrix()[6:, 6:]
        added[leaders] = np.einsum("li,ij,lj->l", moved[leaders], M, moved[leaders])
        added[leaders] -= np.diag(M)[leaders]
    return added


def _twists(state: BodyState) -> Array:
    """Return the root's velocities if the rigid robot moves about each joint at unit speed.

    Linear then angular, in world axes, at 1 rad/s or 1 m/s, shape (joints, 6).
    """
    twists = np.zeros((len(state.body.moving_links), 6))
    for twist, link in zip(twists, state.body.moving_links, strict=True):
        i = state.body.link_index(link.name)
        axis = state.R[i] @ link.joint.axis
        if link.joint.type is JointType.REVOLUTE:
            twist[:3] = cross(axis, state.p[0] - state.p[i])
            twist[3:] = axis
        else:
            twist[:3] = axis
    return twists
