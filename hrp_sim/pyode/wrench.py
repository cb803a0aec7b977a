"""Wrenches on the links that force sensors watch: ``wrench_write`` in ``ode/_core_state.c``."""

from __future__ import annotations

from collections.abc import Sequence

from hrp_model.rigid import Array

from ..articulation import JointKind
from .assembly import Assembly, Joint
from .vectors import Vector, cross, rotate

_NOTHING = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)


class Wrenches:
    """The joints that force sensors watch."""

    def __init__(self, bodies: Sequence[Assembly]) -> None:
        self._watched: list[tuple[Joint, Vector, int, int, Array, Array]] = []
        first_group = first_driven = 0
        for body in bodies:
            driven = [id(j) for j in body.driven]
            for joint in body.joints:
                if joint.watched:
                    place = first_driven + driven.index(id(joint)) if joint.motor else -1
                    arm = body.links.p[joint.link].tolist()
                    m, column = body.motion, first_group + joint.child
                    outs = m.force[joint.link], m.torque[joint.link]
                    self._watched.append((joint, arm, column, place, *outs))
            first_group += len(body.groups)
            first_driven += len(driven)

    def write(self, saved: Array, applied: Array) -> None:
        """Write the wrench that the parent applied to each watched link, about its origin.

        Args:
            saved: State of all groups when the step began, shape (25, groups).
            applied: Efforts that the drives gave to the bodies directly.
        """
        for joint, arm, column, place, force, torque in self._watched:
            a, b, c, _, d, e, f, _, g, h, i, _ = saved[7:19, column].tolist()
            effort = float(applied[place]) if place >= 0 else 0.0
            force[:], torque[:] = _wrench(joint, (a, b, c, d, e, f, g, h, i), arm, effort)


def _wrench(joint: Joint, R: Vector, arm: Vector, applied: float) -> tuple[Vector, Vector]:
    (fx, fy, fz), (tx, ty, tz) = joint.joint.getFeedback()[:2]
    # Of rows that are off the memory holds what they told before, or never did.
    is_on = joint.row_is_on[0] or joint.row_is_on[1] or joint.friction > 0.0
    (px, py, pz), (qx, qy, qz) = joint.motor.getFeedback()[:2] if is_on else _NOTHING
    fx, fy, fz, tx, ty, tz = fx + px, fy + py, fz + pz, tx + qx, ty + qy, tz + qz
    # (-arm) x force: from the centre of mass to the origin
    mx, my, mz = cross((fx, fy, fz), rotate(R, arm))
    tx, ty, tz = tx + mx, ty + my, tz + mz
    if applied != 0.0:
        x, y, z = rotate(R, joint.axis)
        if joint.kind == JointKind.HINGE:
            tx, ty, tz = tx + x * applied, ty + y * applied, tz + z * applied
        else:
            fx, fy, fz = fx + x * applied, fy + y * applied, fz + z * applied
    return (fx, fy, fz), (tx, ty, tz)
