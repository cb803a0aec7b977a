"""What the drives do to the joints: ``ode/_core_drive.c`` for all joints at once.

What depends on gains and ranges alone is worked out when one of them changes; a step sets
the target of one row of each motor.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import ode

from hrp_model.rigid import Array

from ..articulation import STATIC, JointKind
from ..ode import _core
from ..state import LARGEST_DRIVE, JointDrive
from .assembly import Assembly, Joint
from .binding import CFM, FMAX, SECOND_ROW, VEL
from .coordinates import Coordinates
from .vectors import rotate

Fault = tuple[int, int, int]  # kind, number of the body, index
UNBOUNDED = 1e6  # stands for the missing end of a one-sided effort range
_OFF = (0.0, 0.0, 0.0)


class Drives:
    """The motors of the joints.

    Attributes:
        effort: That the drives applied over the last step, within its range, shape (joints,).
        applied: Part of it that was given to the bodies directly.
    """

    def __init__(self, bodies: Sequence[Assembly], coordinates: Coordinates, step: float) -> None:
        self._coordinates, self._step = coordinates, step
        self._joints = joints = coordinates.joints
        self._bodies = list(zip(bodies, coordinates.parts, strict=True))
        self._driven_bodies = [(b, part) for b, part in self._bodies if part.start < part.stop]
        n = len(joints)
        self._lower = np.array([j.effort[0] for j in joints], dtype=np.float64)
        self._upper = np.array([j.effort[1] for j in joints], dtype=np.float64)
        self._bounded = np.isfinite(self._lower) | np.isfinite(self._upper)
        self._any_bounded = bool(self._bounded.any())
        self._rotor = np.array([j.rotor_inertia for j in joints], dtype=np.float64) / step
        self._passive = self._rotor + np.array([j.damping for j in joints], dtype=np.float64)
        self._limited, self._exceeds = np.zeros(n, np.bool_), np.zeros(n, np.bool_)
        for body, part in self._bodies:
            self._limited[part] = body.limited
            body.limited = self._limited[part]
        self.effort, self.applied, self._base = np.zeros(n), np.zeros(n), np.zeros(n)
        self._scratch, self._target, self._told = np.zeros(n), np.zeros(n), np.zeros((5, n))
        self._gains = b"none yet"
        self._rows_are_old = True
        self._any_limited = bool(self._limited.any())
        self._saved = self._limited.copy()
        self._lone = None
        if len(self._driven_bodies) == 1 and _in_order(self._driven_bodies[0][0]):
            self._lone = self._driven_bodies[0][0]

    # What the drives are told.

    def check(self) -> Fault | None:
        """Return the first thing wrong with what the drives are told, or None."""
        for body, _ in self._bodies:
            if not _is_surely_good(body) and (fault := _fault(body)):
                return fault
        return None

    def begin(self) -> None:
        """Take in what the drives are told."""
        self._q_ref, self._dq_ref, kp, kd, self._effort = self._fetch()
        gains = kp.tobytes() + kd.tobytes()
        if gains == self._gains:
            return
        self._gains = gains
        self._kp, self._kd = kp.copy(), kd.copy()
        self._sprung = kp > 0.0
        self._all_sprung, self._any_sprung = bool(self._sprung.all()), bool(self._sprung.any())
        self._damping = kd + kp * self._step
        self._rows_are_old = True

    def _fetch(self) -> Sequence[Array]:
        """Return q, dq, kp, kd and effort that the joints are told."""
        if self._lone is not None:
            return _told(self._lone.drive)
        for body, part in self._driven_bodies:
            for row, array in zip(self._told, _told(body.drive), strict=True):
                row[part] = array[body.coordinates]
        return tuple(self._told)

    # Before a step.

    def apply(self) -> None:
        """Set the targets of the rows, and push where an effort is given directly.

        See ``drive_apply`` in C for what the rows are.
        """
        if self._rows_are_old:
            self._set_rows()
        base, scratch, target = self._base, self._scratch, self._target
        np.multiply(self._kd, self._dq_ref, out=base)
        np.add(self._effort, base, out=base)
        if self._any_sprung:
            np.subtract(self._q_ref, self._coordinates.q, out=scratch)
            np.multiply(self._kp, scratch, out=scratch)
            if self._all_sprung:
                np.add(base, scratch, out=base)
            else:
                np.add(base, scratch, out=base, where=self._sprung)
        np.multiply(self._rotor, self._coordinates.dq, out=target)
        if self._all_implicit:
            np.add(target, base, out=target)
        else:
            np.add(target, base, out=target, where=~self._explicit)
        np.divide(target, self._stiffness, out=target)
        values = (target if self._all_on else target[self._on]).tolist()
        for set_parameter, value in zip(self._setters, values, strict=True):
            set_parameter(VEL, value)
        if not self._all_implicit:
            self._apply_directly()

    def _set_rows(self) -> None:
        """Work out softness and bounds of the rows, after gains have changed."""
        self._rows_are_old = False
        D, passive = self._damping, self._passive
        lower = np.where(np.isfinite(self._lower), self._lower, self._upper - UNBOUNDED)
        upper = np.where(np.isfinite(self._upper), self._upper, lower + UNBOUNDED)
        with np.errstate(divide="ignore", invalid="ignore"):
            self._softness = (1.0 / (passive + D)).tolist()
            self._passive_softness = (1.0 / passive).tolist()
            self._held_softness, self._half = (1.0 / D).tolist(), ((upper - lower) / 2.0).tolist()
            self._middle = ((lower + upper) / 2.0).tolist()
        self._driven = D > 0.0
        self._free = np.flatnonzero(~self._driven)
        self._switch(range(len(self._joints)))

    def _switch(self, changed: Iterable[int]) -> None:
        """Set the rows of joints whose efforts are bounded from now on, or no more."""
        self._explicit = ~self._driven | (self._bounded & self._limited)
        self._all_implicit = not self._explicit.any()
        self._stiffness = self._passive + np.where(self._explicit, 0.0, self._damping)
        on = self._stiffness > 0.0
        self._stiffness[~on] = 1.0
        self._all_on, self._on = bool(on.all()), np.flatnonzero(on)
        self._setters = [self._joints[i].motor.setParam for i in self._on.tolist()]
        self._held = np.flatnonzero(self._explicit & self._driven).tolist()
        self.applied[:] = 0.0
        for i in changed:
            joint, first, second = self._joints[i], _OFF, _OFF
            if on[i]:
                softness = self._passive_softness if self._explicit[i] else self._softness
                first = 0.0, softness[i], ode.Infinity
            if self._explicit[i] and self._driven[i]:
                second = 0.0, self._held_softness[i], self._half[i]
            _set_row(joint, 0, first)
            _set_row(joint, 1, second)

    def _apply_directly(self) -> None:
        """Give efforts without gains, and the middles of bounded ranges, to the bodies."""
        base, applied, free = self._base, self.applied, self._free
        for i in self._held:
            applied[i] = self._middle[i]
            target = (base[i] - applied[i]) / self._damping[i]
            self._joints[i].motor.setParam(SECOND_ROW + VEL, float(target))
        applied[free] = np.minimum(np.maximum(base[free], self._lower[free]), self._upper[free])
        for i in np.flatnonzero(applied).tolist():
            _push(self._joints[i], float(applied[i]))

    # After a step.

    def push(self) -> None:
        """Add what pushes the links from outside, each at its origin, for the next step."""
        for body, _ in self._bodies:
            force, torque = body.wrench.force, body.wrench.torque
            if not (force.any() or torque.any()):
                continue
            for link in np.flatnonzero(body.links.group != STATIC).tolist():
                group, p = body.group_of(link), body.links.p[link].tolist()
                if force[link].any():
                    group.addForceAtRelPos(force[link].tolist(), p)
                if torque[link].any():
                    group.addTorque(torque[link].tolist())

    def new_step(self) -> None:
        """Forget which efforts left their ranges: a new step begins."""
        if self._any_bounded:
            self._exceeds[:] = False

    def exceed(self) -> bool:
        """Tell whether a further effort left its range in the step that was just taken.

        Those that did before in the same step stay bounded in it, so that it is taken again
        a limited number of times: bounding one joint may bring another back into its range.
        """
        effort = self.effort
        np.multiply(self._damping, self._coordinates.dq, out=effort)
        np.subtract(self._base, effort, out=effort)
        if not self._any_bounded:
            return False
        exact = effort.tobytes()
        np.maximum(effort, self._lower, out=effort)
        np.minimum(effort, self._upper, out=effort)
        if effort.tobytes() == exact:
            if self._any_limited:
                self._set_limited(np.zeros_like(self._limited))
            return False
        told = np.frombuffer(exact)
        outside = (told > self._upper) | (told < self._lower)
        new = outside & (self._damping > 0.0) & ~self._limited & ~self._exceeds
        self._exceeds |= new
        self._set_limited(self._limited & outside)
        return bool(new.any())

    def limit(self) -> None:
        """Bound the efforts that exceeded: for the same step, taken again."""
        self._set_limited(self._limited | self._exceeds)

    def _set_limited(self, limited: Array) -> None:
        changed = np.flatnonzero(limited != self._limited)
        if len(changed):
            self._limited[:] = limited
            self._any_limited = bool(limited.any())
            self._switch(changed.tolist())

    def write(self) -> None:
        """Write the coordinates and the efforts of the last step into the bodies' motions."""
        q, dq = self._coordinates.q, self._coordinates.dq
        if self._lone is not None:
            m = self._lone.motion
            m.q[:], m.dq[:], m.effort[:] = q, dq, self.effort
            return
        for body, part in self._driven_bodies:
            m, rows = body.motion, body.coordinates
            m.q[rows], m.dq[rows], m.effort[rows] = q[part], dq[part], self.effort[part]

    def save(self) -> None:
        """Keep which efforts are bounded, before a step that may fail."""
        if self._any_bounded:
            np.copyto(self._saved, self._limited)

    def forget(self) -> None:
        """Set the rows anew: other efforts are bounded than before."""
        self._any_limited = bool(self._limited.any())
        self._rows_are_old = True

    def restore(self) -> None:
        """Go back to what was saved."""
        self._set_limited(self._saved)


