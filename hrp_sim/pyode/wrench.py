"""Wrenches on the links that force sensors watch: ``wrench_write`` in ``ode/_core_state.c``."""

from __future__ import annotations

from collections.abc import Sequence

from hrp_model.rigid import Array

from ..articulation.articulation import JointKind
from .assembly import Assembly, Joint
from .motion import Motion, rotations
from .vectors import Vector, cross, dot


class Wrenches:
    """The joints that force sensors watch."""

    def __init__(self, bodies: Sequence[Assembly], motion: Motion) -> None:
        self._watched: list[tuple[Joint, Vector, int, int, Array, Array]] = []
        self._before, self._now = rotations(motion.saved), rotations(motion.state)
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
            before, now = self._before[:, :, column].tolist(), self._now[:, :, column].tolist()
            felt = _felt(joint, before, arm, effort)
            force[:], torque[:] = (_rotate(now, v) for v in felt)


def _felt(
    joint: Joint, columns: Sequence[Vector], arm: Vector, applied: float
) -> tuple[Vector, Vector]:
    """Return force and torque in the group's frame, for the columns of R as the step began."""
    told = joint.feedback.ravel().tolist()
    force, torque = told[:3], told[4:7]
    # Of rows that are off the memory holds what they told before.
    if joint.row_is_on[0] or joint.row_is_on[1] or joint.friction > 0.0:
        force = [a + b for a, b in zip(force, told[16:19], strict=True)]
        torque = [a + b for a, b in zip(torque, told[20:23], strict=True)]
    force, torque = ([dot(column, v) for column in columns] for v in (force, torque))
    # (-arm) x force: from the centre of mass to the origin
    torque = [a + b for a, b in zip(torque, cross(force, arm), strict=True)]
    if applied != 0.0:
        pushed = torque if joint.kind == JointKind.HINGE else force
        pushed[:] = [a + b * applied for a, b in zip(pushed, joint.axis, strict=True)]
    return force, torque


def _rotate(columns: Sequence[Vector], v: Vector) -> Vector:
    """Return R v, of the columns of R."""
    (a, d, g), (b, e, h), (c, f, i) = columns
    x, y, z = v
    return a * x + b * y + c * z, d * x + e * y + f * z, g * x + h * y + i * z
