"""The Articulation of a body that was teleported.

The result depends only on the initial articulation and the new placement, not on placements in
between: a body that was moved and moved back is identical, to the last bit.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from hrp_model import Pose

from ..engine import PhysicsError, PhysicsSettings, Placement
from .articulation import STATIC, Articulation, Geoms
from .flatten import flatten, start_state


def with_placement(initial: Articulation, placement: Placement) -> Articulation:
    """Return an articulation with the initial state of moving groups and joints of a placement.

    Static links stay; see ``with_base_pose``.

    Raises:
        PhysicsError: The placement has another model, has another value of ``fixed`` than the
            body, or is not finite.
    """
    name = placement.name
    if placement.body is not initial.placement.body:
        raise PhysicsError(
            f"body '{name}' cannot be moved to a placement of another model; remove it and add "
            "the other one"
        )
    if placement.fixed != initial.placement.fixed:
        old, new = ("fixed", "free") if initial.placement.fixed else ("free", "fixed")
        raise PhysicsError(f"body '{name}' is {old} and cannot become {new}; remove and add it")
    start = start_state(placement)
    groups, members = np.unique(initial.links.group, return_index=True)
    head = members[groups != STATIC]  # the first link of each group, whose axes are G's
    arm = np.einsum("gij,gj->gi", start.R[head], -initial.links.p[head])
    moved = replace(
        initial.groups,
        R=start.R[head],
        p=start.p[head] + arm,
        v=start.v[head] + np.cross(start.w[head], arm),
        w=start.w[head],
    )
    return replace(initial, placement=placement, q=start.q, dq=start.dq, groups=moved)


def with_base_pose(initial: Articulation, X_WL: Pose, settings: PhysicsSettings) -> Articulation:
    """Return the articulation of the initial placement with another pose of its fixed root.

    Args:
        initial: Of a body with static links.
        X_WL: New pose of its root.
        settings: With which ``initial`` was created.

    Raises:
        PhysicsError: The pose is not a finite rigid transform.
    """
    if is_bit_identical(X_WL, initial.placement.X_WL):
        return initial
    moved = flatten(replace(initial.placement, X_WL=X_WL), settings, initial.geoms)
    return replace(moved, geoms=_move_static_shapes(initial, moved))


def is_bit_identical(a: Pose, b: Pose) -> bool:
    """Return whether two poses are equal to the last bit, including the signs of zeros."""
    return a.R.tobytes() == b.R.tobytes() and a.p.tobytes() == b.p.tobytes()


def _move_static_shapes(initial: Articulation, moved: Articulation) -> Geoms:
    """Return the shapes, those of static links moved along with their links."""
    R, p = initial.geoms.R.copy(), initial.geoms.p.copy()
    for k, link in enumerate(initial.geoms.link):
        if initial.links.group[link] == STATIC:
            turn = moved.links.R[link] @ initial.links.R[link].T
            R[k] = turn @ initial.geoms.R[k]
            p[k] = moved.links.p[link] + turn @ (initial.geoms.p[k] - initial.links.p[link])
    return replace(initial.geoms, R=R, p=p)
