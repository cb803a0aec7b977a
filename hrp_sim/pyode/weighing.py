"""Efforts that follow from the forces of motors: ``drive_measure`` in ``ode/_core_drive.c``."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hrp_model.rigid import Array

from ..articulation.articulation import JointKind
from .assembly import Assembly, Joint
from .binding import Memory, addresses_of
from .coordinates import Coordinates
from .motion import Motion, rotations


class Weighing:
    """The forces of the motors.

    Attributes:
        can: Which joints' efforts they tell, as long as no effort is bounded, shape (joints,).
    """

    def __init__(
        self, bodies: Sequence[Assembly], coordinates: Coordinates, motion: Motion, step: float
    ) -> None:
        self._coordinates, self._step = coordinates, step
        joints = coordinates.joints
        self.can = np.array([j.weighed for j in joints], dtype=np.bool_)
        self._rotor = np.array([j.rotor_inertia for j in joints], dtype=np.float64)
        self._damping = np.array([j.damping for j in joints], dtype=np.float64)
        self._axis = np.array([j.axis for j in joints]).reshape(-1, 3).T[:, None].copy()
        places = [_place(j) for j in joints]
        self._memory = Memory(np.array(places, dtype=np.int64).reshape(-1, 3).T.copy())
        columns = [c[j.link] for b, c in zip(bodies, motion.columns, strict=True) for j in b.driven]
        # As the step found them. A slice of the array is faster than a copy, where it can be.
        self._rotations, self._columns = rotations(motion.saved), np.array(columns, dtype=np.int64)
        self._is_row = bool((np.diff(self._columns) == 1).all()) and len(joints) > 0
        if self._is_row:
            self._rotations = self._rotations[:, :, columns[0] : columns[-1] + 1]
        self._force, self._product = np.zeros((3, len(joints))), np.zeros((3, 3, len(joints)))
        self._rate = np.zeros(len(joints))

    def read(self) -> Array:
        """Return the efforts over the step that was just taken, shape (joints,)."""
        force, product, rate = self._force, self._product, self._rate
        self._memory.read(force)
        R = self._rotations if self._is_row else self._rotations[:, :, self._columns]
        np.multiply(R, self._axis, out=product)
        axis = product[0]
        np.add(axis, product[1], out=axis)
        np.add(axis, product[2], out=axis)
        np.multiply(axis, force, out=force)
        effort: Array = force[0]
        np.add(effort, force[1], out=effort)
        np.add(effort, force[2], out=effort)
        dq = self._coordinates.dq
        np.subtract(dq, self._coordinates.saved_dq, out=rate)
        np.multiply(self._rotor, rate, out=rate)
        np.divide(rate, self._step, out=rate)
        np.add(effort, rate, out=effort)
        np.multiply(self._damping, dq, out=rate)
        np.add(effort, rate, out=effort)
        return effort


def _place(joint: Joint) -> list[int]:
    """Return where the motor's torque, or its force, on the child lies."""
    what = 1 if joint.kind == JointKind.HINGE else 0
    places: list[int] = addresses_of(joint.feedback[1, what, :3]).tolist()
    return places
