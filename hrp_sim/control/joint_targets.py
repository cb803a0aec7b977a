"""Targets of joints: as arrays, as servos approach them, and how long they hold."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from hrp_model.rigid import Array

from ..engine.schedule import EARLIEST_NS, NEVER_NS
from ..engine.state import MAX_DRIVE_VALUE
from .settings import CommandRateLimit, CommandTimeout, ControlMode

Elements = slice | NDArray[np.intp]
_NEVER = -1


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


class SlewedTargets:
    """Commanded positions, and the servo targets that approach them at limited speed.

    Args:
        q: Initial positions, in [rad] or [m], shape (joints,).
        speed: Speed limits of the model, in [rad/s] or [m/s], infinity for none, shape (joints,).
        rate_limit: Whether these limits apply.

    Attributes:
        final: The commanded positions, in [rad] or [m], shape (joints,).
        moving: Whether a target may not have arrived yet.
        rate_limit: May be set between two steps.
    """

    def __init__(self, q: Array, speed: Array, rate_limit: CommandRateLimit) -> None:
        self.final = np.array(q, dtype=np.float64)
        self.moving = False
        self.rate_limit = rate_limit
        self._speed = speed

    def jump(self, q: Array) -> None:
        """Set commanded positions that targets have reached already, in [rad] or [m]."""
        self.final[:] = q
        self.moving = False

    def reach(self, step_ns: int) -> Array:
        """Return the maximum movement of targets in a step of a length in [ns], in [rad] or [m]."""
        if self.rate_limit is CommandRateLimit.NONE:
            return np.full_like(self._speed, np.inf)
        return self._speed * (step_ns * 1e-9)

    def advance(self, targets: Array, step_ns: int) -> None:
        """Move targets, shape (joints,), as far as allowed in a step of a length in [ns]."""
        left, reach = self.final - targets, self.reach(step_ns)
        far = np.abs(left) > reach
        self.moving = bool(np.count_nonzero(far))  # any() takes five times as long
        if self.moving:
            targets[:] = np.where(far, targets + np.clip(left, -reach, reach), self.final)
        else:  # as above, but several times faster
            targets[:] = self.final


class Deadlines:
    """Times of the last commands to the joints and tracks of a body.

    Args:
        count: Number of joints and tracks.

    Attributes:
        commanded_ns: Time of the last command to each, in [ns], -1 for never; shape (count,).
            Smaller values are times before zero of a clock that was set back.
        next_ns: Earliest time-out, in [ns]; see ``expired``.
    """

    def __init__(self, count: int) -> None:
        self.commanded_ns: NDArray[np.int64] = np.full(count, _NEVER, dtype=np.int64)
        self._timeout: CommandTimeout | None = None
        self.next_ns = NEVER_NS

    @property
    def timeout(self) -> CommandTimeout | None:
        """The time-out; None means never."""
        return self._timeout

    @timeout.setter
    def timeout(self, timeout: CommandTimeout | None) -> None:
        self._timeout = timeout
        self.next_ns = _NEVER  # computed by ``expired``

    def restart(self, which: int | NDArray[np.intp], time_ns: int) -> None:
        """Record that some are commanded at a time, in [ns]."""
        self.commanded_ns[which] = time_ns
        if self._timeout is not None:
            self.next_ns = min(self.next_ns, time_ns + self._timeout.after_ns)

    def clear(self) -> None:
        """Forget all commands."""
        self.commanded_ns[:] = _NEVER
        self.next_ns = NEVER_NS

    def retime(self, shift_ns: int) -> None:
        """Shift all times, in [ns].

        Times before zero of a clock that was set back are negative. None becomes -1: they are whole
        steps away from the present time, and a step takes at least a microsecond.
        """
        self.commanded_ns[self.commanded_ns != _NEVER] += shift_ns
        self.next_ns = _NEVER

    def restore(self, commanded_ns: NDArray[np.int64], time_ns: int) -> None:
        """Go back to saved times; none can lie in the future."""
        np.clip(commanded_ns, EARLIEST_NS, time_ns, out=self.commanded_ns)
        self.next_ns = _NEVER

    def expired(self, time_ns: int) -> list[int]:
        """Return those that have timed out, and clear their last commands.

        To be called from ``next_ns`` on.
        """
        if self._timeout is None:
            self.next_ns = NEVER_NS
            return []
        commanded = self.commanded_ns
        known = commanded != _NEVER
        late: list[int] = np.flatnonzero(
            known & (commanded <= time_ns - self._timeout.after_ns)
        ).tolist()
        commanded[late] = _NEVER
        waiting = commanded[commanded != _NEVER]
        first_ns = int(waiting.min()) if len(waiting) else NEVER_NS - self._timeout.after_ns
        self.next_ns = first_ns + self._timeout.after_ns
        return late
