"""Bounds on the numbers of a placed body.

They are far beyond any robot, and small enough that products of a few of them do not overflow
a float64.
"""

from __future__ import annotations

from math import copysign
from weakref import WeakSet

import numpy as np

from hrp_model import Body, Link
from hrp_model.diagnostics import number_text
from hrp_model.rigid import Array, Pose, is_rotation

from ..engine import PhysicsError, Placement
from ..state import MAX_DRIVE_VALUE
from .articulation import link_error

MAX_COORDINATE = 1e6  # [m], of points relative to their link, and of bodies to the origin
MAX_RANGE = 1e30  # [m], of sensors: well within float32
MAX_SPEED = 1e5  # [m/s] and [rad/s], as in the check of ODE's states
MAX_MASS = 1e15  # [kg]
MIN_MASS = 1e-15  # [kg], of a link that has mass at all
MAX_INERTIA = 1e20  # [kg m^2]
MAX_WEIGHT_SHARE = 1e3
MAX_LINKS = 5000  # of one body: the table of contacts has its square
MAX_SHAPE_PAIRS = 10_000_000  # of one body's shapes, checked in every step
MAX_ROTOR_INERTIA = 1e12  # [kg m^2] or [kg]
# Bodies whose own numbers have been checked: they are immutable, and often placed again.
_checked_bodies: WeakSet[Body] = WeakSet()


def is_valid_mounting(X_LS: Pose) -> bool:
    """Return whether the pose of a device on its link is rigid and within bounds."""
    return is_rotation(X_LS.R) and bool(np.all(np.abs(X_LS.p) < MAX_COORDINATE))


def check_body(placement: Placement) -> None:
    """Check every number of a body, but those of its shapes and the reasonableness of its masses.

    Raises:
        PhysicsError: It has more than ``MAX_LINKS``; or a number is not finite or beyond its
            bound, and the message names the link.
    """
    body = placement.body
    if body in _checked_bodies:
        return
    if len(body.links) > MAX_LINKS:
        problem = f"it has {len(body.links)} links, more than the {MAX_LINKS} that can be simulated"
        raise PhysicsError(f"body '{placement.name}': {problem}")
    for link in body.links:
        _check_link(placement, link)
    for joint in body.extra_joints:
        link = body.links[body.link_index(joint.links[0])]
        points = np.concatenate([joint.X_AJ.p, joint.X_BJ.p])
        name = f"the position of its extra joint to '{joint.links[1]}'"
        _bound(placement, link, name, points, MAX_COORDINATE, "m")
    _checked_bodies.add(body)


def check_start(placement: Placement, q: Array, dq: Array) -> None:
    """Check every number of the initial state of a placement.

    Args:
        placement: The body and its initial state.
        q: Initial joint positions, in [rad] or [m], shape (n,).
        dq: Initial joint velocities, shape (n,).

    Raises:
        PhysicsError: A number is not finite or beyond its bound; the message names the link.
    """
    root = placement.body.root
    _bound(placement, root, "its initial position", placement.X_WL.p, MAX_COORDINATE, "m")
    if not placement.fixed:
        _bound(placement, root, "its initial velocity", placement.v, MAX_SPEED, "m/s")
        _bound(placement, root, "its initial velocity", placement.w, MAX_SPEED, "rad/s")
    for name, values, bound in (("q", q, MAX_COORDINATE), ("dq", dq, MAX_SPEED)):
        for link, value in zip(placement.body.moving_links, values, strict=True):
            if not abs(value) < bound:
                shown = number_text(value, 6, bound=copysign(bound, value))
                problem = (
                    f"the initial {name} of its joint must be within +-{number_text(bound)}, "
                    f"not {shown}"
                )
                raise link_error(placement, link, problem)


def _check_link(placement: Placement, link: Link) -> None:
    if not is_rotation(link.X_PL.R):
        raise link_error(placement, link, "its pose is not a finite rigid transform")
    if link.mass < 0.0:
        problem = f"its mass must not be negative, not {link.mass:g} kg"
        raise link_error(placement, link, problem)
    if link.joint.moves:
        _check_joint(placement, link)
    _bound(placement, link, "its position in the parent", link.X_PL.p, MAX_COORDINATE, "m")
    _bound(placement, link, "its centre of mass", link.center_of_mass, MAX_COORDINATE, "m")
    _bound(placement, link, "its mass", np.array([link.mass]), MAX_MASS, "kg")
    _bound(placement, link, "its inertia", link.inertia, MAX_INERTIA, "kg m^2")
    share = np.array([link.weight_share])
    _bound(placement, link, "the share of its weight that acts", share, MAX_WEIGHT_SHARE, "")
    rest = np.array([link.joint.rest_position])
    _bound(placement, link, "the rest position of its spring", rest, MAX_COORDINATE, "rad or m")
    rotor = np.array([link.joint.equivalent_rotor_inertia])
    name = "its equivalent rotor inertia"
    _bound(placement, link, name, rotor, MAX_ROTOR_INERTIA, "kg m^2 or kg")
    if 0.0 < link.mass < MIN_MASS:
        shown = number_text(link.mass, 6, bound=MIN_MASS)
        problem = f"its mass must be 0 or at least {MIN_MASS:g} kg, not {shown} kg"
        raise link_error(placement, link, problem)


def _check_joint(placement: Placement, link: Link) -> None:
    joint = link.joint
    if not 1e-6 < float(np.linalg.norm(joint.axis)) < 1e6:
        problem = f"the length of its joint axis {joint.axis.tolist()} must be finite and not zero"
        raise link_error(placement, link, problem)
    for name, value in (
        ("equivalent rotor inertia", joint.equivalent_rotor_inertia),
        ("joint damping", joint.damping),
        ("joint friction", joint.friction),
        ("joint stiffness", joint.stiffness),
    ):
        if not 0.0 <= value < MAX_DRIVE_VALUE:
            shown = number_text(value, 6, bound=MAX_DRIVE_VALUE)
            problem = f"its {name} must be from 0 to below {MAX_DRIVE_VALUE:g}, not {shown}"
            raise link_error(placement, link, problem)


def _bound(
    placement: Placement, link: Link, name: str, values: Array, bound: float, unit: str
) -> None:
    if np.all(np.abs(values) < bound):
        return
    worst = float(np.max(np.abs(values)))  # NaN if there is one
    shown = number_text(worst, 6, bound=bound)
    problem = f"{name} must be below {number_text(bound)} {unit}, not {shown} {unit}"
    raise link_error(placement, link, problem)
