"""Rigid groups: links that move as one, and their mass properties."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hrp_model import Body
from hrp_model.devices import ForceSensor
from hrp_model.inertia import MassProperties, merge
from hrp_model.kinematics import BodyState
from hrp_model.rigid import Array, Pose

from ..engine import Placement
from .articulation import STATIC, IntArray


def force_sensor_links(body: Body) -> set[str]:
    """Return the names of the links with a force sensor in the joint to the parent."""
    return {d.link for d in body.devices if isinstance(d, ForceSensor)}


def zero_state(body: Body, X_WL: Pose) -> BodyState:
    """Return the state of a body with its root at X_WL and every joint at zero."""
    zero = BodyState(body)
    zero.p[0], zero.R[0], zero.q[:] = X_WL.p, X_WL.R, 0.0
    zero.calc_forward_kinematics()
    return zero


def rigid_groups(body: Body, fixed: bool) -> tuple[IntArray, list[list[int]]]:
    """Return the group of each link, and the links of each group, parents before children.

    Links connected by fixed joints are one group, unless the joint has a force sensor. Static
    links are in the group ``STATIC``, which is not in the second list. A fixed root with a force
    sensor is a group, which a fixed joint connects to the world.
    """
    with_sensors = force_sensor_links(body)
    group_of = np.full(len(body.links), STATIC, dtype=np.int32)
    members: list[list[int]] = []
    for i, link in enumerate(body.links):
        parent = body.parent_indices[i]
        rigid = link.joint.is_fixed
        if parent < 0 and fixed and link.name not in with_sensors:
            continue
        if parent >= 0 and rigid and link.name not in with_sensors:
            group_of[i] = group_of[parent]
            if group_of[i] != STATIC:
                members[group_of[i]].append(i)
            continue
        group_of[i] = len(members)
        members.append([i])
    return group_of, members


def group_masses(
    placement: Placement, members: Sequence[Sequence[int]], zero: BodyState
) -> list[MassProperties]:
    """Return each group's mass properties from the model, in the frame of its first link."""
    return [_merged(placement, zero, links) for links in members]


def group_lifts(body: Body, members: Sequence[Sequence[int]], zero: BodyState) -> Array:
    """Return each group's mass that has no weight, and its first moment, shape (g, 4).

    The moment is about the origin of the group's first link and in its axes.
    """
    lifts = np.zeros((len(members), 4))
    for lift, links in zip(lifts, members, strict=True):
        base = Pose(zero.R[links[0]], zero.p[links[0]]).inverse()
        for i in links:
            link = body.links[i]
            mass = (1.0 - link.weight_share) * link.mass
            if mass:
                center = base @ Pose(zero.R[i], zero.p[i]) @ Pose(p=link.center_of_mass)
                lift += mass * np.array([1.0, *center.p])
    return lifts


def _merged(placement: Placement, zero: BodyState, members: Sequence[int]) -> MassProperties:
    base = Pose(zero.R[members[0]], zero.p[members[0]]).inverse()
    parts = []
    for i in members:
        link = placement.body.links[i]
        # Only the symmetric part of an inertia has an effect.
        inertia = (link.inertia + link.inertia.T) / 2.0
        part = MassProperties(link.mass, link.center_of_mass, inertia)
        parts.append(part.expressed_in(base @ Pose(zero.R[i], zero.p[i])))
    return merge(parts)