_LARGEST_SQUARE = LARGEST_DRIVE * LARGEST_DRIVE


def _told(drive: JointDrive) -> Sequence[Array]:
    return drive.q, drive.dq, drive.kp, drive.kd, drive.effort


def _in_order(body: Assembly) -> bool:
    """Whether each coordinate of a body has its joint, in the same order."""
    return bool(np.array_equal(body.coordinates, np.arange(len(body.drive.q))))


def _is_surely_good(body: Assembly) -> bool:
    """Tell quickly whether what a body's drives are told is good; False if not sure."""
    d = body.drive
    # A sum of squares that is small, and no NaN, has only small terms.
    force, torque = body.wrench.force.ravel(), body.wrench.torque.ravel()
    if not (
        d.track_speed.dot(d.track_speed) < _LARGEST_SQUARE
        and force.dot(force) < _LARGEST_SQUARE
        and torque.dot(torque) < _LARGEST_SQUARE
    ):
        return False
    if not len(d.q):
        return True
    if not (
        d.q.dot(d.q) < _LARGEST_SQUARE
        and d.dq.dot(d.dq) < _LARGEST_SQUARE
        and d.effort.dot(d.effort) < _LARGEST_SQUARE
    ):
        return False
    gains = d.kp.tobytes() + d.kd.tobytes()
    if gains != body.good_gains:
        if not (_is_sane(d.kp, 0.0).all() and _is_sane(d.kd, 0.0).all()):
            return False
        body.good_gains = gains
    return True


