"""Wrenches on the links that force sensors watch: ``wrench_write`` in ``ode/_core_state.c``."""

from __future__ import annotations

from collections.abc import Sequence

from hrp_model.rigid import Array

from ..articulation import JointKind
from .assembly import Assembly, Joint
from .motion import Motion, rotations
from .vectors import Vector, cross


class Wrenches:
    """The joints that force sensors watch."""

    def __init__(self, bodies: Sequence[Assembly], motion: Motion) -> None:
        self._watched: list[tuple[Joint, Vector, int, int, Array, Array]] = []
        self._rotations = rotations(motion.saved)
        first_driven = 0
        for body, columns in zip(bodies, motion.columns, strict=True):
            driven = [id(j) for j in body.driven]
            for joint in body.joints:
                if joint.watched:
                    place = first_driven + driven.index(id(joint)) if joint.motor else -1
                    arm = body.links.p[joint.link].tolist()
                    m, column = body.motion, int(columns[joint.link])
                    outs = m.force[joint.link], m.torque[joint.link]
                    self._watched.append((joint, arm, column, place, *outs))
            first_driven += len(driven)

    def write(self, applied: Array) -> None:
        """Write the wrench that the parent applied to each watched link, about its origin.

        Args:
            applied: Efforts that the drives gave to the bodies directly.
        """
        for joint, arm, column, place, force, torque in self._watched:
            effort = float(applied[place]) if place >= 0 else 0.0
            R = self._rotations[:, :, column].tolist()
            force[:], torque[:] = _wrench(joint, R, arm, effort)


def _wrench(
    joint: Joint, columns: Sequence[Vector], arm: Vector, applied: float
) -> tuple[Vector, Vector]:
    told = joint.feedback.ravel().tolist()
    fx, fy, fz, _, tx, ty, tz = told[:7]
    # Of rows that are off the memory holds what they told before.
    if joint.row_is_on[0] or joint.row_is_on[1] or joint.friction > 0.0:
        px, py, pz, _, qx, qy, qz = told[16:23]
        fx, fy, fz, tx, ty, tz = fx + px, fy + py, fz + pz, tx + qx, ty + qy, tz + qz
    # (-arm) x force: from the centre of mass to the origin
    mx, my, mz = cross((fx, fy, fz), _rotate(columns, arm))
    tx, ty, tz = tx + mx, ty + my, tz + mz
    if applied != 0.0:
        x, y, z = _rotate(columns, joint.axis)
        if joint.kind == JointKind.HINGE:
            tx, ty, tz = tx + x * applied, ty + y * applied, tz + z * applied
        else:
            fx, fy, fz = fx + x * applied, fy + y * applied, fz + z * applied
    return (fx, fy, fz), (tx, ty, tz)


def _rotate(columns: Sequence[Vector], v: Vector) -> Vector:
    """Return R v, of the columns of R."""
    (a, d, g), (b, e, h), (c, f, i) = columns
    x, y, z = v
    return a * x + b * y + c * z, d * x + e * y + f * z, g * x + h * y + i * z
