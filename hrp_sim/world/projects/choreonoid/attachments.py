"""Bodies that Choreonoid attaches to the body whose item contains theirs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from hrp_model import Body, BodyState, Diagnostics, Pose
from hrp_model.body import ExtraJointType
from hrp_model.devices import Attachment, Holder
from hrp_model.diagnostics import did_you_mean_or_all

from ....control.handling import JointEntry, grip_name
from ....engine.engine import Placement
from ...config import BodyEntry
from .items import Item, rotation_by_axis


def is_attached(item: Item) -> bool:
    """Return whether a BodyItem is attached to the body that contains it, if there is one."""
    linkage = item.data.text("parent_body_linkage", default="")
    return linkage == "attached" or (
        not linkage and item.data.boolean("enable_attachment", default=False)
    )


def attach(
    item: Item, entry: BodyEntry, parent: Placement, diagnostics: Diagnostics
) -> tuple[BodyEntry, JointEntry | None]:
    """Return a body where it is attached, and the joint by which it is.

    There is no joint if its place cannot move: then its root is fixed there. Without a link, a
    holder of the parent takes hold of the first attachment of the root that fits it; else the
    root of the parent counts, and the body remains where it is, if its item has no local pose.

    Args:
        item: Its BodyItem.
        entry: The body.
        parent: The body to which it is attached, in its initial state.
        diagnostics: Receives problems.
    """
    child, data = entry.placement, item.data
    links = {link.name: i for i, link in enumerate(parent.body.links)}
    written = data.text("parent_link", default="")
    if written and written not in links:
        hint = did_you_mean_or_all(written, links)
        message = (
            f"'{child.name}' is not attached: the body '{parent.name}' has no link "
            f"'{written}'.{hint}"
        )
        diagnostics.warn("unknown-link", message, data.at("parent_link"))
        return entry, None
    held = None if written else _held(child.body, parent.body)
    link = held[0].link if held else written or parent.body.root.name
    X_WA = _link_pose(parent, links[link])
    if held:
        X_AB = held[0].X_LS @ held[1].X_LS.inverse()
    elif data.lacks("local_translation", "local_rotation"):
        X_AB = X_WA.inverse() @ child.X_WL
    else:
        R = rotation_by_axis(data, "local_rotation")
        p = data.numbers("local_translation", count=3, default=np.zeros(3))
        X_AB = Pose(np.eye(3) if R is None else R, p)
    moves = not parent.fixed or _moves(parent.body, links[link])
    entry = replace(entry, placement=replace(child, X_WL=X_WA @ X_AB, fixed=not moves))
    if not moves:
        return entry, None
    # Named like a grip, so that the holder can let go of it.
    name = grip_name(parent.name, held[0].name) if held else f"{child.name}_attachment"
    root = child.body.root.name
    return entry, JointEntry(
        name=name,
        type=ExtraJointType.FIXED,
        bodies=(parent.name, child.name),
        links=(link, root),
        X_AJ=X_AB,
    )


def _held(child: Body, parent: Body) -> tuple[Holder, Attachment] | None:
    """Return the first holder of the parent that fits an attachment of the child's root."""
    for attachment in child.devices:
        if isinstance(attachment, Attachment) and attachment.link == child.root.name:
            for holder in parent.devices:
                if isinstance(holder, Holder) and (
                    not holder.categories or attachment.category in holder.categories
                ):
                    return holder, attachment
    return None


def _link_pose(placement: Placement, link: int) -> Pose:
    """Return the pose of a link of a body in its initial state."""
    state = BodyState(placement.body)
    state.p[0], state.R[0] = placement.X_WL.p, placement.X_WL.R
    state.q[:] = placement.initial_q
    state.calc_forward_kinematics()
    return Pose(state.R[link].copy(), state.p[link].copy())


def _moves(body: Body, link: int) -> bool:
    """Return whether a link can move if the root cannot."""
    while (parent := body.parent_indices[link]) >= 0:
        if not body.links[link].joint.is_fixed:
            return True
        link = parent
    return False
