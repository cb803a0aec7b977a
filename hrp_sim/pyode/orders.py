"""What the bodies are told from outside, checked before ODE gets it: drives and wrenches."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hrp_model.rigid import Array

from ..articulation.articulation import STATIC
from ..ode import guard
from ..physics.state import LARGEST_DRIVE, JointDrive
from .assembly import Assembly

Switches = NDArray[np.bool_]
Fault = tuple[int, int, int]  # kind, number of the body, index


class Orders:
    """The arrays of all bodies that others write. They seldom change: then nothing is done."""

    def __init__(self, bodies: Sequence[Assembly]) -> None:
        self._bodies = bodies
        arrays = [a for b in bodies for a in (*told(b.drive), b.drive.track_speed)]
        arrays += [a for b in bodies for a in (b.wrench.force, b.wrench.torque)]
        self._views = [a.data for a in arrays if a.size]
        self._good = b"none yet"
        self._pushed: list[Assembly] = []

    def changed(self) -> bool:
        """Tell whether anything is told that ``check`` has not yet found good."""
        return b"".join(self._views) != self._good

    def check(self) -> Fault | None:
        """Return the first thing wrong with what is told, or None."""
        for body in self._bodies:
            if fault := _fault(body):
                return fault
        self._good = b"".join(self._views)
        self._pushed = [b for b in self._bodies if b.wrench.force.any() or b.wrench.torque.any()]
        return None

    def push(self) -> None:
        """Add what pushes the links from outside, each at its origin, for the next step."""
        for body in self._pushed:
            force, torque = body.wrench.force, body.wrench.torque
            for link in np.flatnonzero(body.links.group != STATIC).tolist():
                group, p = body.group_of(link), body.links.p[link].tolist()
                if force[link].any():
                    group.addForceAtRelPos(force[link].tolist(), p)
                if torque[link].any():
                    group.addTorque(torque[link].tolist())


def told(drive: JointDrive) -> Sequence[Array]:
    """Return what the joints are told: q, dq, kp, kd and effort."""
    return drive.q, drive.dq, drive.kp, drive.kd, drive.effort


def _fault(body: Assembly) -> Fault | None:
    """Describe what is wrong with the orders of a body, as ``drives_check`` in C."""
    d = body.drive
    for array in told(d):
        sane = _is_sane(array, 0.0 if array is d.kp or array is d.kd else -LARGEST_DRIVE)
        if not sane.all():
            return guard.FAULT_DRIVE, body.number, int(np.argmin(sane))
    sane = _is_sane(d.track_speed, -LARGEST_DRIVE)
    if not sane.all():
        return guard.FAULT_TRACK, body.number, int(np.argmin(sane))
    wrench = np.abs(np.concatenate([body.wrench.force, body.wrench.torque], axis=1))
    sane = wrench.max(axis=1, initial=0.0) < LARGEST_DRIVE
    if not sane.all():
        return guard.FAULT_WRENCH, body.number, int(np.argmin(sane))
    return None


def _is_sane(values: Array, lowest: float) -> Switches:
    sane: Switches = (values > -LARGEST_DRIVE) & (values < LARGEST_DRIVE) & (values >= lowest)
    return sane
