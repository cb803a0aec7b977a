"""Targets of joints as arrays, for controllers that set them in each control period."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from hrp_model.rigid import Array

from ..engine.state import MAX_DRIVE_VALUE
from .settings import ControlMode

Elements = slice | NDArray[np.intp]


class JointTargets:
    """Targets of the joints of a body, and the control modes of those that they drive.

    Args:
        joints: Number of joints of the body.

    Attributes:
        q: In [rad] or [m], shape (joints,); used by joints in position mode.
        dq: In [rad/s] or [m/s], likewise, and in velocity mode; feed-forward in position mode.
        effort: In [N m] or [N], shape (joints,); feed-forward in position and velocity mode.
        values: q, dq and effort in one array, shape (3, joints).
        modes: Control modes of the driven joints, by element of q.
        driven: The driven joints, as elements of q.
        with_q: Those in position mode.
        with_dq: Those in position or velocity mode.
        has_q, has_dq: Whether there are any of those.
        applied_modes: Value of ``BodyController.mode_changes`` when the modes were applied; -1
            before.
    """

    def __init__(self, joints: int) -> None:
        self.values: Array = np.zeros((3, joints))
        self.q: Array = self.values[0]
        self.dq: Array = self.values[1]
        self.effort: Array = self.values[2]
        self._flat = self.values.reshape(-1)
        self.modes: Mapping[int, ControlMode] = {}
        self.drive({})

    def drive(self, modes: Mapping[int, ControlMode]) -> None:
        """Drive further joints in these modes, by element of q."""
        self.modes = {**self.modes, **modes}
        with_q = [i for i, mode in self.modes.items() if mode is ControlMode.POSITION]
        with_dq = [i for i, mode in self.modes.items() if mode is not ControlMode.EFFORT]
        self.driven = self._elements(list(self.modes))
        self.with_q, self.with_dq = self._elements(with_q), self._elements(with_dq)
        self.has_q, self.has_dq = bool(with_q), bool(with_dq)
        self.applied_modes = -1

    @property
    def are_valid(self) -> bool:
        """Whether all values are finite and within bounds."""
        if float(self._flat @ self._flat) < MAX_DRIVE_VALUE**2:  # not if one is NaN
            return True
        return bool(np.all(np.abs(self._flat) < MAX_DRIVE_VALUE))

    def _elements(self, joints: list[int]) -> Elements:
        """Return an index of joints; a slice for all, which is several times faster."""
        return (
            slice(None) if len(joints) == len(self.q) else np.array(sorted(joints), dtype=np.intp)
        )
