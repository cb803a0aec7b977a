"""Bounds on the numbers of a placed body, and the repair of masses below them.

The bounds are far beyond any robot, and small enough that products of a few of them do not overflow
a float64. Masses and inertias with which a solver cannot compute accelerations are repaired.

Models have universal joints made of two hinges with a massless link between them, point masses,
and thin links whose least moment of inertia is rounded to below zero. Engines need a positive mass
and a positive definite inertia of each body. Missing mass and inertia are replaced by values so
small that they do not affect the motion visibly. Valid values are never changed.

If the massless cross of a universal joint gets a fraction s of the mass and of the inertia about
the joint that it carries, a swinging pendulum deviates by 2 s rad after a second. WORLD solves it
as well at s = 1e-12 as at 1e-2. QUICK needs more, as for every chain with uneven masses: with 50
iterations the joint separates by 0.1 mm at s = 4e-3, by 6 mm at 1e-4, and completely at 1e-6.

Contacts rotate a link with mass but hardly any inertia at very high rates: a cube that falls onto
an edge comes to rest with 1e-4 of its inertia with WORLD, and with 1e-1 with QUICK; with 1e-6 and
1e-2 it keeps trembling. Of 346 random bodies with boxes on massless links that fall onto a floor,
4 fail with WORLD at s = 1e-6, 2 at 1e-5, 1 at 1e-4.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import copysign
from typing import NamedTuple
from weakref import WeakSet

import numpy as np

from hrp_model import Body, Link
from hrp_model.diagnostics import number_text
from hrp_model.inertia import MassProperties
from hrp_model.rigid import Array, Pose, is_rotation

from ..engine import PhysicsError, PhysicsSettings, Placement, Solver
from ..state import MAX_DRIVE_VALUE
from .articulation import STATIC, IntArray, link_error
from .rigid_groups import GroupTree, group_masses, rigid_groups, zero_state

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


# Minimum share of the mass and inertia carried by its joint that a repaired link gets.
MIN_SHARE_FOR_WORLD = 1e-5
# Between the joints of a chain, where nothing touches the link. With 1e-5 the twist of a slender
# pendulum on a ball joint would be off by 0.5 %. With 1e-8 ball casters diverge where two axes of
# their hinges align; of 250 rides on such casters none did with 1e-7.
_MIN_SHARE_BETWEEN_JOINTS = 1e-7
# QUICK supports this ratio of carried mass to the mass of the parent link per iteration.
RATIO_PER_ITERATION = 5.0
# Minimum inertia of a link on a joint, as a share of that of a solid box around its shapes. Free
# links get all of it, since only contacts and inertia determine their rotation.
_MIN_BOX_SHARE_FOR_WORLD = 1e-3
_MIN_BOX_SHARE_FOR_QUICK = 0.1
# Radius of gyration of a link that carries nothing and has no shape, in [m].
_DEFAULT_GYRATION_RADIUS = 0.01
# Mass of a static link with a force sensor in a body without mass, in [kg]: a load on 1e-6 kg is
# measured to 1e-6 N, on 1e-9 kg to 1e-2 N.
_SENSOR_PLATE_MASS = 1e-6
# A moment of inertia below this share of the greatest one counts as zero, as float64 resolves it.
_MIN_MOMENT_SHARE = 1e-12
# So does one with a radius of gyration below this, in [m]: a rounding error of zero, as in the
# ankles of published robots.
_MIN_GYRATION_RADIUS = 1e-8
# Diagonal elements below minus this share of the greatest moment are no rounding errors.
_ROUNDING_SHARE = 1e-6
# Too large products of inertia make the least principal moment negative. In published robots,
# by rounding and typing errors, by up to 0.25 of the greatest moment.
_MAX_NEGATIVE_SHARE = 0.5


class MassRepair(NamedTuple):
    """Repaired mass properties of a rigid group.

    Attributes:
        link: The first link of the group.
        before: As in the model, in the frame of this link.
        after: As simulated, in the same frame.
        share: Minimum share of what its joint carries that missing values were set to.
        is_static: Whether it is fixed to the world, through force sensors.
    """

    link: Link
    before: MassProperties
    after: MassProperties
    share: float
    is_static: bool

    @property
    def lacked_mass(self) -> bool:
        """Whether the mass was zero."""
        return self.after.mass != self.before.mass

    @property
    def lacked_inertia(self) -> bool:
        """Whether the inertia was not positive definite."""
        return self.after.inertia is not self.before.inertia


def mass_repairs(placement: Placement, settings: PhysicsSettings) -> Mapping[str, MassRepair]:
    """Return the repairs in a body that an engine has accepted, by name of the first link."""
    group_of, members = rigid_groups(placement.body, placement.fixed)
    masses = group_masses(placement, members, zero_state(placement.body, placement.X_WL))
    repairs = repair_masses(placement, group_of, members, masses, settings)
    return {repair.link.name: repair for repair in repairs.values()}


def repair_masses(
    placement: Placement,
    group_of: IntArray,
    members: Sequence[Sequence[int]],
    masses: Sequence[MassProperties],
    settings: PhysicsSettings,
) -> dict[int, MassRepair]:
    """Return new mass properties for groups with invalid ones, by index of the group.

    They depend on the body and the settings and, up to rounding, not on the initial pose.

    Args:
        placement: The body.
        group_of: Group of each link.
        members: Links of each group.
        masses: Of each group, in the frame of its first link.
        settings: The solver determines the minimum values.

    Raises:
        PhysicsError: A moving group has a moment of inertia that is negative by more than a
            rounding error, or no moving group has mass; the message names the link.
    """
    if not masses:
        return {}
    moments = np.linalg.eigvalsh(np.array([whole.inertia for whole in masses]))
    lacking = [
        g
        for g, (group, (least, _, most)) in enumerate(zip(masses, moments.tolist(), strict=True))
        if not (group.mass > 0.0 and least > _min_moment(group.mass, most))
    ]
    if not lacking:
        return {}
    tree = GroupTree(placement.body, placement.fixed, group_of, members, masses)
    for g in lacking:
        if not tree.is_static(g):
            _check(placement, tree, g)
    return {g: _repaired(tree, g, settings) for g in lacking}


def _check(placement: Placement, tree: GroupTree, group: int) -> None:
    """Reject errors that are larger than rounding or typing errors."""
    link = tree.link(group)
    if not tree.mass > 0.0:
        problem = (
            "it moves, so its mass must be positive, not 0 kg, and no moving link of this body has "
            "mass: write masses, have them estimated with --estimate-masses 1000, or fix the "
            "body to the world"
        )
        raise link_error(placement, link, problem)
    inertia = tree.masses[group].inertia
    moments = np.linalg.eigvalsh(inertia)
    greatest = float(moments[2])
    if np.abs(moments).max() <= _min_moment(tree.masses[group].mass, 0.0):
        return
    if (
        inertia.diagonal().min() < -_ROUNDING_SHARE * max(greatest, 0.0)
        or moments[0] < -_MAX_NEGATIVE_SHARE * greatest
    ):
        listed = ", ".join(f"{m:.3g}" for m in moments)
        problem = (
            f"it moves, so its inertia must be positive definite; its moments {listed} kg m^2 "
            "are negative by more than a rounding error"
        )
        raise link_error(placement, link, problem)


def _min_moment(mass: float, greatest: float) -> float:
    """Return the bound that a moment of inertia must exceed, from mass and greatest moment."""
    return max(_MIN_MOMENT_SHARE * greatest, _MIN_GYRATION_RADIUS**2 * mass, 0.0)


def _repaired(tree: GroupTree, group: int, settings: PhysicsSettings) -> MassRepair:
    share, box_share = _shares(settings, tree.link(group))
    before = tree.masses[group]
    mass, heavy = before.mass, group
    if not mass > 0.0:
        heavy = tree.nearest_with_mass(group)
        mass = share * (tree.mass if heavy == STATIC else tree.carried_load(heavy)[0])
        mass = max(mass, MIN_MASS if tree.mass > 0.0 else _SENSOR_PLATE_MASS)
    moments, axes = np.linalg.eigh(before.inertia)
    lacks = ~(moments > _min_moment(before.mass, float(moments[2])))
    inertia = before.inertia
    if lacks.any():
        box = mass * tree.box_moments(group, axes) * (1.0 if tree.is_free(group) else box_share)
        carried_load = 0.0 if heavy == STATIC else tree.carried_load(heavy)[1]
        least = np.maximum(share * max(carried_load, float(moments[2])), box)
        least[~(least > 0.0)] = mass * _DEFAULT_GYRATION_RADIUS**2
        inertia = (axes * np.where(lacks, np.maximum(least, moments), moments)) @ axes.T
        inertia = (inertia + inertia.T) / 2.0
    after = MassProperties(mass, before.center_of_mass, inertia)
    return MassRepair(tree.link(group), before, after, share, tree.is_static(group))


def _shares(settings: PhysicsSettings, link: Link) -> tuple[float, float]:
    """Return the minimum shares of what a joint carries, and of a solid box around the shapes."""
    if settings.solver is Solver.QUICK:
        return 1.0 / (RATIO_PER_ITERATION * settings.iterations), _MIN_BOX_SHARE_FOR_QUICK
    share = _MIN_SHARE_BETWEEN_JOINTS if link.is_between_joints else MIN_SHARE_FOR_WORLD
    return share, _MIN_BOX_SHARE_FOR_WORLD
