"""Rules for joints between bodies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from hrp_model import Diagnostic
from hrp_model.body import ExtraJointType
from hrp_model.rigid import Array, unit_vector

from ...control.handling import JointEntry
from .initial_state import InitialState

_TOLERATED_GAP = 1e-3  # [m], as of closed loops


def body_joints_start_closed(
    joints: Sequence[JointEntry], starts: Sequence[InitialState]
) -> Iterator[Diagnostic]:
    """Joints between bodies are closed at the start; an engine pulls open ones with a jerk."""
    bodies = {start.name: start for start in starts}
    for joint in joints:
        start, other = (bodies[name] for name in joint.bodies)
        gap = float(np.linalg.norm(_gap(joint, start, other)))
        if gap > _TOLERATED_GAP:
            message = (
                f"joint '{joint.name}' to body '{other.name}' is open by {1e3 * gap:.3g} mm at the "
                "start and will be pulled together with a jerk; place the bodies so that it is "
                "closed, or correct the positions of the joint"
            )
            yield start.warning("open-at-start", message)


def _gap(joint: JointEntry, start: InitialState, other: InitialState) -> Array:
    """Return the gap in the directions that a joint holds, in link A, in [m], shape (3,)."""
    a, b = start.body.link_index(joint.links[0]), other.body.link_index(joint.links[1])
    p_WA = start.state.p[a] + start.state.R[a] @ joint.X_AJ.p
    p_WB = other.state.p[b] + other.state.R[b] @ joint.X_BJ.p
    gap: Array = start.state.R[a].T @ (p_WB - p_WA)
    axis = unit_vector(joint.axis)
    if axis is None:
        return gap
    along = axis * (axis @ gap)
    if joint.type is ExtraJointType.Z:
        return np.asarray(along)
    if joint.type in (ExtraJointType.XY, ExtraJointType.PISTON):
        return np.asarray(gap - along)
    return gap
