"""Splines through the points of a trajectory."""

from __future__ import annotations

from dataclasses import field

import numpy as np
from numpy.typing import NDArray

from hrp_model.late_dataclass import dataclass
from hrp_model.rigid import Array

from ..engine.schedule import NS_PER_S
from .trajectory import PointTable

# Rows of a point.
POSITION, VELOCITY, ACCELERATION, EFFORT = range(4)


@dataclass(frozen=True, slots=True, eq=False)
class Segment:
    """The polynomials between two points.

    Attributes:
        begins_ns, ends_ns: In [ns].
        span: Its duration, in [s].
        coefficients: Of position, three times, and effort, by powers of the time from 0 to 1;
            shape (4, 6, joints).
    """

    begins_ns: int
    ends_ns: int
    span: float
    coefficients: Array

    def at(self, time_ns: int) -> Array:
        """Return position, velocity, acceleration and effort at a time, shape (4, joints)."""
        s = (time_ns - self.begins_ns) / (self.ends_ns - self.begins_ns)
        s2, r = s * s, 1.0 / self.span
        s3, s4, r2 = s2 * s, s2 * s2, r * r
        powers = [
            [1.0, s, s2, s3, s4, s4 * s],
            [0.0, r, 2.0 * s * r, 3.0 * s2 * r, 4.0 * s3 * r, 5.0 * s4 * r],
            [0.0, 0.0, 2.0 * r2, 6.0 * s * r2, 12.0 * s2 * r2, 20.0 * s3 * r2],
            [1.0, s, 0.0, 0.0, 0.0, 0.0],
        ]
        # No matrix product: its rounding may differ between machines.
        state: Array = (np.array(powers)[:, :, None] * self.coefficients).sum(axis=1)
        return state


_EMPTY = Segment(0, 0, 0.0, np.zeros((4, 6, 0)))


@dataclass(frozen=True, slots=True, eq=False)
class Spline:
    """Points at given times, and the segments between them; see ``JointTrajectory``.

    Attributes:
        times_ns: In [ns], increasing, shape (points,).
        points: Position, velocity, acceleration and effort of each joint, in [rad] or [m] and
            [N m] or [N], shape (points, 4, joints); zero where not given.
        given: Whether velocity, acceleration and effort are given, shape (points, 3).
    """

    times_ns: NDArray[np.int64]
    points: Array
    given: NDArray[np.bool_]
    # The segment of the last sample: steps are much shorter than segments.
    _last: Segment = field(default=_EMPTY, init=False, repr=False)

    @classmethod
    def through(cls, table: PointTable, start_ns: int) -> Spline:
        """Return the spline through the points of a trajectory that starts at a time in [ns]."""
        return cls(start_ns + table.times_ns, table.values, table.given)

    @property
    def end_ns(self) -> int:
        """Time of the last point, in [ns]."""
        return int(self.times_ns[-1])

    def from_state(self, time_ns: int, state: Array) -> Spline:
        """Return the spline from a state through the points ahead.

        If a point is due at exactly this time, the spline begins with that point; if none is left,
        it consists of the last point.

        Args:
            time_ns: When it begins, in [ns].
            state: Position, velocity, acceleration and effort, shape (4, joints).
        """
        first = min(int(np.searchsorted(self.times_ns, time_ns)), len(self.times_ns) - 1)
        times, points, given = self.times_ns[first:], self.points[first:], self.given[first:]
        if times[0] <= time_ns:
            return Spline(times, points, given)
        return Spline(
            np.concatenate([[time_ns], times]),
            np.concatenate([state[None], points]),
            np.concatenate([np.ones((1, 3), dtype=np.bool_), given]),
        )

    def moved(self, offset: Array) -> Spline:
        """Return the same spline with an offset of positions, shape (joints,)."""
        points = self.points.copy()
        points[:, POSITION] += offset
        return Spline(self.times_ns, points, self.given)

    def shifted(self, shift_ns: int) -> Spline:
        """Return the same spline shifted in time, in [ns]; less than 0 is earlier."""
        return Spline(self.times_ns + shift_ns, self.points, self.given)

    def index(self, time_ns: int) -> int:
        """Return the index of the next point; that of the last one after the end."""
        after = int(np.searchsorted(self.times_ns, time_ns, side="right"))
        return min(after, len(self.times_ns) - 1)

    def at(self, time_ns: int) -> Array:
        """Return position, velocity, acceleration and effort at a time, shape (4, joints).

        Before the first point it rests at that one, after the last point at the last one.
        """
        if not self._last.begins_ns <= time_ns < self._last.ends_ns:
            b = int(np.searchsorted(self.times_ns, time_ns, side="right"))
            if b == 0 or b == len(self.times_ns):
                end: Array = self.points[min(b, len(self.times_ns) - 1)].copy()
                end[VELOCITY] = end[ACCELERATION] = 0.0
                return end
            object.__setattr__(self, "_last", self._segment(b - 1))
        return self._last.at(time_ns)

    def _segment(self, a: int) -> Segment:
        """Return the segment between a point and the next one."""
        begins_ns, ends_ns = int(self.times_ns[a]), int(self.times_ns[a + 1])
        span = (ends_ns - begins_ns) / NS_PER_S
        has_velocity, has_acceleration, has_effort = (self.given[a] & self.given[a + 1]).tolist()
        start, end = self.points[a], self.points[a + 1]
        coefficients = np.zeros((4, 6, start.shape[1]))
        if has_velocity:
            # Over a time from 0 to 1, so that numbers stay moderate in very short segments.
            scale = np.array([1.0, span, span * span])[:, None]
            ends = scale * start[:EFFORT], scale * end[:EFFORT]
            coefficients[:EFFORT] = _quintic(*ends) if has_acceleration else _cubic(*ends)
        else:
            coefficients[:EFFORT, 0] = start[POSITION]
            coefficients[:EFFORT, 1] = end[POSITION] - start[POSITION]
        if has_effort:
            coefficients[EFFORT, 0] = start[EFFORT]
            coefficients[EFFORT, 1] = end[EFFORT] - start[EFFORT]
        return Segment(begins_ns, ends_ns, span, coefficients)


def _cubic(start: Array, end: Array) -> Array:
    """Return the polynomial from 0 to 1 between positions and velocities, shape (6, joints)."""
    p0, v0, way = start[0], start[1], end[0] - start[0]
    rest = np.zeros_like(p0)
    return np.array([p0, v0, 3.0 * way - 2.0 * v0 - end[1], v0 + end[1] - 2.0 * way, rest, rest])


def _quintic(start: Array, end: Array) -> Array:
    """Return the polynomial from 0 to 1 between states of motion, shape (6, joints)."""
    p0, v0, half = start[0], start[1], 0.5 * start[2]
    # Differences at the end from a motion that keeps the initial acceleration.
    way = end[0] - p0 - v0 - half
    speed = end[1] - v0 - 2.0 * half
    bend = end[2] - 2.0 * half
    c3 = 10.0 * way - 4.0 * speed + 0.5 * bend
    c4 = -15.0 * way + 7.0 * speed - bend
    c5 = 6.0 * way - 3.0 * speed + 0.5 * bend
    return np.array([p0, v0, half, c3, c4, c5])
