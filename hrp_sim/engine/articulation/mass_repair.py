"""Repairs masses and inertias with which a solver cannot compute accelerations.

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
from typing import NamedTuple

import numpy as np

from hrp_model import Link
from hrp_model.inertia import MassProperties

from ..engine import PhysicsSettings, Placement, Solver
from .articulation import STATIC, IntArray, link_error
from .numeric_limits import MIN_MASS
from .rigid_groups import GroupTree, group_masses, rigid_groups, zero_state

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
            "mass: write masses, let hrp-model urdf --estimate-masses 1000 write those of solid "
            "shapes, or fix the body to the world"
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
