"""Wrenches on the links that force sensors watch: ``wrench_write`` in ``ode/_core_state.c``."""

from __future__ import annotations

from collections.abc import Sequence

from hrp_model.rigid import Array

from ..articulation import JointKind
from .assembly import Assembly, Joint
from .drives import Drives
from .vectors import Vector, cross, rotate

_NOTHING = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)


def write_wrenches(bodies: Sequence[Assembly], saved: Array, drives: Drives) -> None:
    """Write the wrench that the parent applied to each watched link, about its origin.

    Args:
        bodies: All of them.
        saved: State of all groups when the step began, shape (25, groups).
        drives: Of the step.
    """
    first_group, first_joint = 0, 0
    for body in bodies:
        applied = drives.applied[first_joint : first_joint + len(body.coordinates)]
        for joint, driven in body.watched:
            R = saved[7:19, first_group + joint.child].tolist()
            effort = float(applied[driven]) if driven >= 0 else 0.0
            _write(body, joint, (*R[0:3], *R[4:7], *R[8:11]), effort)
        first_group += len(body.groups)
        first_joint += len(body.coordinates)


def _write(body: Assembly, joint: Joint, R: Vector, applied: float) -> None:
    force, torque = joint.joint.getFeedback()[:2]
    # Rows that are off tell nothing: the memory of what they told before.
    more = joint.motor.getFeedback()[:2] if any(joint.row_is_on) else _NOTHING
    force = [a + b for a, b in zip(force, more[0], strict=True)]
    torque = [a + b for a, b in zip(torque, more[1], strict=True)]
    arm = rotate(R, body.articulation.links.p[joint.link].tolist())
    moment = cross(force, arm)  # (-arm) x force: from the centre of mass to the origin
    axis = rotate(R, joint.axis)
    for i in range(3):
        torque[i] += moment[i]
        if joint.kind == JointKind.HINGE:
            torque[i] += axis[i] * applied
        elif joint.kind == JointKind.SLIDER:
            force[i] += axis[i] * applied
    body.motion.force[joint.link] = force
    body.motion.torque[joint.link] = torque
