"""What a force hook reads and writes, and its effect on a step."""

from __future__ import annotations

from dataclasses import fields

import numpy as np

from hrp_model import JointType
from hrp_model.rigid import Array

from ...engine.state import MAX_DRIVE_VALUE, BodyMotion, SimulatedBody


def read_only_motion(motion: BodyMotion) -> BodyMotion:
    """Return views of the live arrays of a motion through which they cannot be written."""
    views = {f.name: getattr(motion, f.name).view() for f in fields(motion)}
    for view in views.values():
        view.flags.writeable = False
    return BodyMotion(**views)


def assign(target: Array, name: str, values: Array) -> None:
    """Copy an array or a number into an array that controllers see.

    Args:
        target: The array.
        name: Of the attribute, for messages.
        values: Of the same shape, or one for all elements.

    Raises:
        ValueError: The shape is another one, or the values are no numbers.
        TypeError: The values are no numbers.
    """
    given = np.asarray(values)
    if given.shape not in ((), target.shape):
        raise ValueError(f"{name} must have the shape {target.shape}, not {given.shape}")
    target[:] = given


class ForceState:
    """State of a body before a step, and the forces and torques that hooks add to the step.

    Attributes:
        motion: State of the body, read-only.
        q: Joint positions, in [rad] or [m], shape (joints,), read-only.
        dq: Joint velocities, likewise.
    """

    # So that a misspelled attribute is an error.
    __slots__ = (
        *("dq", "motion", "q", "_axes", "_before", "_force", "_joint_effort", "_moving"),
        *("_parents", "_slides", "_torque", "_values", "_wrench"),
    )

    def __init__(self, target: SimulatedBody) -> None:
        self.motion: BodyMotion = read_only_motion(target.motion)
        self.q, self.dq = self.motion.q, self.motion.dq
        links, joints = len(target.body.links), len(target.body.moving_links)
        self._values = np.zeros(6 * links + joints)
        self._force: Array = self._values[: 3 * links].reshape(links, 3)
        self._torque: Array = self._values[3 * links : 6 * links].reshape(links, 3)
        self._joint_effort: Array = self._values[6 * links :]
        self._wrench = target.wrench
        self._moving = [target.body.link_index(link.name) for link in target.body.moving_links]
        self._parents = [target.body.parent_indices[i] for i in self._moving]
        self._axes = [link.joint.axis for link in target.body.moving_links]
        self._slides = [x.joint.type is JointType.PRISMATIC for x in target.body.moving_links]
        self._before = target.wrench.force.copy(), target.wrench.torque.copy()

    @property
    def joint_effort(self) -> Array:
        """Torques and forces about and along the axes of the joints; assign or write into it.

        Beside those of the motors and not bounded by their limits, in [N m] or [N], shape
        (joints,).
        """
        return self._joint_effort

    @joint_effort.setter
    def joint_effort(self, values: Array) -> None:
        assign(self._joint_effort, "joint_effort", values)

    @property
    def force(self) -> Array:
        """Forces on the link origins, in W, in [N], shape (links, 3); likewise."""
        return self._force

    @force.setter
    def force(self, values: Array) -> None:
        assign(self._force, "force", values)

    @property
    def torque(self) -> Array:
        """Torques about the link origins, in W, in [N m], shape (links, 3); likewise."""
        return self._torque

    @torque.setter
    def torque(self, values: Array) -> None:
        assign(self._torque, "torque", values)

    def begin(self) -> None:
        """Set all forces and torques to zero; ``take_back`` returns to the present wrench."""
        self._values[:] = 0.0
        self._before[0][:], self._before[1][:] = self._wrench.force, self._wrench.torque

    def problem(self) -> str:
        """Return what is wrong with the forces and torques; "" for nothing."""
        if float(self._values @ self._values) < MAX_DRIVE_VALUE**2:  # not if one is NaN
            return ""
        for name in ("joint_effort", "force", "torque"):
            if not np.all(np.abs(getattr(self, name)) < MAX_DRIVE_VALUE):
                return f"{name} must be finite and below {MAX_DRIVE_VALUE:g}"
        return ""

    def add(self) -> None:
        """Add the forces and torques to those of the next step."""
        wrench, motion = self._wrench, self.motion
        for j, effort in enumerate(self._joint_effort.tolist()):
            if effort == 0.0:
                continue
            child, parent = self._moving[j], self._parents[j]
            along = motion.R[child] @ self._axes[j] * effort
            # Equal and opposite on the parent, a force at the same point.
            if not self._slides[j]:
                self._torque[child] += along
                self._torque[parent] -= along
                continue
            self._force[child] += along
            self._force[parent] -= along
            self._torque[parent] -= np.cross(motion.p[child] - motion.p[parent], along)
        wrench.force += self._force
        wrench.torque += self._torque

    def take_back(self) -> None:
        """Restore the external wrench after the step."""
        self._wrench.force[:], self._wrench.torque[:] = self._before