def _is_sane(values: Array, lowest: float) -> Array:
    sane: Array = (values > -LARGEST_DRIVE) & (values < LARGEST_DRIVE) & (values >= lowest)
    return sane


def _fault(body: Assembly) -> Fault | None:
    """Describe what is wrong with the drives of a body, as ``drives_check`` in C."""
    d = body.drive
    for array in _told(d):
        sane = _is_sane(array, 0.0 if array is d.kp or array is d.kd else -LARGEST_DRIVE)
        if not sane.all():
            return _core.FAULT_DRIVE, body.number, int(np.argmin(sane))
    sane = _is_sane(d.track_speed, -LARGEST_DRIVE)
    if not sane.all():
        return _core.FAULT_TRACK, body.number, int(np.argmin(sane))
    force, torque = (np.abs(a).max(axis=1) for a in (body.wrench.force, body.wrench.torque))
    sane = (force < LARGEST_DRIVE) & (torque < LARGEST_DRIVE)
    if not sane.all():
        return _core.FAULT_WRENCH, body.number, int(np.argmin(sane))
    return None


def _set_row(joint: Joint, row: int, values: tuple[float, float, float]) -> None:
    """Set a row: velocity + softness * force = target, |force| <= bound; 0 is off."""
    bound = values[2]
    if bound == 0.0 and not joint.row_is_on[row]:
        return
    joint.row_is_on[row] = bound > 0.0
    base = SECOND_ROW * row
    for number, value in zip((VEL, CFM, FMAX), values, strict=True):
        joint.motor.setParam(base + number, value)


def _push(joint: Joint, effort: float) -> None:
    """Push the child along the axis, and the parent back, at the same point."""
    child, parent = joint.bodies
    x, y, z = rotate(child.getRotation(), joint.axis)
    force, back = (x * effort, y * effort, z * effort), (-x * effort, -y * effort, -z * effort)
    if joint.kind == JointKind.HINGE:
        child.addTorque(force)
        if parent is not None:
            parent.addTorque(back)
    else:
        at = child.getRelPointPos(joint.anchor)
        child.addForceAtPos(force, at)
        if parent is not None:
            parent.addForceAtPos(back, at)
