"""An Articulation as it is after its body was put elsewhere.

Whatever is made here depends on the first articulation and the new placement alone, not on
the places between: a body that went there and back is the same, to the last bit.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from hrp_model import Pose

from ..physics.engine import PhysicsError, PhysicsSettings, Placement
from .articulation import STATIC, Articulation, Geoms
from .flatten import flatten, start_state


def with_placement(first: Articulation, placement: Placement) -> Articulation:
    """Return an articulation whose moving groups and joints start as a placement says.

    What else there is in it stays; see ``with_base_pose`` for links that cannot move.

    Raises:
        PhysicsError: It is the placement of another model, is fixed where the body is not or
            the other way round, or is not finite.
    """
    name = placement.name
    if placement.body is not first.placement.body:
        raise PhysicsError(f"body '{name}' cannot become another model; remove it and add that")
    if placement.fixed != first.placement.fixed:
        was, shall = ("fixed", "free") if first.placement.fixed else ("free", "fixed")
        raise PhysicsError(f"body '{name}' is {was} and cannot become {shall}; add it anew")
    start = start_state(placement)
    groups, members = np.unique(first.links.group, return_index=True)
    head = members[groups != STATIC]  # the first link of each group, whose axes are G's
    arm = np.einsum("gij,gj->gi", start.R[head], -first.links.p[head])
    moved = replace(
        first.groups,
        R=start.R[head],
        p=start.p[head] + arm,
        v=start.v[head] + np.cross(start.w[head], arm),
        w=start.w[head],
    )
    return replace(first, placement=placement, q=start.q, dq=start.dq, groups=moved)


def with_base_pose(first: Articulation, X_WL: Pose, settings: PhysicsSettings) -> Articulation:
    """Return the articulation that the first placement gives with its fixed root elsewhere.

    Args:
        first: Of a body with links that cannot move.
        X_WL: New pose of its root.
        settings: With which it was made.

    Raises:
        PhysicsError: The pose is no finite rigid transform.
    """
    if is_bit_identical(X_WL, first.placement.X_WL):
        return first
    moved = flatten(replace(first.placement, X_WL=X_WL), settings, first.geoms)
    return replace(moved, geoms=_carried(first, moved))


def is_bit_identical(a: Pose, b: Pose) -> bool:
    """Tell whether two poses are equal to the last bit, the signs of zeros included."""
    return a.R.tobytes() == b.R.tobytes() and a.p.tobytes() == b.p.tobytes()


def _carried(first: Articulation, moved: Articulation) -> Geoms:
    """Return the shapes, those that stand still moved along with their links."""
    R, p = first.geoms.R.copy(), first.geoms.p.copy()
    for k, link in enumerate(first.geoms.link):
        if first.links.group[link] == STATIC:
            turn = moved.links.R[link] @ first.links.R[link].T
            R[k] = turn @ first.geoms.R[k]
            p[k] = moved.links.p[link] + turn @ (first.geoms.p[k] - first.links.p[link])
    return replace(first.geoms, R=R, p=p)
