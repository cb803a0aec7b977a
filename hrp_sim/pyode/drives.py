"""What the drives do to the joints: ``ode/_core_drive.c`` for all joints at once.

What depends on gains, ranges and orders alone is worked out when one of them changes; a step
sets the target of one row of each motor.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import ode

from ..articulation.articulation import JointKind
from .assembly import Assembly, Joint
from .binding import CFM, FMAX, SECOND_ROW, VEL, Indices, Memory, addresses_of
from .coordinates import Coordinates
from .motion import Motion
from .orders import Switches, told
from .vectors import dot, rotate
from .weighing import Weighing

UNBOUNDED = 1e6  # stands for the missing end of a one-sided effort range
_OFF = (0.0, 0.0, 0.0)


class Drives:
    """The motors of the joints.

    Attributes:
        effort: That the drives applied over the last step, within its range, shape (joints,).
        applied: Part of it that was given to the bodies directly.
    """

    def __init__(
        self, bodies: Sequence[Assembly], coordinates: Coordinates, motion: Motion, step: float
    ) -> None:
        self._coordinates, self._step = coordinates, step
        self._joints = joints = coordinates.joints
        self._bodies = list(zip(bodies, coordinates.parts, strict=True))
        n = len(joints)
        self._lower = np.array([j.effort[0] for j in joints], dtype=np.float64)
        self._upper = np.array([j.effort[1] for j in joints], dtype=np.float64)
        self._bounded = np.isfinite(self._lower) | np.isfinite(self._upper)
        self._any_bounded = bool(self._bounded.any())
        self._rotor = np.array([j.rotor_inertia for j in joints], dtype=np.float64) / step
        self._passive = self._rotor + np.array([j.damping for j in joints], dtype=np.float64)
        self._weighing = Weighing(bodies, coordinates, motion, step)
        self._limited: Switches = np.zeros(n, np.bool_)
        self._exceeds: Switches = np.zeros(n, np.bool_)
        for body, part in self._bodies:
            self._limited[part] = body.limited
            body.limited = self._limited[part]
        self.applied, self._results = np.zeros(n), np.zeros((3, n))
        self.effort = self._results[2]
        self._base, self._scratch, self._target, self._raw = np.zeros((4, n))
        self._drift = np.zeros(n)
        self._turning = [
            (i, j)
            for i, j in enumerate(joints)
            if j.kind == JointKind.SLIDER and j.bodies[1] is not None
        ]
        none = np.zeros((3, 0), dtype=np.int64)
        self._out = Memory(np.concatenate([none, *map(_places, bodies)], axis=1))
        self._gains = b"none yet"
        self._rows_are_old = self._applied_is_old = True
        self._saved = self._limited.copy()

    # What the drives are told.

    def begin(self) -> None:
        """Take in what the drives are told."""
        rows = self._q_ref, dq_ref, kp, kd, effort = np.zeros((5, len(self._joints)))
        for body, part in self._bodies:
            for row, array in zip(rows, told(body.drive), strict=True):
                row[part] = array[body.coordinates]
        # What depends on no state.
        self._constant = effort + kd * dq_ref
        self._applied_is_old = True
        gains = kp.tobytes() + kd.tobytes()
        if gains == self._gains:
            return
        self._gains, self._kp = gains, kp
        self._sprung = kp > 0.0
        self._all_sprung, self._any_sprung = bool(self._sprung.all()), bool(self._sprung.any())
        self._damping = kd + kp * self._step
        self._rows_are_old = True

    # Before a step.

    def apply(self) -> None:
        """Set the targets of the rows, and push where an effort is given directly.

        See ``drive_apply`` in C for what the rows are.
        """
        if self._rows_are_old:
            self._set_rows()
        base, scratch, target = self._base, self._scratch, self._target
        if self._any_sprung:
            np.subtract(self._q_ref, self._coordinates.q, out=scratch)
            np.multiply(self._kp, scratch, out=scratch)
            if self._all_sprung:
                np.add(self._constant, scratch, out=base)
            else:
                np.copyto(base, self._constant)
                np.add(base, scratch, out=base, where=self._sprung)
        elif self._applied_is_old:
            np.copyto(base, self._constant)
        if self._applied_is_old:  # not before: what the last step applied is still asked for
            self._applied_is_old = False
            self._plan_pushes()
        for i, joint in self._turning:
            self._drift[i] = self._step * _centrifugal(joint)
        if self._setters:
            np.multiply(self._rotor, self._coordinates.dq, out=target)
            if self._all_implicit:
                np.add(target, base, out=target)
            elif self._any_implicit:
                np.add(target, base, out=target, where=self._implicit)
            np.divide(target, self._stiffness, out=target)
            if self._turning:
                np.subtract(target, self._drift, out=target)
            values = (target if self._all_on else target[self._on]).tolist()
            for set_parameter, value in zip(self._setters, values, strict=True):
                set_parameter(VEL, value)
        for i in self._held:
            row = (base[i] - self.applied[i]) / self._damping[i] - self._drift[i]
            self._joints[i].motor.setParam(SECOND_ROW + VEL, float(row))
        for joint, effort in self._pushes:
            _push(joint, effort)

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
            self._middle = (lower + upper) / 2.0
        self._driven = D > 0.0
        self._switch(range(len(self._joints)))

    def _switch(self, changed: Iterable[int]) -> None:
        """Set the rows of joints whose efforts are bounded from now on, or no more."""
        self._implicit = self._driven & ~(self._bounded & self._limited)
        self._all_implicit, self._any_implicit = self._implicit.all(), self._implicit.any()
        self._stiffness = self._passive + np.where(self._implicit, self._damping, 0.0)
        on = self._stiffness > 0.0
        self._stiffness[~on] = 1.0
        self._all_on, self._on = bool(on.all()), np.flatnonzero(on)
        self._setters = [self._joints[i].motor.setParam for i in self._on.tolist()]
        self._held = np.flatnonzero(self._driven & ~self._implicit).tolist()
        self._weighed = self._weighing.can & self._driven & ~self._limited
        self._any_weighed = bool(self._weighed.any())
        self._applied_is_old = True
        for i in changed:
            joint, first, second = self._joints[i], _OFF, _OFF
            if on[i]:
                softness = self._softness if self._implicit[i] else self._passive_softness
                first = 0.0, softness[i], ode.Infinity
            if self._driven[i] and not self._implicit[i]:
                second = 0.0, self._held_softness[i], self._half[i]
            _set_row(joint, 0, first)
            _set_row(joint, 1, second)

    def _plan_pushes(self) -> None:
        """Work out what is given directly: efforts without gains, and middles of ranges."""
        free = np.minimum(np.maximum(self._constant, self._lower), self._upper)
        self.applied[:] = np.where(self._driven, 0.0, free)
        self.applied[self._held] = self._middle[self._held]
        indices = np.flatnonzero(self.applied).tolist()
        self._pushes = [(self._joints[i], float(self.applied[i])) for i in indices]

    # After a step.

    def new_step(self) -> None:
        """Forget which efforts left their ranges: a new step begins."""
        if self._any_bounded:
            self._exceeds[:] = False

    def exceed(self) -> bool:
        """Tell whether a further effort left its range in the step that was just taken.

        Those that did before in the same step stay bounded in it, so that it is taken again
        a limited number of times: bounding one joint may bring another back into its range.
        """
        raw, effort = self._raw, self.effort
        np.multiply(self._damping, self._coordinates.dq, out=raw)
        np.subtract(self._base, raw, out=raw)
        if self._any_weighed:
            np.copyto(raw, self._weighing.read(), where=self._weighed)
        if not self._any_bounded:
            np.copyto(effort, raw)
            return False
        np.maximum(raw, self._lower, out=effort)
        np.minimum(effort, self._upper, out=effort)
        outside = effort != raw
        if outside.tobytes() == self._limited.tobytes():
            return False
        new = outside & self._driven & ~self._limited & ~self._exceeds
        self._exceeds |= new
        self._set_limited(self._limited & outside)
        return bool(new.any())

    def doubt(self) -> bool:
        """Take every effort that was left free though it has a range for one that left it.

        Tells whether there is any: the step that was just taken failed, maybe for one of them.
        """
        free = self._bounded & self._driven & ~self._limited & ~self._exceeds
        self._exceeds |= free
        return bool(free.any())

    def limit(self) -> None:
        """Bound the efforts that exceeded: for the same step, taken again."""
        self._set_limited(self._limited | self._exceeds)

    def _set_limited(self, limited: Switches) -> None:
        changed = np.flatnonzero(limited != self._limited)
        if len(changed):
            self._limited[:] = limited
            self._switch(changed.tolist())

    def write(self) -> None:
        """Write the coordinates and the efforts of the last step into the bodies' motions."""
        np.copyto(self._results[:2], self._coordinates.now)
        self._out.write(self._results)

    def save(self) -> None:
        """Keep which efforts are bounded, before a step that may fail."""
        if self._any_bounded:
            np.copyto(self._saved, self._limited)

    def forget(self) -> None:
        """Set the rows anew: other efforts are bounded than before."""
        self._rows_are_old = True

    def restore(self) -> None:
        """Go back to what was saved."""
        self._set_limited(self._saved)


def _places(body: Assembly) -> Indices:
    """Return where q, dq and effort of the driven joints lie, shape (3, joints)."""
    m = body.motion
    return np.stack([addresses_of(a)[body.coordinates] for a in (m.q, m.dq, m.effort)])


def _set_row(joint: Joint, row: int, values: tuple[float, float, float]) -> None:
    """Set a row: velocity + softness * force = target, |force| <= bound; 0 is off."""
    bound = values[2]
    if bound == 0.0 and not joint.row_is_on[row]:
        return
    joint.row_is_on[row] = bound > 0.0
    base = SECOND_ROW * row
    for number, value in zip((VEL, CFM, FMAX), values, strict=True):
        joint.motor.setParam(base + number, value)


def _centrifugal(joint: Joint) -> float:
    """Return the acceleration along a slider that its turning alone brings; see C."""
    child, parent = joint.bodies
    w, axis = child.getAngularVel(), rotate(child.getRotation(), joint.axis)
    apart = [a - b for a, b in zip(child.getPosition(), parent.getPosition(), strict=True)]
    return dot(w, w) * dot(axis, apart) - dot(axis, w) * dot(w, apart)


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
