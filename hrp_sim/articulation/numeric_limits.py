"""Bounds for the numbers of a placed body: beyond them ODE's arithmetic means nothing.

They are far from anything that is built, and near enough that no product of a few of them
leaves the range of a float64.
"""

from __future__ import annotations

from weakref import WeakSet

import numpy as np

from hrp_model import Body, Link
from hrp_model.rigid import Array, Pose, is_rotation

from ..physics.engine import PhysicsError, Placement
from .articulation import link_error

MAX_COORDINATE = 1e6  # [m], of any point from its link, and of a body from the origin
MAX_RANGE = 1e30  # [m], of what a sensor reaches or sees: float32 holds no more with ease
MAX_SPEED = 1e5  # [m/s] and [rad/s], as ODE's states are checked for
MAX_MASS = 1e15  # [kg]
MIN_MASS = 1e-15  # [kg], of a link that has mass at all
MAX_INERTIA = 1e20  # [kg m^2]
MAX_LINKS = 5000  # of one body: a table of who may touch whom has the square of it
MAX_SHAPE_PAIRS = 10_000_000  # of one body's shapes, each looked at in every step
MAX_ROTOR_INERTIA = 1e12  # [kg m^2] or [kg]


# Bodies whose own numbers were found good: they are frozen, and often placed again.
_checked_bodies: WeakSet[Body] = WeakSet()


def is_valid_mounting(X_LS: Pose) -> bool:
    """Tell whether a device can sit on a link like this: rigidly, and not absurdly far away."""
    return is_rotation(X_LS.R) and bool(np.all(np.abs(X_LS.p) < MAX_COORDINATE))


def check_numeric_limits(placement: Placement) -> None:
    """Check every number of a placement whose size has a bound.

    Raises:
        PhysicsError: One is not finite, or beyond its bound; the message names the link.
    """
    if placement.body not in _checked_bodies:
        _check_body(placement)
        _checked_bodies.add(placement.body)
    root = placement.body.root
    _bound(placement, root, "its placement lies", placement.X_WL.p, MAX_COORDINATE, "m")
    if not placement.fixed:
        _bound(placement, root, "it starts at", placement.v, MAX_SPEED, "m/s")
        _bound(placement, root, "it starts at", placement.w, MAX_SPEED, "rad/s")
    _check_joints(placement)


def check_link_count(placement: Placement) -> None:
    """Check that a body has no more links than can be simulated.

    Raises:
        PhysicsError: It has more.
    """
    count = len(placement.body.links)
    if count > MAX_LINKS:
        problem = f"it has {count} links, more than the {MAX_LINKS} that can be simulated"
        raise PhysicsError(f"body '{placement.name}': {problem}")


def _check_body(placement: Placement) -> None:
    check_link_count(placement)
    for link in placement.body.links:
        _check_link(placement, link)
    for joint in placement.body.extra_joints:
        link = placement.body.links[placement.body.link_index(joint.links[0])]
        points = np.concatenate([joint.X_AJ.p, joint.X_BJ.p])
        what = f"a point of its extra joint to '{joint.links[1]}' lies"
        _bound(placement, link, what, points, MAX_COORDINATE, "m")


def _check_link(placement: Placement, link: Link) -> None:
    _bound(placement, link, "its origin lies", link.X_PL.p, MAX_COORDINATE, "m")
    _bound(placement, link, "its centre of mass lies", link.center_of_mass, MAX_COORDINATE, "m")
    _bound(placement, link, "its mass is", np.array([link.mass]), MAX_MASS, "kg")
    _bound(placement, link, "its inertia is", link.inertia, MAX_INERTIA, "kg m^2")
    rotor = np.array([link.joint.equivalent_rotor_inertia])
    what = "its equivalent rotor inertia is"
    _bound(placement, link, what, rotor, MAX_ROTOR_INERTIA, "kg m^2 or kg")
    if 0.0 < link.mass < MIN_MASS:
        problem = f"its mass is {link.mass:g} kg, less than the {MIN_MASS:g} kg that can move"
        raise link_error(placement, link, problem)


def _check_joints(placement: Placement) -> None:
    for what, values, most in (("q", placement.q, MAX_COORDINATE), ("dq", placement.dq, MAX_SPEED)):
        if values is None or np.shape(values) != (len(placement.body.moving_links),):
            continue  # another check says so
        for link, value in zip(placement.body.moving_links, values, strict=True):
            if not abs(value) < most:
                problem = f"its joint starts at {what} = {value:g}, not within +-{most:g}"
                raise link_error(placement, link, problem)


def _bound(
    placement: Placement, link: Link, what: str, values: Array, most: float, unit: str
) -> None:
    if np.all(np.abs(values) < most):
        return
    worst = float(np.max(np.abs(values)))  # NaN if there is one
    raise link_error(placement, link, f"{what} {worst:g} {unit}, not below {most:g} {unit}")
