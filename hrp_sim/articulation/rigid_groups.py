"""Which links move as one, and what these rigid groups weigh."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hrp_model import Body
from hrp_model.devices import ForceSensor
from hrp_model.inertia import MassProperties, merge
from hrp_model.kinematics import BodyState
from hrp_model.rigid import Pose

from ..physics.engine import Placement
from .articulation import STATIC, IntArray


def force_sensor_links(body: Body) -> set[str]:
    """Return the names of the links whose joints force sensors watch."""
    return {d.link for d in body.devices if isinstance(d, ForceSensor)}


def zero_state(body: Body, X_WL: Pose) -> BodyState:
    """Return a body with its root at X_WL and every joint at zero."""
    zero = BodyState(body)
    zero.p[0], zero.R[0], zero.q[:] = X_WL.p, X_WL.R, 0.0
    zero.calc_forward_kinematics()
    return zero


def rigid_groups(body: Body, fixed: bool) -> tuple[IntArray, list[list[int]]]:
    """Return the group of each link, and the links of each group, parents before children.

    Links joined by fixed joints are one group, unless a force sensor watches the joint; what
    cannot move is in the group ``STATIC``, which has no links in the second list. A root that
    is fixed to the world while a force sensor watches it is a group: a joint holds it there.
    """
    watched = force_sensor_links(body)
    group_of = np.full(len(body.links), STATIC, dtype=np.int32)
    members: list[list[int]] = []
    for i, link in enumerate(body.links):
        parent = body.parent_indices[i]
        rigid = link.joint.is_fixed
        if parent < 0 and fixed and link.name not in watched:
            continue
        if parent >= 0 and rigid and link.name not in watched:
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
    """Return what the model says of each group's mass, in the frame of its first link."""
    return [_merged(placement, zero, links) for links in members]


def _merged(placement: Placement, zero: BodyState, members: Sequence[int]) -> MassProperties:
    base = Pose(zero.R[members[0]], zero.p[members[0]]).inverse()
    parts = []
    for i in members:
        link = placement.body.links[i]
        # Only the symmetric part of an inertia resists rotation.
        inertia = (link.inertia + link.inertia.T) / 2.0
        part = MassProperties(link.mass, link.center_of_mass, inertia)
        parts.append(part.expressed_in(base @ Pose(zero.R[i], zero.p[i])))
    return merge(parts)
