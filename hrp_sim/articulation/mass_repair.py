"""Masses and inertias that a solver can accelerate, where a model gives none.

Models draw a universal joint as two hinges with nothing between them, write point masses, and
round a thin link's least moment of inertia to something below zero. Engines solve for
accelerations body by body and need a positive mass and inertia of each. What is lacking is
filled up with so little that the motion does not show it. What is fine is never touched.

A massless cross of a universal joint with a share s of what it carries, in mass and in
inertia about the joint, moves a swinging pendulum by 2 s rad in a second. WORLD solves it as
well at s = 1e-12 as at 1e-2. QUICK needs what it needs for every uneven chain: with 50
iterations the joint comes apart by 0.1 mm at s = 4e-3, by 6 mm at 1e-4, and altogether at 1e-6.

Where shapes touch something, contacts turn a link that has mass but hardly any inertia at
absurd rates: a cube that falls onto an edge settles with 1e-4 of its inertia with WORLD, and
with 1e-1 with QUICK; with 1e-6 and 1e-2 it goes on to tremble. Of 346 random bodies with boxes
on massless links that fall onto a floor, 4 fail with WORLD at s = 1e-6, 2 at 1e-5, 1 at 1e-4.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from hrp_model import Link
from hrp_model.inertia import MassProperties

from ..physics.engine import PhysicsSettings, Placement, Solver
from .articulation import STATIC, IntArray, link_error
from .group_tree import GroupTree
from .numeric_limits import MIN_MASS
from .rigid_groups import group_masses, rigid_groups, zero_state

# Least share of what a joint carries that a mended link gets, in mass and in inertia.
MIN_SHARE_FOR_WORLD = 1e-5
# QUICK bears a load of that many times the mass of the link above for each of its iterations.
RATIO_PER_ITERATION = 5.0
# Least share of a solid box around the shapes in the inertia of a link that hangs on a joint;
# what is_free gets all of it, since nothing but contacts and its inertia determines its rotation.
_BOX_FOR_WORLD = 1e-3
_BOX_FOR_QUICK = 0.1
# Radius of gyration of what neither carries anything nor has a shape, in [m].
_NO_SIZE = 0.01
# Mass of what a force sensor holds in a body without mass: what lies on 1e-6 kg is weighed to
# 1e-6 N, on 1e-9 kg to 1e-2 N. In [kg].
_LIGHT_PLATE = 1e-6
# A moment of inertia below this share of the greatest one is none, to what a float64 resolves.
_NO_MOMENT = 1e-12
# Nor is one with a radius of gyration below this, in [m]: it is what rounding left of zeros, as in
# the ankles of published robots.
_NO_GYRATION = 1e-8
# Diagonal elements below zero by more than this share of the greatest moment are not rounded.
_ROUNDED = 1e-6
# Products of inertia too large for their moments bring the least principal moment below zero.
# Rounded and mistyped ones of published robots do by up to 0.25 of the greatest moment.
_MOST_NEGATIVE = 0.5


class MassRepair(NamedTuple):
    """What a rigid group got.

    Attributes:
        link: The first of the group.
        before: What the model says, in the frame of this link.
        after: What is simulated, in the same frame.
        share: Of what its joint carries; what was lacking was at least filled up to that.
        stands: Whether it is fixed to the world, through force sensors.
    """

    link: Link
    before: MassProperties
    after: MassProperties
    share: float
    stands: bool

    @property
    def lacked_mass(self) -> bool:
        """Whether there was no mass."""
        return self.after.mass != self.before.mass

    @property
    def lacked_inertia(self) -> bool:
        """Whether the inertia was not positive definite."""
        return self.after.inertia is not self.before.inertia


def mass_repairs(placement: Placement, settings: PhysicsSettings) -> Mapping[str, MassRepair]:
    """Return what has to be filled up in a body that an engine has accepted, by first links."""
    group_of, members = rigid_groups(placement.body, placement.fixed)
    masses = group_masses(placement, members, zero_state(placement.body, placement.X_WL))
    found = repair_masses(placement, group_of, members, masses, settings)
    return {change.link.name: change for change in found.values()}


def repair_masses(
    placement: Placement,
    group_of: IntArray,
    members: Sequence[Sequence[int]],
    masses: Sequence[MassProperties],
    settings: PhysicsSettings,
) -> dict[int, MassRepair]:
    """Return new mass properties for the groups that could not be accelerated.

    The numbers depend on the body and the settings, but for
    rounding not on where the body starts.

    Args:
        placement: The body.
        group_of: Group of each link.
        members: Links of each group.
        masses: Of each group, in the frame of its first link.
        settings: Their solver determines how much it takes.

    Raises:
        PhysicsError: Of what moves, a moment of inertia is negative by more than was rounded
            off, or nothing has mass; the message names the link.
    """
    if not masses:
        return {}
    moments = np.linalg.eigvalsh(np.array([whole.inertia for whole in masses]))
    lacking = [
        g
        for g, (whole, (least, _, most)) in enumerate(zip(masses, moments.tolist(), strict=True))
        if not (whole.mass > 0.0 and least > _nothing(whole.mass, most))
    ]
    if not lacking:
        return {}
    tree = GroupTree(placement.body, placement.fixed, group_of, members, masses)
    for g in lacking:
        if not tree.stands(g):
            _check(placement, tree, g)
    return {g: _mended(tree, g, settings) for g in lacking}


def _check(placement: Placement, tree: GroupTree, group: int) -> None:
    """Refuse what is no slip of a digit."""
    link = tree.link(group)
    if not tree.mass > 0.0:
        problem = (
            "it moves, so its mass must be positive, not 0 kg; no moving link of this body has "
            "mass, so none can be filled in: write masses, or fix the body to the world"
        )
        raise link_error(placement, link, problem)
    inertia = tree.masses[group].inertia
    moments = np.linalg.eigvalsh(inertia)
    most = float(moments[2])
    if np.abs(moments).max() <= _nothing(tree.masses[group].mass, 0.0):
        return
    if inertia.diagonal().min() < -_ROUNDED * max(most, 0.0) or moments[0] < -_MOST_NEGATIVE * most:
        listed = ", ".join(f"{m:.3g}" for m in moments)
        problem = (
            f"it moves, so its inertia must be positive definite, not of moments {listed}, "
            "which is more than rounding takes off"
        )
        raise link_error(placement, link, problem)


def _nothing(mass: float, most: float) -> float:
    """Return what a moment of inertia must exceed beside a mass and the greatest moment."""
    return max(_NO_MOMENT * most, _NO_GYRATION**2 * mass, 0.0)


def _mended(tree: GroupTree, group: int, settings: PhysicsSettings) -> MassRepair:
    share, of_box = _shares(settings)
    before = tree.masses[group]
    mass, heavy = before.mass, group
    if not mass > 0.0:
        heavy = tree.nearest_with_mass(group)
        mass = share * (tree.mass if heavy == STATIC else tree.carried_load(heavy)[0])
        mass = max(mass, MIN_MASS if tree.mass > 0.0 else _LIGHT_PLATE)
    moments, axes = np.linalg.eigh(before.inertia)
    lacks = ~(moments > _nothing(before.mass, float(moments[2])))
    inertia = before.inertia
    if lacks.any():
        box = mass * tree.box_moments(group, axes) * (1.0 if tree.is_free(group) else of_box)
        carried_load = 0.0 if heavy == STATIC else tree.carried_load(heavy)[1]
        least = np.maximum(share * max(carried_load, float(moments[2])), box)
        least[~(least > 0.0)] = mass * _NO_SIZE**2
        inertia = (axes * np.where(lacks, np.maximum(least, moments), moments)) @ axes.T
        inertia = (inertia + inertia.T) / 2.0
    after = MassProperties(mass, before.center_of_mass, inertia)
    return MassRepair(tree.link(group), before, after, share, tree.stands(group))


def _shares(settings: PhysicsSettings) -> tuple[float, float]:
    """Return the least share of what a joint carries, and of a solid box around the shapes."""
    if settings.solver is Solver.QUICK:
        return 1.0 / (RATIO_PER_ITERATION * settings.iterations), _BOX_FOR_QUICK
    return MIN_SHARE_FOR_WORLD, _BOX_FOR_WORLD
