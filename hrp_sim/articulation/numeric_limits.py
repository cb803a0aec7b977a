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

FARTHEST = 1e6  # [m], of any point from its link, and of a body from the origin
ENDLESS = 1e30  # [m], of what a sensor reaches or sees: float32 holds no more with ease
FASTEST = 1e5  # [m/s] and [rad/s], as ODE's states are checked for
HEAVIEST = 1e15  # [kg]
LIGHTEST = 1e-15  # [kg], of a link that has mass at all
LARGEST_INERTIA = 1e20  # [kg m^2]
MOST_LINKS = 5000  # of one body: a table of who may touch whom has the square of it
MOST_PAIRS = 10_000_000  # of one body's shapes, each looked at in every step
LARGEST_ROTOR_INERTIA = 1e12  # [kg m^2] or [kg]


# Bodies whose own numbers were found good: they are frozen, and often placed again.
_sound: WeakSet[Body] = WeakSet()


def is_mounting(X_LS: Pose) -> bool:
    """Tell whether a device can sit on a link like this: rigidly, and not absurdly far away."""
    return is_rotation(X_LS.R) and bool(np.all(np.abs(X_LS.p) < FARTHEST))


def check_magnitudes(placement: Placement) -> None:
    """Check every number of a placement whose size has a bound.

    Raises:
        PhysicsError: One is not finite, or beyond its bound; the message names the link.
    """
    if placement.body not in _sound:
        _check_body(placement)
        _sound.add(placement.body)
    root = placement.body.root
    _bound(placement, root, "its placement lies", placement.X_WL.p, FARTHEST, "m")
    if not placement.fixed:
        _bound(placement, root, "it starts at", placement.v, FASTEST, "m/s")
        _bound(placement, root, "it starts at", placement.w, FASTEST, "rad/s")
    _check_joints(placement)


def check_count(placement: Placement) -> None:
    """Check that a body has no more links than can be simulated.

    Raises:
        PhysicsError: It has more.
    """
    count = len(placement.body.links)
    if count > MOST_LINKS:
        problem = f"it has {count} links, more than the {MOST_LINKS} that can be simulated"
        raise PhysicsError(f"body '{placement.name}': {problem}")


def _check_body(placement: Placement) -> None:
    check_count(placement)
    for link in placement.body.links:
        _check_link(placement, link)
    for joint in placement.body.extra_joints:
        link = placement.body.links[placement.body.link_index(joint.links[0])]
        points = np.concatenate([joint.X_AJ.p, joint.X_BJ.p])
        what = f"a point of its extra joint to '{joint.links[1]}' lies"
        _bound(placement, link, what, points, FARTHEST, "m")


def _check_link(placement: Placement, link: Link) -> None:
    _bound(placement, link, "its origin lies", link.X_PL.p, FARTHEST, "m")
    _bound(placement, link, "its centre of mass lies", link.center_of_mass, FARTHEST, "m")
    _bound(placement, link, "its mass is", np.array([link.mass]), HEAVIEST, "kg")
    _bound(placement, link, "its inertia is", link.inertia, LARGEST_INERTIA, "kg m^2")
    rotor = np.array([link.joint.equivalent_rotor_inertia])
    what = "its equivalent rotor inertia is"
    _bound(placement, link, what, rotor, LARGEST_ROTOR_INERTIA, "kg m^2 or kg")
    if 0.0 < link.mass < LIGHTEST:
        problem = f"its mass is {link.mass:g} kg, less than the {LIGHTEST:g} kg that can move"
        raise link_error(placement, link, problem)


def _check_joints(placement: Placement) -> None:
    for what, values, most in (("q", placement.q, FARTHEST), ("dq", placement.dq, FASTEST)):
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
