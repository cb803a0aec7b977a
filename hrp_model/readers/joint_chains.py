"""Joints that a Body does not have, as chains of its joints with links without mass between."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ..body import Joint, JointType, Link
from ..diagnostics import Span
from ..rigid import Pose


def ball_hinges(joint: Joint, new_name: Callable[[str], str]) -> list[Joint]:
    """Return the three hinges of a ball joint, from the parent on.

    They are about Z, X and Y of the joint frame, so that the rotation of the child at positions z,
    x and y is R_Z(z) R_X(x) R_Y(y). This is singular only where x is 90 degrees: neither for a ball
    that rolls ahead along X below a turning robot, nor for pendulums and tops that are tilted by
    less than that. The hinges have no motors.

    Args:
        joint: Of the ball: its name, its damping about each axis and so on.
        new_name: Returns an unused name similar to the given one.
    """
    return [
        replace(
            joint,
            type=JointType.REVOLUTE,
            name=new_name(f"{joint.name}_{letter}"),
            axis=axis,
            is_passive=True,
        )
        for letter, axis in zip("zxy", np.eye(3)[[2, 0, 1]], strict=True)
    ]


def intermediate_link(name: str, parent: str | None, joint: Joint, X_PL: Pose, at: Span) -> Link:
    """Return the link that a joint of a chain, other than the last one, moves."""
    return Link(name=name, parent=parent, joint=joint, X_PL=X_PL, at=at, is_between_joints=True)
